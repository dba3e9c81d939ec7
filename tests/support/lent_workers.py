"""Workers for the tests that inspect several places in this process, lent again and again: to start one takes longer
than to inspect a small model. A command of its own starts its own, as everywhere else.
"""

from __future__ import annotations

from typing import Any

from toolfmt.model.jobs import new_worker
from toolfmt.model.sandbox.pool import Limits, Worker

_idle: list[Worker] = []


class ReusedWorker:
    """What an inspection of several places takes for a new worker."""

    def __init__(self, limits: Limits | None = None) -> None:
        self._usual = limits is None
        self._worker = _idle.pop() if _idle and self._usual else new_worker(limits)

    def run(self, *arguments: Any) -> Any:
        return self._worker.run(*arguments)

    def stop(self) -> None:
        """One that still works on something is ended, as ever."""
        lock = self._worker._lock
        if self._usual and lock.acquire(blocking=False):
            lock.release()
            _idle.append(self._worker)
        else:
            self._worker.stop()


def close() -> None:
    """At the end of the run."""
    while _idle:
        _idle.pop().close()
