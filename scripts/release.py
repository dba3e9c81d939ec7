"""Check and build a release: `python scripts/release.py` in a clean checkout. It uploads nothing and makes no tag.

Each step raises `Wrong` with the fix; the first that fails ends it with status 1. Steps that an option skips are listed
at the end, so that an unchecked release is not mistaken for a checked one. The results are in `dist/`: an sdist and the
wheel built from it, which is byte for byte the one built from the checkout.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from importlib.util import find_spec
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
DIST = ROOT / "dist"
TOOLS = {"build": "build", "check_wheel_contents": "check-wheel-contents", "twine": "twine"}
_VERSION = re.compile(r'^__version__ = "([^"]+)"$', re.MULTILINE)
_HEADING = re.compile(r"^## (\S+)(?: \((.*)\))?$", re.MULTILINE)
_LAST_LINES = 15


class Wrong(Exception):
    """Why there can be no release, with the fix."""


def output(*words: str, at: Path = ROOT, environment: Mapping[str, str] = os.environ) -> str:
    """The output of a command. Raises `Wrong` if it fails, with the end of its output."""
    try:
        done = subprocess.run(
            words, cwd=at, env=environment, stdout=-1, stderr=subprocess.STDOUT, text=True, check=False
        )
    except OSError as error:
        raise Wrong(f"{words[0]} cannot be run ({error.strerror}); install it") from None
    if done.returncode:
        message = "\n".join(done.stdout.splitlines()[-_LAST_LINES:])
        raise Wrong(f"{' '.join(words)} ended with status {done.returncode}:\n{message}")
    return done.stdout


def check_tree(options: argparse.Namespace) -> None:
    """Nothing is uncommitted: what is built is the content of a commit."""
    if changed := output("git", "status", "--porcelain").splitlines():
        raise Wrong(f"{len(changed)} files are changed or new ({changed[0].strip()} …); commit them or take them away")


def check_version(options: argparse.Namespace) -> None:
    """The version is that of the changelog's newest heading, which has a date, and has no tag yet."""
    version = version_here()
    heading = _HEADING.search((ROOT / "CHANGELOG.md").read_text("utf-8"))
    newest, when = (heading[1], heading[2] or "") if heading else ("", "")
    if newest != version:
        raise Wrong(f"toolfmt/_util/version.py has {version}, the newest heading of CHANGELOG.md {newest or 'nothing'}")
    if not re.fullmatch(r"\d{4}-\d\d-\d\d", when):
        raise Wrong(f"the newest heading of CHANGELOG.md has no date; write ## {version} (YYYY-MM-DD)")
    if output("git", "tag", "--list", f"v{version}"):
        raise Wrong(f"the tag v{version} is there already; take the next version")


def version_here() -> str:
    """The version that the package declares."""
    found = _VERSION.search((ROOT / "toolfmt/_util/version.py").read_text("utf-8"))
    if found is None:
        raise Wrong("toolfmt/_util/version.py has no line __version__ = …")
    return found[1]


def check_tools(options: argparse.Namespace) -> None:
    """The requirements are installed, and the target folder is empty."""
    if missing := [package for module, package in TOOLS.items() if find_spec(module) is None]:
        raise Wrong(f"{', '.join(missing)} not installed; pip install -e '.[release]'")
    if DIST.exists() and (not DIST.is_dir() or any(DIST.iterdir())):
        raise Wrong(f"{DIST} is not an empty folder; move its content away")


def check_tests(options: argparse.Namespace) -> None:
    """What every change has to pass."""
    output(".ci/run")


def check_site(options: argparse.Namespace) -> None:
    """The documentation is built without a warning."""
    if not (ROOT / "mkdocs.yml").exists():
        raise Wrong("mkdocs.yml is missing; --skip-site skips the site")
    if find_spec("mkdocs") is None:
        raise Wrong("mkdocs is not installed; pip install -e '.[docs]' -c constraints.txt")
    with tempfile.TemporaryDirectory() as folder:
        output(sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", folder)


def build(options: argparse.Namespace) -> None:
    """An sdist and the wheel of it, identical wherever they are built; the wheel of the checkout is the same."""
    when = output("git", "log", "-1", "--format=%ct").strip()
    environment = {**os.environ, "SOURCE_DATE_EPOCH": when}
    command = [sys.executable, "-m", "build", *["--no-isolation"] * options.no_isolation, "--outdir"]
    with tempfile.TemporaryDirectory() as folder:
        for words in ([str(DIST)], [folder, "--wheel"]):
            output(*command, *words, environment=environment)
        (directly,), wheel = Path(folder).glob("*.whl"), wheel_here()
        if directly.read_bytes() != wheel.read_bytes():
            raise Wrong(f"the wheel of the sdist is not that of the checkout; look at what {DIST}/*.tar.gz lacks")


def wheel_here() -> Path:
    """The wheel that was built."""
    (wheel,) = DIST.glob("*.whl")
    return wheel


def check_built(options: argparse.Namespace) -> None:
    """The metadata can be shown by an index, and the wheel contains what a wheel should."""
    output(sys.executable, "-m", "twine", "check", "--strict", *map(str, sorted(DIST.iterdir())))
    output(sys.executable, "-m", "check_wheel_contents", str(wheel_here()))


def check_installed(options: argparse.Namespace) -> None:
    """The wheel works in a fresh environment, outside of the checkout."""
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        output(sys.executable, "-m", "venv", str(place / "venv"))
        programs = place / "venv" / ("Scripts" if os.name == "nt" else "bin")
        output(str(programs / "python"), "-m", "pip", "install", "--quiet", str(wheel_here()))
        toolfmt = str(programs / "toolfmt")
        if output(toolfmt, "--version", at=place) != f"toolfmt {version_here()}\n":
            raise Wrong("the installed toolfmt has another version")
        shutil.copytree(ROOT / "corpus/models/glm4-key-value", place / "model")
        for words in (["inspect", "model"], ["dev", "corpus", "export"], ["dev", "fuzz", "qwen3_5", "--outputs", "20"]):
            output(toolfmt, *words, at=place)


def steps(options: argparse.Namespace) -> Iterator[tuple[str, Callable[[argparse.Namespace], None], str]]:
    """The steps, in order: a description, the function, and the option that skips it."""
    yield "the tree is clean", check_tree, ""
    yield "version and changelog agree", check_version, ""
    yield "the tools are there", check_tools, ""
    yield "tests, lint and types (.ci/run)", check_tests, "--skip-tests" * options.skip_tests
    yield "the site is built", check_site, "--skip-site" * options.skip_site
    yield "sdist and wheel are built, the same from both", build, ""
    yield "twine and check-wheel-contents find nothing", check_built, ""
    yield "the wheel works in a fresh environment", check_installed, "--skip-installed" * options.skip_installed


def main() -> int:
    """Do each step; the exit status."""
    parser = argparse.ArgumentParser(description="Check and build a release of toolfmt; nothing is uploaded.")
    parser.add_argument("--skip-tests", action="store_true", help="leave .ci/run out")
    parser.add_argument("--skip-site", action="store_true", help="leave the documentation out")
    parser.add_argument("--skip-installed", action="store_true", help="do not install the wheel anywhere")
    parser.add_argument("--no-isolation", action="store_true", help="build with the hatchling that is installed here")
    options = parser.parse_args()
    left_out = []
    for what, step, option in steps(options):
        if option:
            left_out.append(f"{what} ({option})")
            continue
        print(f"- {what}", flush=True)
        try:
            step(options)
        except Wrong as wrong:
            print(f"release: {wrong}", file=sys.stderr)
            return 1
    report(left_out)
    return 0


def report(left_out: list[str]) -> None:
    """What was made, what was skipped, and the next step for a person."""
    version = version_here()
    for file in sorted(DIST.iterdir()):
        print(f"  {file.relative_to(ROOT)}  {file.stat().st_size:,} bytes")
    for one in left_out:
        print(f"NOT CHECKED: {one}")
    print(
        "Next, unless already done for this commit: python -m benchmarks.long_run\n"
        f"Then: git tag -a v{version} -m 'toolfmt {version}', git push origin v{version},\n"
        "python -m twine upload dist/*"
    )


if __name__ == "__main__":
    sys.exit(main())
