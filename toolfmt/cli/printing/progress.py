"""Progress bars on standard error, for reading a file or measuring a model.

The command line uses them.
"""

from __future__ import annotations

import time
from types import TracebackType
from typing import Any, Self

from rich import progress
from rich.console import Console

_PAUSE = 0.1
"""Seconds between two redraws. No thread draws, because other processes may be started in the meantime."""


class Bar:
    """A bar while it is open, erased at the end. Draws nothing unless `shown`."""

    def __init__(self, *columns: progress.ProgressColumn, total: int | None, shown: bool, **fields: Any) -> None:
        self._bar = progress.Progress(
            *columns, console=Console(stderr=True), transient=True, auto_refresh=False, disable=not shown
        )
        self._task = self._bar.add_task("", total=total, **fields)
        self._drawn = 0.0

    def draw(self, completed: int, **fields: Any) -> None:
        """Set the progress. The bar is redrawn only from time to time."""
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
    """A progress bar over the bytes of a file."""

    def __init__(self, what: str, total: int | None, shown: bool) -> None:
        columns = (
            progress.TextColumn(what), progress.BarColumn(), progress.DownloadColumn(), progress.TimeRemainingColumn()
        )  # fmt: skip
        super().__init__(*columns, total=total, shown=shown)

    def update(self, done: int) -> None:
        """Set how many bytes have been read."""
        self.draw(done)
