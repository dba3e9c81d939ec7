"""A response in a rendered conversation: what the parser reads in it, and which parts of it are trained."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from toolfmt.errors import BadMessages
from toolfmt.messages.events import Content, Event, Reasoning, ToolCallEnd
from toolfmt.messages.message import Message as ParsedMessage
from toolfmt.render.request.messages import Message, arguments_of, calls_of, function_of, reasoning_of, text_of
from toolfmt.training.spans import TrainingSpan


@dataclass(frozen=True)
class FoundResponse:
    """A response in the text.

    `prefilled` is the part before `begin` that the generation prompt contains. The parser reads it up to `read`.
    """

    end: int
    closing: str
    read: int
    begin: int = 0
    prefilled: str = ""


@dataclass(frozen=True)
class ReadResponse:
    """What the parser reads in a response: a message, the tolerances that its calls need, and the events."""

    message: ParsedMessage
    tolerated: tuple[str, ...]
    events: Sequence[Event]


def difference(parsed: ParsedMessage, message: Message) -> str:
    """Return what differs between the parsed text and the message, except for whitespace around texts."""
    if parsed.rejected:
        return f"a call is rejected: {parsed.rejected[0].message or parsed.rejected[0].reason}"
    calls = [(call.name, json.loads(call.arguments)) for call in parsed.tool_calls]
    try:
        expected = [(function_of(call)["name"], arguments_of(call, "its call")) for call in calls_of(message)]
    except BadMessages as error:
        return str(error)
    if _canonical(calls) != _canonical(expected):
        return "the calls differ"
    if (parsed.content or "").strip() != text_of(message.get("content")).strip():
        return "the content differs"
    reasoning = (parsed.reasoning or "").strip()
    return "" if reasoning in ("", str(reasoning_of(message) or "").strip()) else "the reasoning differs"


def _canonical(calls: Sequence[tuple[str, Any]]) -> str:
    """Return text that differs if two lists of calls do, also if only the type of a number does."""
    return json.dumps(calls, sort_keys=True)


def without_reasoning(number: int, found: FoundResponse, events: Sequence[Event]) -> Iterator[TrainingSpan]:
    """Yield the parts of a response. Those with content and calls are trained, those with reasoning are not."""
    kept: list[tuple[int, int]] = []
    is_reasoning = False
    for event in events:
        if isinstance(event, Reasoning):
            is_reasoning = True
        elif isinstance(event, ToolCallEnd) or (isinstance(event, Content) and event.text.strip()):
            first, last = _range_of(event)
            if kept and not is_reasoning:
                kept[-1] = kept[-1][0], last
            else:
                kept.append((first if is_reasoning else 0, last))
            is_reasoning = False
    end = found.end - found.begin
    if kept and not is_reasoning:
        kept[-1] = kept[-1][0], end
    elif found.closing:
        kept.append((end - len(found.closing), end))
    at = 0
    for first, last in kept:
        if first > at:
            yield TrainingSpan(found.begin + at, found.begin + first, number, "assistant", "template")
        closing = found.closing if last == end else ""
        yield TrainingSpan(found.begin + first, found.begin + last, number, "assistant", "sampled", closing)
        at = last
    if at < end:
        yield TrainingSpan(found.begin + at, found.end, number, "assistant", "template")


def _range_of(event: Content | ToolCallEnd) -> tuple[int, int]:
    """Return the range of a call, or of a text without the whitespace before it."""
    if isinstance(event, ToolCallEnd):
        return event.span
    text = event.text.lstrip()
    return event.start + len(event.text) - len(text), event.start + len(event.text)
