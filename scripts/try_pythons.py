"""Run a part of the tests with every other Python that is installed: `python scripts/try_pythons.py [PYTHON …]`.

Without arguments it searches for `python3.11` to `python3.14` in PATH, and for pyenv's versions. Each gets a separate
environment with the extra `test`, in a folder that is removed afterwards, and runs the tests that are about the
language and the system rather than about many formats. Exit status 0: all passed; 1: some failed; 2: no other Python is
there.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
MINORS = (11, 12, 13, 14)
TESTS = (
    "formats/corpus", "formats/parser", "formats/registry", "cli/commands", "model/sandbox", "model/confinement",
    "templates/templates", "templates/templates_transformers", "inspect/inspection", "model/model",
    "inspect/inspection_corpus_models", "render/prompt", "templates/locate", "templates/gguf_file", "inspect/tokens",
    "testing/fuzzing", "messages/message", "integrations/protocols", "grammars/grammar", "messages/python_tools",
    "repository/imports", "cli/completion", "repository/other_systems", "repository/packaging",
)  # fmt: skip
_VERSION = re.compile(r"Python (3\.(\d+)\.\S+)")


def found(given: list[str]) -> dict[str, str]:
    """The Pythons to try, by version: those in the arguments, or those found, except this one's minor version."""
    kept = sorted(Path.home().glob(".pyenv/versions/*/bin/python3"))
    paths = given or [*filter(None, (shutil.which(f"python3.{minor}") for minor in MINORS)), *map(str, kept)]
    pythons: dict[str, str] = {}
    for path in paths:
        printed = subprocess.run([path, "--version"], capture_output=True, text=True, check=False).stdout
        version = _VERSION.match(printed)
        if version and (given or (int(version[2]) in MINORS and int(version[2]) != sys.version_info.minor)):
            pythons.setdefault(version[1], path)
    return pythons


def _file(name: str) -> str:
    """The test file of `package/module`."""
    package, _, module = name.partition("/")
    return f"tests/{package}/test_{module}.py"


def passes(python: str) -> bool:
    """Whether the tests pass with it; their output is printed."""
    with tempfile.TemporaryDirectory() as folder:
        inside = str(Path(folder) / "bin" / "python")
        for words in (
            [python, "-m", "venv", folder],
            [inside, "-m", "pip", "install", "--quiet", "-e", f"{ROOT}[test]", "-c", str(ROOT / "constraints.txt")],
            [inside, "-m", "pytest", "-q", "-p", "no:cacheprovider", *map(_file, TESTS)],
        ):
            if subprocess.run(words, cwd=ROOT, check=False).returncode:
                return False
    return True


def main(given: list[str]) -> int:
    """Try each; the exit status."""
    pythons = found(given)
    if not pythons:
        print("no other Python from 3.11 to 3.14 is installed; name one", file=sys.stderr)
        return 2
    failed = []
    for version, python in sorted(pythons.items()):
        print(f"- Python {version}", flush=True)
        if not passes(python):
            failed.append(version)
    message = (
        f"failed with Python {', '.join(failed)}" if failed else f"passed with Python {', '.join(sorted(pythons))}"
    )
    print(message)
    return bool(failed)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
