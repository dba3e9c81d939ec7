"""The invariants as functions for any parser's test suite: each parses an output and raises `InvariantViolation`.

`make_parser(tools)` creates a parser for one output (`toolfmt.testing.outcome`): an object with `feed` and `finish`, or
a callable that parses a whole output. Each function documents what applies to a parser without streaming, offsets
(spans) or rejections. If a function takes a format, pass its name: it defines the markers. This module does not need
hypothesis.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any

from toolfmt.formats import get, write
from toolfmt.testing import damaging, invariants
from toolfmt.testing.broken import InvariantViolation
from toolfmt.testing.corpus import lines_of, parts_of
from toolfmt.testing.invariants import Expected
from toolfmt.testing.material import dropped
from toolfmt.testing.outcome import MakeParser, ParserOutcome, Tools, read

INVARIANTS = {
    "never-raises": "the parser raises nothing, whatever a model writes",
    "shape": "a call is start, arguments*, then end or rejected, and indexes run 0, 1, 2 …",
    "arguments-json": "the arguments of an ended call are one JSON object",
    "round-trip": "a written output is parsed to exactly its calls",
    "nothing-lost": "text outside of calls is emitted as content or reasoning",
    "chunking": "how an output is split into chunks changes nothing",
    "prose": "text that mentions, quotes or resembles a call is not one, and stays text",
    "cut": "an output that was cut off emits no unfinished call",
    "joined": "damage never joins two arguments into one value",
    "in-time": "an output is parsed within its time, and the parser can be used again",
}
"""The values of `InvariantViolation.invariant`."""


def check_never_raises(make_parser: MakeParser, text: str, *, tools: Tools = None) -> None:
    """Invariant 2: the parser never raises, for any output, whole and by character.

    Applies to every parser.

    Args:
        make_parser: Creates a parser for one output.
        text: The output.
        tools: The tools for the parser.

    Raises:
        InvariantViolation: The parser violates the invariant.
    """
    for pieces in ([text], list(text)):
        if not read(make_parser, pieces, tools).streams:
            return


def check_shape(make_parser: MakeParser, text: str, *, tools: Tools = None) -> None:
    """Invariant 4: calls are start, arguments*, then end or rejected; indexes follow the order of appearance.

    Applies to every parser. One that parses whole outputs cannot violate it.

    Args:
        make_parser: Creates a parser for one output.
        text: The output.
        tools: The tools for the parser.

    Raises:
        InvariantViolation: The parser violates the invariant.
    """
    with _about(make_parser, text, tools) as outcome:
        invariants.shape(outcome.events)


def check_arguments_json(make_parser: MakeParser, text: str, *, tools: Tools = None) -> None:
    """Invariant 5: the arguments of every ended call are one JSON object.

    Applies to every parser.

    Args:
        make_parser: Creates a parser for one output.
        text: The output.
        tools: The tools for the parser.

    Raises:
        InvariantViolation: The parser violates the invariant.
    """
    with _about(make_parser, text, tools) as outcome:
        invariants.json_arguments(outcome.events)


def check_nothing_lost(make_parser: MakeParser, text: str, format: str, *, tools: Tools = None) -> None:
    """Invariant 3: nothing of an output is lost.

    Checked by offsets if the parser has them (`start` of text, `span` of calls and rejections). For a parser without
    offsets, it is checked only for results without calls and rejections. Then everything except the markers of `format`
    must be in its text.

    Args:
        make_parser: Creates a parser for one output.
        text: The output.
        format: The name of the format, which defines the markers.
        tools: The tools for the parser.

    Raises:
        InvariantViolation: The parser violates the invariant.
    """
    with _about(make_parser, text, tools) as outcome:
        invariants.nothing_lost(text, outcome, dropped(get(format)))


def check_chunking(
    make_parser: MakeParser, text: str, *, tools: Tools = None, pieces: Iterable[Sequence[str]] | None = None
) -> None:
    """Invariant 1: how an output is split into chunks changes nothing.

    For a parser without offsets, this compares what a client gets: content, reasoning, calls, and reasons of
    rejections. A parser of whole outputs always passes.

    Args:
        make_parser: Creates a parser for one output.
        text: The output.
        tools: The tools for the parser.
        pieces: Ways to split the output. The default is character by character, and in two at every position (at 400
            positions of a long output).

    Raises:
        InvariantViolation: The parser violates the invariant.
    """
    whole = read(make_parser, [text], tools)
    if not whole.streams:
        return
    for way in every_cut(text) if pieces is None else pieces:
        now = read(make_parser, way, tools)
        try:
            invariants.same(whole, now)
        except InvariantViolation as broken:
            broken.expected = outcome_lines(whole)
            raise broken.about(text, list(way), outcome_lines(now)) from None


def check_round_trip(
    make_parser: MakeParser,
    format: str,
    calls: Sequence[tuple[str, Any]],
    *,
    tools: Tools = None,
    before: str = "",
    after: str = "",
) -> None:
    """Invariant 7: calls written in a format, with text around them, are parsed to these calls and this text.

    Values are compared as JSON (types count, 1 and 1.0 are equal), text except for whitespace next to the calls. For a
    parser that returns only calls, only these are compared.

    Args:
        make_parser: Creates a parser for one output.
        format: The name of the format.
        calls: Pairs of a tool's name and its arguments.
        tools: The tools for the parser.
        before: The text before the calls.
        after: The text after the calls.

    Raises:
        InvariantViolation: The parser violates the invariant.
        CannotWrite: The format cannot represent a call.
    """
    text = before + write(format, calls, tools) + after
    expected = Expected(tuple(calls), before, after)
    with _about(make_parser, text, tools) as outcome:
        invariants.written(outcome, expected)


def check_prose(make_parser: MakeParser, text: str, *, tools: Tools = None) -> None:
    """Invariant 10: for text without calls, the result has no call, and the last line is content.

    Applies to every parser. For one that returns only calls, there must be none.

    Args:
        make_parser: Creates a parser for one output.
        text: The output.
        tools: The tools for the parser.

    Raises:
        InvariantViolation: The parser violates the invariant.
    """
    last = next((line for line in reversed(text.splitlines()) if line.strip()), "")
    with _about(make_parser, text, tools) as outcome:
        invariants.prose(outcome, last)


def check_cut(make_parser: MakeParser, format: str, calls: Sequence[tuple[str, Any]], *, tools: Tools = None) -> None:
    """Invariant 12: wherever written calls are cut, the result has no other call.

    Applies to every parser. One without rejections must leave out the cut call.

    Args:
        make_parser: Creates a parser for one output.
        format: The name of the format.
        calls: Pairs of a tool's name and its arguments.
        tools: The tools for the parser.

    Raises:
        InvariantViolation: The parser violates the invariant.
        CannotWrite: The format cannot represent a call.
    """
    text = write(format, calls, tools)
    for end in range(len(text)):
        with _about(make_parser, text[:end], tools) as outcome:
            invariants.cut_short(outcome, Expected(tuple(calls)))


def check_not_joined(make_parser: MakeParser, format: str) -> None:
    """Invariant 12: text lost between two values (a character, or up to 24) never joins them into one value.

    Applies to every parser. Undetectable damage is skipped.

    Args:
        make_parser: Creates a parser for one output.
        format: The name of the format.

    Raises:
        InvariantViolation: The parser violates the invariant.
    """
    for damage in damaging.damages(format):
        with _about(make_parser, damage.text, damaging.TOOLS) as outcome:
            invariants.not_joined(outcome, damaging.VALUES, partial(damaging.unseen, format))


def outcome_lines(outcome: ParserOutcome) -> list[str]:
    """Return the result as lines of a corpus case, without spans if the parser has none."""
    lines = lines_of(parts_of(outcome.events))
    return (
        lines if outcome.placed else [line.replace(" 0-0", "") if line.startswith("end ") else line for line in lines]
    )


def every_cut(text: str, most: int = 400) -> Iterator[list[str]]:
    """Yield a string split into characters, and in two at every position, or at this many positions."""
    yield list(text)
    step = max(1, -(-len(text) // most))
    yield from ([text[:place], text[place:]] for place in range(1, len(text), step))


@contextmanager
def _about(make_parser: MakeParser, text: str, tools: Tools) -> Iterator[ParserOutcome]:
    """Return a parser's result for an output, and add the output to `InvariantViolation`."""
    outcome = read(make_parser, [text], tools)
    try:
        yield outcome
    except InvariantViolation as broken:
        raise broken.about(text, None, outcome_lines(outcome)) from None


__all__ = [
    "INVARIANTS",
    "Expected",
    "InvariantViolation",
    "check_arguments_json",
    "check_chunking",
    "check_cut",
    "check_never_raises",
    "check_not_joined",
    "check_nothing_lost",
    "check_prose",
    "check_round_trip",
    "check_shape",
    "every_cut",
    "outcome_lines",
]
