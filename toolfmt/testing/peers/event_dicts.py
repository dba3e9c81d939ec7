"""Convert the output of another project's parser to events of the fuzz kit: dicts like `toolfmt.messages.events`.

They have no spans. OpenAI's stream does not mark the end of a call: for a client, a call is complete if the stream is
over and its arguments are a JSON object. The events follow that rule. A call whose arguments are not an object is
rejected, because no client can execute it.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Any, TypeAlias

EventDict: TypeAlias = dict[str, Any]


def content(text: str | None) -> Iterator[EventDict]:
    if text:
        yield {"type": "content", "text": text}


def reasoning(text: str | None) -> Iterator[EventDict]:
    if text:
        yield {"type": "reasoning", "text": text}


def whole_call(index: int, name: Any, arguments: str) -> Iterator[EventDict]:
    """Yield the events of a call in one piece."""
    yield {"type": "tool_call_start", "index": index, "name": name, "id": None}
    yield {"type": "tool_call_arguments", "index": index, "delta": arguments}
    yield _over(index, arguments)


class StreamedCalls:
    """Calls in pieces, joined as a client of OpenAI's stream does: by index, names concatenated.

    A call is over when another starts, when text arrives and its arguments are an object, or at the end of the stream.
    """

    def __init__(self) -> None:
        self._names: dict[int, str] = {}
        self._arguments: dict[int, str] = {}
        self._started: set[int] = set()
        self._over: set[int] = set()

    def piece(self, index: int, name: str | None, arguments: str | None) -> Iterator[EventDict]:
        """Add a delta of a call. Its start is emitted with its first arguments or at the next call: its name may
        grow.
        """
        if index not in self._names:
            yield from self.over()
        self._names[index] = self._names.get(index, "") + (name or "")
        before = self._arguments.get(index, "")
        self._arguments[index] = before + (arguments or "")
        if not arguments:
            return
        if index not in self._started:
            yield self._begin(index)
        yield {"type": "tool_call_arguments", "index": index, "delta": arguments}

    def content(self, text: str | None) -> Iterator[EventDict]:
        """Add text, which ends the complete calls before it."""
        if text:
            yield from self._end(index for index in sorted(self._names) if is_object(self._arguments[index]))
            yield from content(text)

    def over(self) -> Iterator[EventDict]:
        """End all calls so far."""
        yield from self._end(sorted(self._names))

    def _end(self, indexes: Iterable[int]) -> Iterator[EventDict]:
        for index in indexes:
            if index in self._over:
                continue
            if index not in self._started:
                yield self._begin(index)
            self._over.add(index)
            yield _over(index, self._arguments[index])

    def _begin(self, index: int) -> EventDict:
        self._started.add(index)
        return {"type": "tool_call_start", "index": index, "name": self._names[index], "id": None}


def calls_of(events: Iterable[EventDict]) -> list[tuple[Any, str]]:
    """Return names and arguments of the calls in the events, ended or not."""
    calls: dict[int, list[Any]] = {}
    for event in events:
        if event["type"] == "tool_call_start":
            calls[event["index"]] = [event["name"], ""]
        elif event["type"] == "tool_call_arguments":
            calls[event["index"]][1] += event["delta"]
    return [(name, arguments) for name, arguments in calls.values()]


def _over(index: int, arguments: str) -> EventDict:
    if is_object(arguments):
        return {"type": "tool_call_end", "index": index}
    return {"type": "tool_call_rejected", "index": index, "reason": "invalid_arguments"}


def is_object(arguments: str) -> bool:
    """Return whether a client could execute a call with these arguments."""
    try:
        return isinstance(json.loads(arguments), dict)
    except (ValueError, RecursionError):
        return False


def message(text: str | None, calls: list[tuple[Any, Any]], thought: str | None = None) -> dict[str, Any]:
    """Return a message in OpenAI's format for a whole output."""
    functions = [{"function": {"name": name, "arguments": arguments}} for name, arguments in calls]
    return {"role": "assistant", "content": text or None, "reasoning_content": thought or None, "tool_calls": functions}
