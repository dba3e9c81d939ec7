"""The six events that a parser emits, in the order of the text.

Only parsers create them. Offsets count characters of the input, from 0. Two adjacent events of one kind are equivalent
to one event with both texts. Chunk boundaries have no meaning, and `merge` removes them.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

__all__ = [
    "Content",
    "Event",
    "Reasoning",
    "RejectionReason",
    "ToolCallArguments",
    "ToolCallEnd",
    "ToolCallRejected",
    "ToolCallStart",
    "merge",
]

RejectionReason: TypeAlias = Literal[
    "malformed_syntax",
    "incomplete_output",
    "missing_tool_name",
    "undeclared_tool",
    "invalid_arguments",
    "duplicate_call",
]

_MOST_SHOWN = 100
"""Maximum number of characters of an invalid object in an error message."""


@dataclass(slots=True)
class Content:
    """Text for the user, verbatim.

    Attributes:
        text: The text.
        start: Its offset in the input, in characters.
    """

    text: str
    start: int = 0

    def to_dict(self) -> dict[str, Any]:
        return {"type": "content", "text": self.text}


@dataclass(slots=True)
class Reasoning:
    """Text of a reasoning block, verbatim and without the markers.

    Attributes:
        text: The text.
        start: Its offset in the input, in characters.
    """

    text: str
    start: int = 0

    def to_dict(self) -> dict[str, Any]:
        return {"type": "reasoning", "text": self.text}


@dataclass(slots=True)
class ToolCallStart:
    """A call starts.

    Attributes:
        index: The number of the call in the output, from 0.
        name: The complete name of the tool.
        id: The id of the call, if the format has one.
    """

    index: int
    name: str
    id: str | None = None

    def to_dict(self) -> dict[str, Any]:
        return {"type": "tool_call_start", "index": self.index, "name": self.name, "id": self.id}


@dataclass(slots=True)
class ToolCallArguments:
    """A piece of the call's arguments.

    Attributes:
        index: The number of the call.
        delta: The piece. The pieces of an ended call join to one JSON object.
    """

    index: int
    delta: str

    def to_dict(self) -> dict[str, Any]:
        return {"type": "tool_call_arguments", "index": self.index, "delta": self.delta}


@dataclass(slots=True)
class ToolCallEnd:
    """A call is complete.

    Attributes:
        index: The number of the call.
        span: The range of the call in the input, markers included: two offsets in characters.
        tolerated: The leniencies that were applied (`toolfmt.formats.TOLERANCES`).
        tokens: The range of the call's tokens in the output, markers included, if a `TokenParser` got their ids.
    """

    index: int
    span: tuple[int, int]
    tolerated: tuple[str, ...] = ()
    tokens: tuple[int, int] | None = None

    def to_dict(self) -> dict[str, Any]:
        return {
            "type": "tool_call_end",
            "index": self.index,
            "span": list(self.span),
            "tolerated": list(self.tolerated),
            **_tokens(self.tokens),
        }


@dataclass(slots=True)
class ToolCallRejected:
    """A call is invalid and must not be executed.

    This event replaces the end event. A call that is rejected before its name is known has no start event.

    Attributes:
        index: The number of the call.
        reason: Why it is rejected.
        span: The range of the call in the input: two offsets in characters.
        raw: The text of the call, the input from `span[0]` to `span[1]`.
        at: The offset in the input where parsing stopped: the first character that cannot continue the call. For
            incomplete output, the end of the input. For an undeclared tool, the start of its name. If strict parsing
            rejects a call that needs a tolerance, where the tolerance was noticed, which may be after the cause. If
            `validate` rejects the arguments, the end of the call.
        expected: A phrase for what would have been valid there. Empty if nothing specific can be said.
        message: One sentence for the model that wrote the call. Character numbers in it are offsets in `raw`, from 0,
            because the model sees only `raw`.
        tokens: The range of the call's tokens in the output, if a `TokenParser` got their ids.
    """

    index: int
    reason: RejectionReason
    span: tuple[int, int]
    raw: str
    at: int = 0
    expected: str = ""
    message: str = ""
    tokens: tuple[int, int] | None = None

    def to_dict(self) -> dict[str, Any]:
        return {
            "type": "tool_call_rejected",
            "index": self.index,
            "reason": self.reason,
            "span": list(self.span),
            "raw": self.raw,
            "at": self.at,
            "expected": self.expected,
            "message": self.message,
            **_tokens(self.tokens),
        }


def _tokens(tokens: tuple[int, int] | None) -> dict[str, Any]:
    return {} if tokens is None else {"tokens": list(tokens)}


Event: TypeAlias = Content | Reasoning | ToolCallStart | ToolCallArguments | ToolCallEnd | ToolCallRejected
"""What a parser emits."""


def no_event(value: object) -> TypeError:
    """Return the error for an object that is not an event."""
    shown = repr(value)
    return TypeError(f"not an event: {shown if len(shown) <= _MOST_SHOWN else shown[:_MOST_SHOWN] + '…'}")


def merge(events: Iterable[Event]) -> list[Event]:
    """Return the same events with adjacent ones of one kind joined. The result does not depend on chunks.

    Args:
        events: The events of one output.
    """
    merged: list[Event] = []
    run: list[Any] = []
    for event in events:
        if run and not _continues(event, run[-1]):
            merged.append(_joined(run))
            run = []
        run.append(event)
    return [*merged, _joined(run)] if run else merged


def _joined(run: list[Any]) -> Event:
    """Return one event for events that continue each other."""
    first = run[0]
    if len(run) == 1:
        alone: Event = first
        return alone
    if isinstance(first, ToolCallArguments):
        return ToolCallArguments(first.index, "".join(event.delta for event in run))
    text = "".join(event.text for event in run)
    return Content(text, first.start) if isinstance(first, Content) else Reasoning(text, first.start)


def _continues(event: Event, last: Event) -> bool:
    """Return whether an event continues the previous one. Blocks with a marker between them stay separate."""
    if isinstance(event, Content) and isinstance(last, Content):
        return last.start + len(last.text) == event.start
    if isinstance(event, Reasoning) and isinstance(last, Reasoning):
        return last.start + len(last.text) == event.start
    return isinstance(event, ToolCallArguments) and isinstance(last, ToolCallArguments) and event.index == last.index
