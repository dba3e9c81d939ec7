"""Whole calls are emitted once they have ended; everything else is emitted immediately, and the order is unchanged."""

from __future__ import annotations

import pytest
from guarantees import check_shape

import toolfmt
from toolfmt.formats import FORMATS, Parser, WholeCalls, write
from toolfmt.messages.events import (
    Content,
    Event,
    Reasoning,
    ToolCallArguments,
    ToolCallEnd,
    ToolCallRejected,
    ToolCallStart,
    merge,
)

TWO = '<tool_call>{"name": "f", "arguments": {"a": "long"}}</tool_call>'
BROKEN = '<tool_call>{"name": "f", "arguments": {"a": 1 2}}</tool_call>'


def emitted(text: str, size: int, format: str = "json") -> list[list[Event]]:
    """What passes, a list for every piece and one for the end."""
    parser, calls = Parser(format), WholeCalls()
    pieces = [text[at : at + size] for at in range(0, len(text), size)]
    return [*(calls.events(parser.feed(piece)) for piece in pieces), calls.events(parser.finish())]


@pytest.mark.parametrize("size", [1, 3, 1000])
def test_a_call_passes_whole_and_everything_else_at_once(size: int) -> None:
    text = "<think>hm</think>Well. " + TWO + "Done."
    events = [event for some in emitted(text, size) for event in some]
    begin = len("<think>hm</think>Well. ")
    assert merge(events) == [
        Reasoning("hm", 7),
        Content("Well. ", 17),
        ToolCallStart(0, "f"),
        ToolCallArguments(0, '{"a": "long"}'),
        ToolCallEnd(0, (begin, begin + len(TWO))),
        Content("Done.", begin + len(TWO)),
    ]
    check_shape(events)


def test_nothing_of_a_call_passes_before_its_end_and_content_does_not_wait() -> None:
    pieces = emitted("Well. " + TWO + "Done.", 1)
    assert "".join(event.text for event in pieces[0] if isinstance(event, Content)) == "W"
    ends = [number for number, events in enumerate(pieces) if any(isinstance(event, ToolCallEnd) for event in events)]
    assert len(ends) == 1
    assert [type(event) for event in pieces[ends[0]]][:3] == [ToolCallStart, ToolCallArguments, ToolCallEnd]
    before = [event for events in pieces[: ends[0]] for event in events]
    assert {type(event) for event in before} == {Content}


@pytest.mark.parametrize("size", [1, 1000])
def test_a_rejected_call_passes_as_its_rejection_alone_and_keeps_its_index(size: int) -> None:
    events = [event for some in emitted(TWO + BROKEN + TWO, size) for event in some]
    kinds = [(type(event), event.index) for event in events if not isinstance(event, (Content, Reasoning))]
    whole = [ToolCallStart, ToolCallArguments, ToolCallEnd]
    assert kinds == [*((kind, 0) for kind in whole), (ToolCallRejected, 1), *((kind, 2) for kind in whole)]
    assert [event.delta for event in events if isinstance(event, ToolCallArguments)] == ['{"a": "long"}'] * 2
    check_shape(events)
    cut = [event for some in emitted(TWO[:-20], size) for event in some]
    assert [(type(event), event.reason) for event in cut if isinstance(event, ToolCallRejected)] == [
        (ToolCallRejected, "incomplete_output")
    ]
    assert not any(isinstance(event, ToolCallStart) for event in cut)


@pytest.mark.parametrize("format", [format.name for format in FORMATS])
def test_the_message_is_the_same(format: str) -> None:
    text = write(format, [("f", {"a": "x", "n": 1}), ("f", {})])
    events = [event for some in emitted(text, 2, format) for event in some]
    call_id = toolfmt.get(format).call_id
    assert toolfmt.Message.from_events(events, (), call_id) == toolfmt.parse(text, format)
    assert sum(isinstance(event, ToolCallArguments) for event in events) == 2
