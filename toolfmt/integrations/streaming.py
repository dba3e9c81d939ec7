"""The events of a response that a runtime in this process generates, and what is known at its end."""

from __future__ import annotations

from collections.abc import Generator, Iterator
from typing import Any, Self

from toolfmt.formats import Parser, TokenParser
from toolfmt.integrations.protocols import FinishReason, Usage
from toolfmt.messages.events import Event


class Stream(Iterator[Event]):
    """The events of a response. After its end, `finish_reason` is why it ended, and `usage` has its tokens.

    Takes a generator of events that returns both. The generator must not reference the stream, so that deleting the
    stream ends the generation. `close` and leaving a `with` block end it too.
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
        """Stop the response. The generation has ended when this returns."""
        self._events.close()


def of_tokens(parser: Parser | TokenParser, tokenizer: Any) -> TokenParser:
    """Return the parser if it is a `TokenParser`, else wrap it in one."""
    return parser if isinstance(parser, TokenParser) else TokenParser(parser, tokenizer)
