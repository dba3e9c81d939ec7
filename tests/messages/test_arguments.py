"""Calls whose arguments cannot be read."""

from __future__ import annotations

from toolfmt.messages.arguments import READABLE, unreadable_rejected
from toolfmt.messages.events import Event, ToolCallArguments, ToolCallEnd, ToolCallRejected, ToolCallStart


def test_an_ended_call_with_unreadable_arguments_is_rejected_at_its_start() -> None:
    text = "Hello. <call>f{'a'}</call>"
    begun: list[Event] = [ToolCallStart(0, "f"), ToolCallArguments(0, "{'a'}")]
    events: list[Event] = [*begun, ToolCallEnd(0, (7, 26))]
    *kept, rejected = unreadable_rejected(events, text)
    assert kept == begun
    assert isinstance(rejected, ToolCallRejected)
    assert (rejected.reason, rejected.span, rejected.at) == ("invalid_arguments", (7, 26), 7)
    assert (rejected.raw, rejected.expected) == ("<call>f{'a'}</call>", READABLE)
    assert rejected.message.startswith("Call to f rejected: the arguments are invalid: they are not JSON (")


def test_readable_arguments_stay() -> None:
    events: list[Event] = [ToolCallStart(0, "f"), ToolCallArguments(0, "{}"), ToolCallEnd(0, (0, 5))]
    assert unreadable_rejected(events) == events
