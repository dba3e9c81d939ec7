"""What goes to standard output: text as UTF-8 at once, JSON, and the answers that `toolfmt parse` prints in three ways.

The command line calls it; nothing here decides anything. What UTF-8 has no bytes for (half a surrogate pair) is written
as an escape.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from toolfmt.events import Event
    from toolfmt.formats import Parser


def print_json(value: Any) -> None:
    print_text(json.dumps(value, ensure_ascii=False, indent=2) + "\n")


def compact(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def print_text(text: str) -> None:
    """The text as UTF-8, at once. Half a surrogate pair becomes `\\ud800`, which is also what JSON writes for it."""
    if text and sys.stdout is not None:
        sys.stdout.buffer.write(text.encode("utf-8", "backslashreplace"))
        sys.stdout.buffer.flush()


class EventLines:
    """Every event as a line of JSON, when it happens."""

    def __init__(self, parser: Parser, model: str) -> None:
        """`model` is what a chunk calls the model that answered."""

    def print(self, events: Iterable[Event]) -> None:
        print_text("".join(compact(event.to_dict()) + "\n" for event in events))

    def finish(self) -> None:
        """Print what comes after the last event."""


class OneMessage(EventLines):
    """The whole answer as one message, at its end."""

    def __init__(self, parser: Parser, model: str) -> None:
        self._events: list[Event] = list(parser.continued)
        self._call_id = parser.format.call_id

    def print(self, events: Iterable[Event]) -> None:
        self._events.extend(events)

    def finish(self) -> None:
        from toolfmt.message import Message

        print_json(Message.from_events(self._events, call_id=self._call_id).to_dict())


class OpenAIStream(EventLines):
    """The answer as a chat completion stream, chunk by chunk."""

    def __init__(self, parser: Parser, model: str) -> None:
        from toolfmt.message import ChunkStream

        created = int(time.time())
        self._stream = ChunkStream(f"chatcmpl-{created}", model, created, call_id=parser.format.call_id)

    def print(self, events: Iterable[Event]) -> None:
        self._data(self._stream.chunks(events))

    def finish(self) -> None:
        self._data(self._stream.finish())
        print_text("data: [DONE]\n\n")

    def _data(self, chunks: Iterable[dict[str, Any]]) -> None:
        print_text("".join(f"data: {compact(chunk)}\n\n" for chunk in chunks))
