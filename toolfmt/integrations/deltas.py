"""One answer in a server that hands out deltas of its own: content, and pieces of calls, as Chat Completions has them.

A server's parser feeds what the model wrote and passes on what comes back. Such a server reads the reasoning by itself
and never tells its parser the prompt, or why an answer ended: so reasoning stays text, and a call that lacks nothing
but closers is one. A call that was rejected before it was told is content.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from typing import Any, NamedTuple

from toolfmt.formats import Parser, ToolCallFormat, formats
from toolfmt.integrations.protocols import Chat
from toolfmt.messages.events import Content, Event, ToolCallArguments, ToolCallRejected
from toolfmt.messages.message import CALL_ID


def parsers() -> Iterator[tuple[str, ToolCallFormat, bool]]:
    """What a server is given: names, each with the format and whether whole calls alone are told."""
    for format in formats():
        yield f"toolfmt_{format.name}", format, True
        yield f"toolfmt_{format.name}_streamed", format, False


class Delta(NamedTuple):
    """What is new of an answer."""

    content: str
    calls: list[dict[str, Any]]
    """Entries of `delta.tool_calls`, one a call: its id and its name where it begins, and more of its arguments."""


class Deltas:
    """Reads one answer; takes what `Parser` and `toolfmt.integrations.protocols.Chat` take, and raises what they raise
    for it.

    With `whole_calls` a call is told once it has ended, and never where it was cut or rejected. Else its arguments are
    told as they come: one that goes wrong under way has been told in part, and nothing more follows of it.
    """

    def __init__(
        self,
        format: ToolCallFormat,
        tools: object,
        *,
        whole_calls: bool,
        taken_ids: Collection[str] = (),
        call_id: str = CALL_ID,
    ) -> None:
        self._parser = Parser(format, tools=tools, reasoning="text")
        self._chat = Chat("", "", 0, taken_ids=taken_ids, call_id=call_id, whole_calls=whole_calls)
        self._later: list[Event] = []

    def feed(self, text: str) -> Delta:
        """More of the answer."""
        events = [*self._later, *self._parser.feed(text)]
        end = _end_of_delta(events)
        self._later = events[end:]
        return self._told(events[:end])

    def finish(self) -> Delta:
        """The answer has ended: what was held back of it."""
        events, self._later = [*self._later, *self._parser.finish()], []
        return self._told(events)

    def _told(self, events: Iterable[Event]) -> Delta:
        content = ""
        calls: list[dict[str, Any]] = []
        for payload in self._chat.push(events):
            delta = payload["choices"][0]["delta"]
            content += delta.get("content", "")
            for call in delta.get("tool_calls", ()):
                # One entry a call: clients that take the first chunk as it is would lose the second.
                if calls and calls[-1]["index"] == call["index"]:
                    calls[-1]["function"]["arguments"] += call["function"]["arguments"]
                else:
                    calls.append(call)
        return Delta(content, calls)


def _end_of_delta(events: list[Event]) -> int:
    """How many of the events one delta may hold.

    Servers tell the content of a delta before its calls. Where a call goes on that began in an earlier one, content
    that stands behind it waits for the next: the Responses API has one item open at a time.
    """
    if events and isinstance(events[0], ToolCallArguments):
        told_as_content = (Content, ToolCallRejected)
        return next((at for at, event in enumerate(events) if isinstance(event, told_as_content)), len(events))
    return len(events)


def whole(deltas: Deltas, text: str) -> Delta:
    """All of an answer at once, for a reading of whole calls that has been fed nothing."""
    fed, rest = deltas.feed(text), deltas.finish()
    return Delta(fed.content + rest.content, fed.calls + rest.calls)
