"""How far the reading of a long file has come, on standard error. `toolfmt.cli.commands` calls it."""

from __future__ import annotations

import time
from types import TracebackType

from rich import progress
from rich.console import Console

_PAUSE = 0.1
"""Seconds between two drawings; no thread draws, since other processes may be started meanwhile."""


class Progress:
    """A bar over the bytes of a file while it is open, wiped at the end; nothing at all where it is not `shown`."""

    def __init__(self, what: str, total: int | None, shown: bool) -> None:
        columns = (
            progress.TextColumn(what), progress.BarColumn(), progress.DownloadColumn(), progress.TimeRemainingColumn()
        )  # fmt: skip
        self._bar = progress.Progress(
            *columns, console=Console(stderr=True), transient=True, auto_refresh=False, disable=not shown
        )
        self._task = self._bar.add_task(what, total=total)
        self._drawn = 0.0

    def update(self, done: int) -> None:
        """So many bytes have been read."""
        now = time.monotonic()
        if now - self._drawn >= _PAUSE:
            self._drawn = now
            self._bar.update(self._task, completed=done, refresh=True)

    def __enter__(self) -> Progress:
        self._bar.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._bar.stop()
