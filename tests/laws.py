"""What the laws' tests share: parsing in pieces, and the checks that hold for any text."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from toolfmt.events import (
    Content,
    Event,
    Reasoning,
    ToolCallArguments,
    ToolCallEnd,
    ToolCallRejected,
    ToolCallStart,
    merge,
)
from toolfmt.formats import TOLERANCES, Parser, ToolCallFormat

Options = dict[str, Any]


def events_of(format: str, chunks: Iterable[str], **options: Any) -> list[Event]:
    """The merged events of an answer that arrives in these pieces."""
    parser = Parser(format, **options)
    events = [event for chunk in chunks for event in parser.feed(chunk)]
    return merge(events + parser.finish())


def check_copy(format: str, text: str, at: int, **options: Any) -> None:
    """A copy of a parser that has read a part of a text reads on as the parser does, and neither sees the other.

    At an odd place the text before it comes in two pieces, and what follows too.
    """
    parser = Parser(format, **options)
    before, behind = (at // 2, at + (len(text) - at) // 2) if at % 2 else (0, at)
    for piece in filter(None, (text[:before], text[before:at])):
        parser.feed(piece)
    copies = [parser.copy(), parser.copy()]
    copies[0].feed("<tool_call>[{x")
    copies[0].finish()
    rest = (text[at:behind], text[behind:])
    told = [merge([*one.feed(rest[0]), *one.feed(rest[1]), *one.finish()]) for one in (parser, copies[1])]
    assert told[0] == told[1]


def cut(text: str, places: Iterable[int]) -> list[str]:
    """The text cut at these places."""
    ends = sorted({place % (len(text) + 1) for place in places})
    return [text[begin:end] for begin, end in zip([0, *ends], [*ends, len(text)], strict=True)]


def check_shape(events: list[Event]) -> None:
    """Law 4: a call is start, arguments*, then end or rejected; indexes run in order of appearance."""
    open_call: int | None = None
    following = 0
    for event in events:
        if isinstance(event, ToolCallStart):
            assert open_call is None and event.index == following
            open_call, following = event.index, following + 1
        elif isinstance(event, ToolCallArguments):
            assert event.index == open_call and event.delta
        elif isinstance(event, ToolCallEnd):
            assert event.index == open_call
            assert set(event.tolerated) <= set(TOLERANCES)
            open_call = None
        elif isinstance(event, ToolCallRejected):
            if open_call is None:
                assert event.index == following
                following += 1
            assert open_call in (None, event.index)
            open_call = None
        else:
            assert open_call is None and event.text
    assert open_call is None


def check_tiling(text: str, events: list[Event], markers: Iterable[str]) -> None:
    """Law 3: content, reasoning, calls and rejected spans tile the text; between them only frame."""
    at, calls = 0, []
    for event in events:
        if isinstance(event, (Content, Reasoning)):
            assert text[event.start : event.start + len(event.text)] == event.text
            check_gap(text[at : event.start], markers)
            at = event.start + len(event.text)
        elif isinstance(event, (ToolCallEnd, ToolCallRejected)):
            begin, end = event.span
            check_gap(text[at:begin], markers)
            assert begin < end
            if isinstance(event, ToolCallRejected):
                assert event.raw == text[begin:end]
            calls.append(event)
            at = end
    check_gap(text[at:], markers)


def check_gap(gap: str, markers: Iterable[str]) -> None:
    """What no event tells is blanks or a marker of a reasoning block."""
    for marker in sorted(markers, key=len, reverse=True):
        gap = gap.replace(marker, "")
    assert not gap.strip(" \t\r\n"), gap


def check_arguments(events: list[Event]) -> None:
    """Law 5: the fragments of an ended call join to one JSON object."""
    joined: dict[int, str] = {}
    for event in events:
        if isinstance(event, ToolCallStart):
            joined[event.index] = ""
        elif isinstance(event, ToolCallArguments):
            joined[event.index] += event.delta
        elif isinstance(event, ToolCallEnd):
            assert isinstance(json.loads(joined[event.index], parse_constant=_forbidden), dict)


def _forbidden(name: str) -> None:
    raise AssertionError(f"{name} is not JSON")


def frame(format: ToolCallFormat) -> list[str]:
    """What is neither content nor a call: markers of reasoning and ignored ones."""
    pairs = (*format.reasoning, *format.content_markers)
    return [
        *format.ignored_markers,
        *format.ignored_at_start,
        *format.engine.residue,
        *(marker for pair in pairs for marker in pair),
    ]
