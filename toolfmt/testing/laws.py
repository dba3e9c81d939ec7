"""The laws as functions over anyone's parser, for a test suite: each reads an answer, and raises `LawBroken`.

`make_parser(tools)` makes a parser for one answer (`toolfmt.testing.outcome`): an object with `feed` and `finish`, or a
callable that reads a whole answer. Each function says what a parser without a stream, without offsets (spans) or
without rejections is held to. Where a law speaks of a format, give its name: it tells which markers frame an answer.
Nothing here needs hypothesis.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any

from toolfmt.formats import get, write
from toolfmt.testing import damaging, invariants
from toolfmt.testing.broken import LawBroken
from toolfmt.testing.corpus import lines_of, parts_of
from toolfmt.testing.invariants import Expected
from toolfmt.testing.material import frame
from toolfmt.testing.outcome import MakeParser, ParserOutcome, Tools, read

LAWS = {
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
"""What `LawBroken.law` can be."""


def check_never_raises(make_parser: MakeParser, text: str, *, tools: Tools = None) -> None:
    """Law 2: whatever a model writes, whole and a character at a time, the parser raises nothing. For every parser."""
    for pieces in ([text], list(text)):
        if not read(make_parser, pieces, tools).streams:
            return


def check_shape(make_parser: MakeParser, text: str, *, tools: Tools = None) -> None:
    """Law 4: calls are start, arguments*, then end or rejected; indexes run in order of appearance. For every parser;
    one that reads whole answers cannot break it."""
    with _about(make_parser, text, tools) as told:
        invariants.shape(told.events)


def check_arguments_json(make_parser: MakeParser, text: str, *, tools: Tools = None) -> None:
    """Law 5: the arguments of every call that ended are one JSON object. For every parser."""
    with _about(make_parser, text, tools) as told:
        invariants.json_arguments(told.events)


def check_nothing_lost(make_parser: MakeParser, text: str, format: str, *, tools: Tools = None) -> None:
    """Law 3: nothing of an answer is lost.

    By offsets, where the parser tells them (`start` of text, `span` of calls and rejections). A parser without them is
    held to it where it tells neither a call nor a rejection: all of the answer but the markers of `format` that frame
    it is then in its text.
    """
    with _about(make_parser, text, tools) as told:
        invariants.nothing_lost(text, told, frame(get(format)))


def check_chunking(
    make_parser: MakeParser, text: str, *, tools: Tools = None, pieces: Iterable[Sequence[str]] | None = None
) -> None:
    """Law 1: how an output is split into chunks changes nothing.

    `pieces` are ways to cut it; by default a character at a time, and in two at every place (of a long answer, at 400).
    A parser without offsets is held to what a client ends up with: content, reasoning, calls, reasons of rejections.
    One that reads whole answers has nothing to show here, and passes.
    """
    whole = read(make_parser, [text], tools)
    if not whole.streams:
        return
    for way in every_cut(text) if pieces is None else pieces:
        now = read(make_parser, way, tools)
        try:
            invariants.same(whole, now)
        except LawBroken as broken:
            broken.should = told_lines(whole)
            raise broken.about(text, list(way), told_lines(now)) from None


def check_round_trip(
    make_parser: MakeParser,
    format: str,
    calls: Sequence[tuple[str, Any]],
    *,
    tools: Tools = None,
    before: str = "",
    after: str = "",
) -> None:
    """Law 7: calls that are written in a format, with prose around them, are read as these calls and this prose.

    `calls` are names and arguments. Values are compared as JSON (types count, 1 and 1.0 are one number), prose but for
    the blanks beside the calls; a parser that tells calls alone is held to the calls. Raises `CannotWrite` where the
    format has no way to carry a call, and `LawBroken`.
    """
    text = before + write(format, calls, tools) + after
    expected = Expected(tuple(calls), before, after)
    with _about(make_parser, text, tools) as told:
        invariants.written(told, expected)


def check_prose(make_parser: MakeParser, text: str, *, tools: Tools = None) -> None:
    """Law 10: a text that calls nothing, whatever it mentions, makes no call, and its last line is told as text.

    For every parser; of one that tells calls alone, that there are none.
    """
    last = next((line for line in reversed(text.splitlines()) if line.strip()), "")
    with _about(make_parser, text, tools) as told:
        invariants.prose(told, last)


def check_cut(make_parser: MakeParser, format: str, calls: Sequence[tuple[str, Any]], *, tools: Tools = None) -> None:
    """Law 12: wherever written calls are cut, no call is told that they do not hold. For every parser: where there are
    no rejections, the call that was cut is not told."""
    text = write(format, calls, tools)
    for end in range(len(text)):
        with _about(make_parser, text[:end], tools) as told:
            invariants.cut_short(told, Expected(tuple(calls)))


def check_not_joined(make_parser: MakeParser, format: str) -> None:
    """Law 12: a stretch of text lost between two values (a letter, or up to 24 characters) never makes one value of
    them. For every parser; damage that no reader can see is left out."""
    for damage in damaging.damages(format):
        with _about(make_parser, damage.text, damaging.TOOLS) as told:
            invariants.not_joined(told, damaging.VALUES, partial(damaging.unseen, format))


def told_lines(told: ParserOutcome) -> list[str]:
    """What was told in the lines of a corpus case; without spans that nobody told."""
    lines = lines_of(parts_of(told.events))
    return lines if told.placed else [line.replace(" 0-0", "") if line.startswith("end ") else line for line in lines]


def every_cut(text: str, most: int = 400) -> Iterator[list[str]]:
    """A text a character at a time, and in two at every place, or at so many of them."""
    yield list(text)
    step = max(1, -(-len(text) // most))
    yield from ([text[:place], text[place:]] for place in range(1, len(text), step))


@contextmanager
def _about(make_parser: MakeParser, text: str, tools: Tools) -> Iterator[ParserOutcome]:
    """What a parser tells of an answer; a law that is broken then knows of which."""
    told = read(make_parser, [text], tools)
    try:
        yield told
    except LawBroken as broken:
        raise broken.about(text, None, told_lines(told)) from None


__all__ = [
    "LAWS",
    "Expected",
    "LawBroken",
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
    "told_lines",
]
