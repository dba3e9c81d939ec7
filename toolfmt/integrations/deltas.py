"""Parse one response in a server with deltas of its own: content and pieces of calls, as in Chat Completions.

A server's parser feeds the model's output and passes on the result. Such a server parses the reasoning itself. It does
not pass its parser the prompt or the finish reason. Therefore reasoning stays text, and a call that lacks only end
markers is complete, if more arguments cannot follow (`needs_stop_token`). A call that is rejected before it was sent is
content, except an unfinished call at the end: the response was probably cut there.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Any, NamedTuple

from toolfmt.formats import Parser, ToolCallFormat
from toolfmt.integrations.aligned_parser import AlignedParser
from toolfmt.integrations.protocols import Chat
from toolfmt.messages.events import Content, Event, ToolCallArguments, ToolCallRejected
from toolfmt.messages.message import CALL_ID


def needs_stop_token(format: ToolCallFormat) -> bool:
    """Whether only the stop token, which servers strip by default, shows that a call has no more arguments."""
    return bool(getattr(format.engine, "end_is_stop_token", False))


class Delta(NamedTuple):
    """The new part of a response."""

    content: str
    calls: list[dict[str, Any]]
    """Entries of `delta.tool_calls`, one per call: its id and its name at its start, and further arguments."""


class Deltas:
    """Parses one response.

    Takes the arguments of `Parser` and `toolfmt.integrations.protocols.Chat`, and raises their errors. With
    `whole_calls`, a call is sent after it has ended, and never if it was cut or rejected. Without it, arguments are
    sent as they arrive. A call that is rejected in the middle has then been sent in part, and nothing more of it
    follows. With the server's `tokenizer`, markers that are tokens count only where the ids have them.
    """

    def __init__(
        self,
        format: ToolCallFormat,
        tools: object,
        *,
        whole_calls: bool,
        taken_ids: Collection[str] = (),
        call_id: str = CALL_ID,
        tokenizer: Any = None,
    ) -> None:
        self._parser = AlignedParser(Parser(format, tools=tools, reasoning="text"), tokenizer)
        self._chat = Chat("", "", 0, taken_ids=taken_ids, call_id=call_id, whole_calls=whole_calls)
        self._later: list[Event] = []
        self._needs_stop_token = needs_stop_token(format)

    def feed(self, text: str, ids: Iterable[int] = ()) -> Delta:
        """Parse more of the response. `ids` are the tokens that the server gives with the text."""
        events = [*self._later, *self._parser.feed(text, ids)]
        end = _end_of_delta(events)
        self._later = events[end:]
        return self._delta(events[:end])

    def finish(self) -> Delta:
        """End the response. Return what was held back of it."""
        events, self._later = [*self._later, *self._parser.finish(cut=self._needs_stop_token)], []
        return self._delta(events)

    def _delta(self, events: Iterable[Event]) -> Delta:
        content = ""
        calls: list[dict[str, Any]] = []
        for payload in self._chat.push(events):
            delta = payload["choices"][0]["delta"]
            content += delta.get("content", "")
            for call in delta.get("tool_calls", ()):
                # One entry per call: clients that use the first chunk unchanged would lose the second one.
                if calls and calls[-1]["index"] == call["index"]:
                    calls[-1]["function"]["arguments"] += call["function"]["arguments"]
                else:
                    calls.append(call)
        return Delta(content, calls)


def _end_of_delta(events: list[Event]) -> int:
    """Return how many of the events one delta may contain.

    Servers send the content of a delta before its calls. If a delta continues a call from an earlier one, content after
    that call waits for the next delta, because the Responses API has only one open item at a time.
    """
    if events and isinstance(events[0], ToolCallArguments):
        content_events = (Content, ToolCallRejected)
        return next((at for at, event in enumerate(events) if isinstance(event, content_events)), len(events))
    return len(events)


def whole(deltas: Deltas, text: str) -> Delta:
    """Return the whole response at once, for an unused `Deltas` with `whole_calls`."""
    fed, rest = deltas.feed(text), deltas.finish()
    return Delta(fed.content + rest.content, fed.calls + rest.calls)
