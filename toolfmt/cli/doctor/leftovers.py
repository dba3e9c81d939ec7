"""What a server left in the text of a response: whole calls, markers of calls, markers of reasoning."""

from __future__ import annotations

from functools import cache

from toolfmt.cli.doctor.probes import TOOL_NAMES, TOOLS
from toolfmt.formats import Parser, ToolCallFormat, formats
from toolfmt.formats.format import COMMON_REASONING
from toolfmt.formats.markers import TURN_ENDS
from toolfmt.formats.parser.detect import detect
from toolfmt.formats.parser.fallback import AUTO
from toolfmt.messages.events import ToolCallEnd, ToolCallStart

_SHORTEST = 6
"""Minimum length of a marker. Shorter ones are brackets and words."""
_LONGEST = 5_000
"""Maximum number of characters that are searched. The longest expected response has about 2,000."""


def left_calls(text: str, format: ToolCallFormat | None) -> tuple[int, str]:
    """Return the number of calls of the series' tools in a text, and the format that they are in."""
    text = text[:_LONGEST]
    if format is not None and (count := _calls(text, format)):
        return count, format.name
    if count := _calls(text, AUTO):
        found = [one.format.name for one in detect(text) if TOOL_NAMES.issuperset(one.names)]
        return count, found[0] if found else ""
    return 0, ""


def _calls(text: str, format: ToolCallFormat) -> int:
    parser = Parser(format, tools=TOOLS)
    events = [*parser.feed(text), *parser.finish()]
    names = {event.index: event.name for event in events if isinstance(event, ToolCallStart)}
    return sum(isinstance(event, ToolCallEnd) and names[event.index] in TOOL_NAMES for event in events)


def left_marker(text: str) -> str:
    """Return the first marker of calls or turns in a text, or an empty string."""
    return _first(text[:_LONGEST], _call_markers())


def left_reasoning(text: str) -> str:
    """Return the first marker of reasoning in a text, or an empty string."""
    return _first(text[:_LONGEST], _reasoning_markers())


def _first(text: str, markers: frozenset[str]) -> str:
    found = {text.index(marker): marker for marker in sorted(markers) if marker in text}
    return found[min(found)] if found else ""


@cache
def _call_markers() -> frozenset[str]:
    engines = [format.engine for format in formats()]
    literals = {
        literal
        for engine in engines
        for group in (
            engine.openers,
            engine.unframed_openers,
            engine.closers,
            engine.inner.openers,
            engine.inner.closers,
        )
        for literal in group
    }
    return frozenset(_special({*literals, *TURN_ENDS}))


@cache
def _reasoning_markers() -> frozenset[str]:
    pairs = [pair for format in formats() for pair in format.reasoning]
    return frozenset(_special({marker for pair in (*COMMON_REASONING, *pairs) for marker in pair})) - _call_markers()


def _special(literals: set[str]) -> set[str]:
    """Return those that occur in no ordinary text."""
    return {one for one in literals if len(one) >= _SHORTEST and one[0] in "<[◁" and "\n" not in one}
