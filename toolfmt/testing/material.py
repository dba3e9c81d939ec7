"""The literals of a format: generated texts contain them, and invariants ignore them."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache

from toolfmt.formats import ToolCallFormat, get, write

_TAGS = re.compile(r"<[^<>\n]*>|\[/?[A-Z_]+\]|[\w:]+[({]|[)}\]]+|\w+=")


def frame(format: ToolCallFormat) -> list[str]:
    """Return what is neither content nor part of a call: markers of reasoning and ignored ones."""
    pairs = (*format.reasoning_read, *format.content_markers)
    return [
        *format.ignored_markers,
        *format.ignored_at_start,
        *format.engine.trailing_markers,
        *(marker for pair in pairs for marker in pair),
    ]


def dropped(format: ToolCallFormat) -> list[str]:
    """Return every text that may be in no event: as `frame`, tokens that end a turn, and empty frames."""
    marks = format.markers
    return [
        *frame(format),
        *marks.trailing_markers.literals,
        *(opener + inside + closer for opener in marks.framing for inside in ("", "[]") for closer in marks.ends),
    ]


@cache
def markers(name: str) -> list[str]:
    """Return every literal in a written call, and the other markers of outputs in the format."""
    return literals_of(get(name))


def literals_of(format: ToolCallFormat) -> list[str]:
    """Return the same for a format that may not be registered."""
    found = _TAGS.findall(write(format, [("f", {"s": "x", "n": 1}), ("f", {})]))
    return sorted({*found, *format.openers, *format.closers, *format.unframed_openers, *frame(format)})


@cache
def call_markers(name: str) -> tuple[str, ...]:
    """Return the literals of a written call, except those of one or two characters, to measure coverage."""
    format = get(name)
    written = write(format, [("get_weather", {"city": "Oslo", "days": 1}), ("now", {})])
    literals = {*format.openers[:1], *format.closers[:1], *format.engine.inner.openers, *format.engine.inner.closers}
    tags = (tag for tag in _TAGS.findall(written) if "Oslo" not in tag and "city" not in tag and "now" not in tag)
    found = {literal.strip() for literal in (*literals, *tags) if literal in written}
    return tuple(sorted(literal for literal in found if len(literal) > 2))


def cut(text: str, places: Iterable[int]) -> list[str]:
    """Return the text split at these offsets."""
    ends = sorted({place % (len(text) + 1) for place in places})
    return [text[begin:end] for begin, end in zip([0, *ends], [*ends, len(text)], strict=True)]
