"""Run the tests at their greatest depth: every cut of every case, every template, 1,000 examples per guarantee.

    python -m benchmarks.long_run [NAME …] [--examples 1000] [--processes 2] [--summary FILE]

NAME is a folder or a file in `tests/`. Without one, all are run, in the order in which the packages import each other.
Each is one run of `pytest --all` with `TOOLFMT_TEST_EXAMPLES` (examples per guarantee) and `TOOLFMT_TEST_EVERY=1`
(nothing is sampled); `tests/support/depth.py` reads both. The summary gets a line when a run ends, so that an
interrupted run keeps its results. It takes hours. The exit status is 1 if a run fails.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
from pathlib import Path

TESTS = Path(__file__).parents[1] / "tests"
PACKAGES = ("_util", "messages", "formats", "grammars", "templates", "inspect", "render", "model", "agent")
"""They run first, in this order; then everything else, by name."""
_SECONDS = 6 * 3600
"""After which one run is stopped: a test hangs."""
_NO_TESTS = 5
"""The exit status of pytest for a folder of which this machine runs no test."""


def everything() -> list[Path]:
    """Return the folders and files of tests: `PACKAGES` first."""
    entries = [path for path in TESTS.iterdir() if path.name.startswith("test_") or any(path.rglob("test_*.py"))]
    return sorted(entries, key=lambda path: (path.name not in PACKAGES, _place(path.name), path.name))


def _place(name: str) -> int:
    return PACKAGES.index(name) if name in PACKAGES else 0


def run(path: Path, examples: int, processes: int) -> tuple[int, str]:
    """Run the tests of one folder or file. Return pytest's exit status and its last line."""
    command = [sys.executable, "-m", "pytest", "--all", "-q", "-n", str(processes), "--dist", "worksteal", str(path)]
    depth = {"TOOLFMT_TEST_EXAMPLES": str(examples), "TOOLFMT_TEST_EVERY": "1"}
    try:
        done = subprocess.run(
            command, cwd=TESTS.parent, env=os.environ | depth, stdout=subprocess.PIPE, text=True, timeout=_SECONDS
        )
    except subprocess.TimeoutExpired:
        return 1, f"stopped after {_SECONDS:,} seconds"
    if done.returncode not in (0, _NO_TESTS):
        print(done.stdout)
    return done.returncode, (done.stdout.splitlines() or ["nothing was printed"])[-1]


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument("--examples", type=int, default=1000, metavar="N")
    parser.add_argument("--processes", type=int, default=2, metavar="N")
    parser.add_argument("--summary", type=Path, metavar="FILE")
    options = parser.parse_args()
    paths = [TESTS / name for name in options.names] or everything()
    if missing := [path.name for path in paths if not path.exists()]:
        parser.error(f"tests/ has no {', '.join(missing)}")
    failed = False
    for path in paths:
        start = time.monotonic()
        status, summary = run(path, options.examples, options.processes)
        failed |= status not in (0, _NO_TESTS)
        line = f"{path.relative_to(TESTS)}  status {status}  {time.monotonic() - start:.0f} s  {summary}"
        print(line, flush=True)
        if options.summary is not None:
            with options.summary.open("a", encoding="utf-8") as file:
                file.write(f"{line}\n")
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
