"""How far something long has come, on standard error: a file that is read, a model that is asked.

The command line calls it.
"""

from __future__ import annotations

import time
from types import TracebackType
from typing import Any, Self

from rich import progress
from rich.console import Console

_PAUSE = 0.1
"""Seconds between two drawings; no thread draws, since other processes may be started meanwhile."""


class Bar:
    """A bar while it is open, wiped at the end; nothing at all where it is not `shown`."""

    def __init__(self, *columns: progress.ProgressColumn, total: int | None, shown: bool, **fields: Any) -> None:
        self._bar = progress.Progress(
            *columns, console=Console(stderr=True), transient=True, auto_refresh=False, disable=not shown
        )
        self._task = self._bar.add_task("", total=total, **fields)
        self._drawn = 0.0

    def draw(self, completed: int, **fields: Any) -> None:
        """So much is done; drawn now and then."""
        now = time.monotonic()
        if now - self._drawn >= _PAUSE:
            self._drawn = now
            self._bar.update(self._task, completed=completed, refresh=True, **fields)

    def __enter__(self) -> Self:
        self._bar.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._bar.stop()


class Progress(Bar):
    """A bar over the bytes of a file."""

    def __init__(self, what: str, total: int | None, shown: bool) -> None:
        columns = (
            progress.TextColumn(what), progress.BarColumn(), progress.DownloadColumn(), progress.TimeRemainingColumn()
        )  # fmt: skip
        super().__init__(*columns, total=total, shown=shown)

    def update(self, done: int) -> None:
        """So many bytes have been read."""
        self.draw(done)
