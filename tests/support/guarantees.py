"""Shared by the tests of the guarantees: parsing in chunks, and the checks for any text (`toolfmt.testing`)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from toolfmt.formats import Parser
from toolfmt.messages.events import Event, merge
from toolfmt.testing.invariants import json_arguments as check_arguments
from toolfmt.testing.invariants import shape as check_shape
from toolfmt.testing.invariants import tiling as check_tiling
from toolfmt.testing.material import cut, dropped

__all__ = ["Options", "check_arguments", "check_copy", "check_shape", "check_tiling", "cut", "dropped", "events_of"]

Options = dict[str, Any]


def events_of(format: str, chunks: Iterable[str], **options: Any) -> list[Event]:
    """The merged events of an output that arrives in these chunks."""
    parser = Parser(format, **options)
    events = [event for chunk in chunks for event in parser.feed(chunk)]
    return merge(events + parser.finish())


def check_copy(format: str, text: str, at: int, **options: Any) -> None:
    """A copy of a parser that has read a part of a text continues as the parser does, and neither affects the other.

    At an odd position the text before it comes in two chunks, and what follows too.
    """
    parser = Parser(format, **options)
    before, after = (at // 2, at + (len(text) - at) // 2) if at % 2 else (0, at)
    for piece in filter(None, (text[:before], text[before:at])):
        parser.feed(piece)
    copies = [parser.copy(), parser.copy()]
    copies[0].feed("<tool_call>[{x")
    copies[0].finish()
    rest = (text[at:after], text[after:])
    events = [merge([*one.feed(rest[0]), *one.feed(rest[1]), *one.finish()]) for one in (parser, copies[1])]
    assert events[0] == events[1]
