"""The files of the playground page: Pyodide, the Python that runs in it, and the examples.

`write_playground` is for the hook that builds the site: it writes into the folder `playground` of the built site.
`python -m documentation.playground_files OUTPUT_DIR` makes a folder with only the page, which `python -m http.server`
can serve. npm downloads Pyodide from the npm registry, once, into a cache; its integrity is compared with the hash
listed here. Everything else is read from this checkout and from the installed jinja2 and markupsafe.
"""

from __future__ import annotations

import base64
import gzip
import hashlib
import io
import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Iterator
from importlib.metadata import distribution
from pathlib import Path
from typing import Any

PYODIDE = "314.0.7"
"""The version of Pyodide: CPython 3.14."""
INTEGRITY = "sha512-0YvXxEhfEdpLfb/XkM2BFAeMROq0iMUX2bzzH9pOttyMcWkwq+HbE5uyuGD82LN7y2q+SNvi/6V5JEsOlD2R1A=="
"""The output of `npm view pyodide@314.0.7 dist.integrity`."""
RUNTIME = ("pyodide.mjs", "pyodide.asm.mjs", "pyodide.asm.wasm", "python_stdlib.zip")
"""The files of Pyodide that the page loads as they are."""
LOCK = "pyodide-lock.json"
"""Its list of packages, which is not included: the page installs none."""
ARCHIVE = "python.tar.gz"

_ROOT = Path(__file__).parents[1]
_PAGE = _ROOT / "docs" / "playground.md"
_OWN = _ROOT / "docs" / "playground"
_MODELS = _ROOT / "corpus" / "models"
_NOT_USED = ("agent", "cli", "grammars", "integrations", "testing")
_BUT_USED = (("cli", "__init__.py"), ("cli", "printing"))
"""The packages of toolfmt that the page does not use, and the parts of them that it does."""
_PURE = ("jinja2", "markupsafe")
_NO_CODE = (".jinja", ".css")
"""The files of a package that are read in addition to its modules."""
_MODEL_FILES = ("config.json", "generation_config.json", "tokenizer_config.json")
_HTML = re.compile(r"<!-- the playground -->\n(.*?)<!-- end of the playground -->", re.DOTALL)
_SECONDS = 300
"""The time limit for npm."""

EXAMPLES = {
    "glm4-key-value": "Keys and values between tags",
    "double-encoded": "Arguments that are encoded twice",
    "json-frames": "JSON in tags, several calls in a turn",
    "xml-functions": "Functions and parameters as tags",
    "lfm2-python-calls": "Calls written as Python",
    "format-of-its-own": "An unknown format, which is derived",
    "no-tools-no-system": "A template without tools: described in the prompt",
    "null-content-rejected": "A template that rejects content null",
    "asks-the-clock": "A template that reads the date",
    "broken": "A template that does not compile",
}
"""The model directories of the corpus that can be chosen on the page, each with what it shows."""


class NotBuilt(Exception):
    """The playground cannot be made here: one line with the fix."""


def write_playground(site: Path, cache: Path | None = None) -> None:
    """The files of the page, into `site/playground`; existing files of these names are overwritten.

    `cache` is where Pyodide is kept between builds (by default, the user's cache folder). Raises `NotBuilt`.
    """
    runtime = _runtime(cache or _user_cache())
    folder = site / "playground"
    (folder / "pyodide").mkdir(parents=True, exist_ok=True)
    for name in (*RUNTIME, LOCK):
        shutil.copyfile(runtime / name, folder / "pyodide" / name)
    (folder / ARCHIVE).write_bytes(_archive())
    (folder / "examples.json").write_text(json.dumps(_examples()) + "\n", encoding="utf-8", newline="\n")


def write_alone(folder: Path, cache: Path | None = None) -> None:
    """The page without the rest of the site, into a folder that is new or empty. Raises `NotBuilt`."""
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise NotBuilt(f"{folder}: the folder is not empty; name a folder that is new or empty")
    page = _HTML.search(_PAGE.read_text(encoding="utf-8"))
    if page is None:
        raise NotBuilt(f"{_PAGE}: the page does not mark where the playground begins and ends")
    shutil.copytree(_OWN, folder / "playground")
    head = '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n<title>Playground - toolfmt</title>\n'
    head += '<meta name="viewport" content="width=device-width, initial-scale=1">\n<link rel="icon" href="data:,">\n'
    body = f'</head>\n<body class="playground-alone">\n<h1>Playground</h1>\n{page[1]}</body>\n</html>\n'
    (folder / "playground" / "index.html").write_text(head + body, encoding="utf-8", newline="\n")
    write_playground(folder, cache)


# --- Pyodide


def _user_cache() -> Path:
    home = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(home) / "toolfmt-playground"


def _runtime(cache: Path) -> Path:
    """The folder with the files of Pyodide, which are downloaded if they are missing."""
    folder = cache / f"pyodide-{PYODIDE}"
    if not folder.is_dir():
        cache.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=cache) as work:
            _unpack(_checked(_packed(Path(work))), Path(work) / "files")
            (Path(work) / "files").rename(folder)
    return folder


def _packed(folder: Path) -> bytes:
    """The package as the registry has it."""
    npm = shutil.which("npm")
    if npm is None:
        raise NotBuilt("npm is missing, which downloads Pyodide; install it (Debian: apt-get install npm)")
    command = [npm, "pack", f"pyodide@{PYODIDE}", "--silent", "--pack-destination", str(folder)]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=_SECONDS, check=False)
    except subprocess.TimeoutExpired:
        raise NotBuilt(f"npm did not fetch pyodide@{PYODIDE} in {_SECONDS} seconds; try again later") from None
    packed = list(folder.glob("*.tgz"))
    if done.returncode or len(packed) != 1:
        message = (done.stderr.strip() or "it wrote no package").splitlines()[-1]
        raise NotBuilt(
            f"npm did not fetch pyodide@{PYODIDE}: {message}; run npm ping to check whether its registry responds"
        )
    return packed[0].read_bytes()


def _checked(packed: bytes) -> bytes:
    is_now = "sha512-" + base64.b64encode(hashlib.sha512(packed).digest()).decode()
    if is_now != INTEGRITY:
        raise NotBuilt(
            f"pyodide@{PYODIDE} is another one than that known here (its integrity is {is_now}); look into it"
        )
    return packed


def _unpack(packed: bytes, folder: Path) -> None:
    folder.mkdir()
    with tarfile.open(fileobj=io.BytesIO(packed)) as package:
        for name in (*RUNTIME, LOCK):
            file = package.extractfile(f"package/{name}")
            assert file is not None, name
            (folder / name).write_bytes(file.read())
    lock = json.loads((folder / LOCK).read_text(encoding="utf-8")) | {"packages": {}}
    (folder / LOCK).write_text(json.dumps(lock), encoding="utf-8", newline="\n")


# --- the Python that runs in it


def _archive() -> bytes:
    """toolfmt, jinja2 and markupsafe as modules only, and the page's own Python: the same bytes for the same files."""
    tar = io.BytesIO()
    with tarfile.open(fileobj=tar, mode="w", format=tarfile.USTAR_FORMAT) as packed:
        for name, file in sorted(_python()):
            text = file.read_bytes()
            entry = tarfile.TarInfo(name)
            entry.size = len(text)
            packed.addfile(entry, io.BytesIO(text))
    return gzip.compress(tar.getvalue(), 9, mtime=0)


def _python() -> Iterator[tuple[str, Path]]:
    """The files by the names that they have in the archive."""
    for file in (_ROOT / "toolfmt").rglob("*"):
        parts = file.relative_to(_ROOT).parts
        is_used = parts[1] not in _NOT_USED or parts[1:3] in _BUT_USED
        if is_used and (file.suffix == ".py" or file.name.endswith(_NO_CODE)):
            yield "/".join(parts), file
    yield "playground_glue.py", _ROOT / "documentation" / "playground_glue.py"
    for name in _PURE:
        for path in distribution(name).files or ():
            if path.suffix == ".py" or path.name.startswith("LICENSE"):
                yield path.as_posix(), Path(str(path.locate()))


# --- the examples


def _examples() -> list[dict[str, Any]]:
    return [_example(_MODELS / name, title) for name, title in EXAMPLES.items()]


def _example(folder: Path, title: str) -> dict[str, Any]:
    """A model directory as the inputs of the page."""
    request = json.loads((folder / "request.json").read_text(encoding="utf-8"))
    files = {name: (folder / name).read_text(encoding="utf-8") for name in _MODEL_FILES if (folder / name).exists()}
    return {
        "name": folder.name,
        "title": title,
        "template": (folder / "chat_template.jinja").read_text(encoding="utf-8"),
        "files": files,
        "messages": request["messages"],
        "tools": request.get("tools", []),
    }


def main() -> int:
    """`python -m documentation.playground_files OUTPUT_DIR`."""
    if len(sys.argv) != 2:
        print("usage: python -m documentation.playground_files OUTPUT_DIR", file=sys.stderr)
        return 2
    folder = Path(sys.argv[1])
    try:
        write_alone(folder)
    except NotBuilt as why:
        print(why, file=sys.stderr)
        return 2
    print(f"python -m http.server --directory {folder}   then open http://localhost:8000/playground/")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
