"""Wait for coroutines in synchronous code, for tools that are `async def`."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from types import TracebackType
from typing import Any


class Waiting:
    """Runs awaitables in one event loop with its own lifetime.

    A client that a tool keeps between two calls (of HTTP, of a database) belongs to the loop it was first used in. If
    this thread already runs a loop (a notebook, a server), the awaitables run in another thread, and this thread waits.
    """

    def __init__(self) -> None:
        self._runner = asyncio.Runner()
        self._executor: ThreadPoolExecutor | None = None

    def __call__(self, awaitable: Awaitable[Any]) -> Any:
        """Return the result of the awaitable, or raise its error."""

        async def waited() -> Any:
            return await awaitable

        context = copy_context()
        if self._executor is None and _runs_a_loop():
            self._executor = ThreadPoolExecutor(1, "toolfmt")
        if self._executor is None:
            return self._runner.run(waited(), context=context)
        return self._executor.submit(lambda: self._runner.run(waited(), context=context)).result()

    def __enter__(self) -> Waiting:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if self._executor is None:
            self._runner.close()
        else:
            self._executor.submit(self._runner.close)
            self._executor.shutdown(wait=error is None)


def _runs_a_loop() -> bool:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True
