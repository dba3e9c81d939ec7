"""The events of an answer that a runtime in this process generates, and what is known at its end."""

from __future__ import annotations

from collections.abc import Generator, Iterator
from typing import Self

from toolfmt.integrations.protocols import FinishReason, Usage
from toolfmt.messages.events import Event


class Stream(Iterator[Event]):
    """The events of an answer. Once it has ended, `finish_reason` tells why, and `usage` its tokens.

    Takes a generator of events that returns both; it must not hold on to the stream, so that who lets go of the stream
    ends the generation. `close` ends it too, and so does leaving a `with` over the stream.
    """

    def __init__(self, events: Generator[Event, None, tuple[FinishReason, Usage]]) -> None:
        self.finish_reason: FinishReason | None = None
        self.usage: Usage | None = None
        self._events = events

    def __next__(self) -> Event:
        try:
            return next(self._events)
        except StopIteration as ended:
            self.finish_reason, self.usage = ended.value or (self.finish_reason, self.usage)
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """No more of it; the generation has ended when this returns."""
        self._events.close()
