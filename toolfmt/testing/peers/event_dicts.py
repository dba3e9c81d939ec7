"""The output of another project's parser as events of the fuzz kit: dicts as `toolfmt.messages.events` has them,
without spans.

OpenAI's stream has no end of a call: a client holds a call for whole when the stream is over and its arguments are a
JSON object. So do these events: a call whose arguments are none is told as rejected, since nobody can execute it.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Any, TypeAlias

Told: TypeAlias = dict[str, Any]


def content(text: str | None) -> Iterator[Told]:
    if text:
        yield {"type": "content", "text": text}


def reasoning(text: str | None) -> Iterator[Told]:
    if text:
        yield {"type": "reasoning", "text": text}


def whole_call(index: int, name: Any, arguments: str) -> Iterator[Told]:
    """A call that was told in one piece."""
    yield {"type": "tool_call_start", "index": index, "name": name, "id": None}
    yield {"type": "tool_call_arguments", "index": index, "delta": arguments}
    yield _over(index, arguments)


class StreamedCalls:
    """Calls that come in pieces, as a client of OpenAI's stream puts them together: by index, names concatenated.

    A call is over when another begins, when text comes and its arguments are an object, or with the stream.
    """

    def __init__(self) -> None:
        self._names: dict[int, str] = {}
        self._arguments: dict[int, str] = {}
        self._begun: set[int] = set()
        self._over: set[int] = set()

    def piece(self, index: int, name: str | None, arguments: str | None) -> Iterator[Told]:
        """A delta of a call. It is told with its first arguments, or when the next one begins: its name may grow."""
        if index not in self._names:
            yield from self.over()
        self._names[index] = self._names.get(index, "") + (name or "")
        before = self._arguments.get(index, "")
        self._arguments[index] = before + (arguments or "")
        if not arguments:
            return
        if index not in self._begun:
            yield self._begin(index)
        yield {"type": "tool_call_arguments", "index": index, "delta": arguments}

    def content(self, text: str | None) -> Iterator[Told]:
        """Text, which ends the calls before it that are whole."""
        if text:
            yield from self._end(index for index in sorted(self._names) if is_object(self._arguments[index]))
            yield from content(text)

    def over(self) -> Iterator[Told]:
        """What is said of all calls so far when no more of them comes."""
        yield from self._end(sorted(self._names))

    def _end(self, indexes: Iterable[int]) -> Iterator[Told]:
        for index in indexes:
            if index in self._over:
                continue
            if index not in self._begun:
                yield self._begin(index)
            self._over.add(index)
            yield _over(index, self._arguments[index])

    def _begin(self, index: int) -> Told:
        self._begun.add(index)
        return {"type": "tool_call_start", "index": index, "name": self._names[index], "id": None}


def calls_of(events: Iterable[Told]) -> list[tuple[Any, str]]:
    """Names and arguments of the calls that events tell, whatever became of them."""
    calls: dict[int, list[Any]] = {}
    for event in events:
        if event["type"] == "tool_call_start":
            calls[event["index"]] = [event["name"], ""]
        elif event["type"] == "tool_call_arguments":
            calls[event["index"]][1] += event["delta"]
    return [(name, arguments) for name, arguments in calls.values()]


def _over(index: int, arguments: str) -> Told:
    if is_object(arguments):
        return {"type": "tool_call_end", "index": index}
    return {"type": "tool_call_rejected", "index": index, "reason": "invalid_arguments"}


def is_object(arguments: str) -> bool:
    """Whether a client could execute a call with these arguments."""
    try:
        return isinstance(json.loads(arguments), dict)
    except (ValueError, RecursionError):
        return False


def message(text: str | None, calls: list[tuple[Any, Any]], thought: str | None = None) -> dict[str, Any]:
    """A message as OpenAI's API has it, of a whole answer."""
    functions = [{"function": {"name": name, "arguments": arguments}} for name, arguments in calls]
    return {"role": "assistant", "content": text or None, "reasoning_content": thought or None, "tool_calls": functions}
