"""Workers for the tests that inspect several models in this process, reused: to start one takes longer than to inspect
a small model. A command starts its own, as everywhere else.
"""

from __future__ import annotations

from typing import Any

from toolfmt.model.jobs import new_worker
from toolfmt.model.sandbox.pool import Limits, Worker

_idle: list[Worker] = []


class ReusedWorker:
    """Replaces the function that makes a new worker for an inspection of several models."""

    def __init__(self, limits: Limits | None = None) -> None:
        self._usual = limits is None
        self._worker = _idle.pop() if _idle and self._usual else new_worker(limits)

    def run(self, *arguments: Any) -> Any:
        return self._worker.run(*arguments)

    def stop(self) -> None:
        """A worker that is still busy is ended, as usual."""
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
