"""What the driver looks for in the answers of one format, made once a format: sets of literals, and what they mean."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache

from toolfmt.formats.engines.engine import Engine, Inner
from toolfmt.formats.scanner.literals import Literals, literals
from toolfmt.formats.scanner.scanner import BLANK_LINES

CODE = "```"
FENCES = (CODE, "````", "`````", "~~~", "~~~~")
"""What opens and closes a fence, at the beginning of a line; one is closed by its own sign, as often at least."""
_INDENTS = ("", " ", "  ", "   ", "    ", "\t")
_CONTROL = 3
"""A literal at least so long is a marker, not a bracket."""


@dataclass(frozen=True, slots=True, eq=False)
class Markers:
    """The literals of a format, by what they do."""

    reasoning: Mapping[str, tuple[str, ...]]
    """Openers of reasoning blocks, each with its closers."""
    ignored_markers: frozenset[str]
    """What says nothing, wherever it stands."""
    ignored_at_start: frozenset[str]
    """What says nothing where the answer begins with it."""
    content_markers: Mapping[str, str]
    """What opens the part for the user, with what closes it."""
    start_only_openers: tuple[str, ...]
    framing: frozenset[str]
    """What opens a frame of calls."""
    calls: frozenset[str]
    """What a call begins with, framed or not."""
    frame_closers: frozenset[str]
    ends: tuple[str, ...]
    """What a call may be cut in: the markers of calls, and a fence."""
    inner: Inner
    at_start: Literals
    """What is looked for where the answer begins, or goes on behind a call or a block."""
    between: frozenset[str]
    """Openers of reasoning and of messages that may stand behind content."""
    messages: tuple[str, ...]
    """What another message begins with in reasoning that was not closed."""
    in_content: Literals
    opener_in: Mapping[str, str]
    """Of what is looked for in content that which holds more than an opener: the opener."""
    brackets: frozenset[str]
    """Of that, what a call without a frame begins with and programs are full of: brackets, a plain word."""
    in_answers: frozenset[str]
    """All literals of the format that stand in answers."""
    reasoning_closers: frozenset[str]
    saying_nothing: Literals
    residue: Literals
    """What says nothing right behind a call, with nothing else in its line."""
    again: frozenset[str]
    """Of that, closers: they say nothing whatever follows."""
    one_call: Literals
    """What opens one call behind the opener of a frame."""
    of_calls: Literals
    """What only calls hold, behind the opener of their frame; or what ends the look for it."""
    resuming: Literals
    """Where reading may go on after a call that went wrong."""
    of_answers: frozenset[str]
    """What belongs to the answer if the prompt ends with it, not to the header before it."""


def markers_of(
    engine: Engine,
    *,
    reasoning_read: tuple[tuple[str, str], ...],
    between: tuple[str, ...],
    ignored_markers: tuple[str, ...],
    ignored_at_start: tuple[str, ...],
    content_markers: tuple[tuple[str, str], ...],
) -> Markers:
    """The markers of a format, gathered from its engine and the fields of its record."""
    openers, unframed, start_only = engine.openers, engine.unframed_openers, engine.start_only_openers
    reasoning: dict[str, tuple[str, ...]] = {}
    for opener, closer in reasoning_read:
        reasoning[opener] = (*reasoning.get(opener, ()), closer)
    closers = tuple(closer for _, closer in reasoning_read)
    ignored_at_start = (*closers, *ignored_at_start)
    marks = (*openers, *ignored_markers)
    of_content = tuple(mark for pair in content_markers for mark in pair)
    in_line = (*unframed, *(mark for mark in marks if mark.startswith(unframed or "\0")))
    opener_in = {"\n" + mark: mark for mark in in_line}
    quoting = ("`", "\n`", "```")
    opener_in |= {
        begin + mark: mark for mark in (*marks, *between) for begin in quoting if len(begin) < 3 or mark[0] != "`"
    }
    # A bracket alone closes a frame, but shows nothing in a call that went wrong.
    frame_closers = tuple("}]" if closer == "]" else closer for closer in engine.closers)
    inner = engine.inner
    messages = ignored_markers if start_only else ()
    of_calls = [mark for mark in (*inner.openers, *inner.closers, *engine.closers) if len(mark) >= _CONTROL]
    return Markers(
        reasoning=reasoning,
        ignored_markers=frozenset(ignored_markers),
        ignored_at_start=frozenset(ignored_at_start),
        content_markers=dict(content_markers),
        start_only_openers=start_only,
        framing=frozenset((*openers, *start_only)),
        calls=frozenset((*openers, *start_only, *unframed)),
        frame_closers=frozenset(frame_closers),
        ends=(*engine.closers, *inner.closers, *inner.skipped, *inner.openers, *openers, CODE),
        inner=inner,
        at_start=literals(*marks, *start_only, *unframed, *reasoning, *ignored_at_start, *of_content),
        between=frozenset(between),
        messages=tuple(" " + mark for mark in start_only if mark not in openers),
        in_content=literals(*marks, *opener_in, *between),
        opener_in=opener_in,
        brackets=frozenset("\n" + mark for mark in unframed if "<" not in mark and mark != CODE),
        in_answers=frozenset(
            (*marks, *unframed, *engine.closers, *inner.openers, *inner.closers, *reasoning, *closers)
        ),
        reasoning_closers=frozenset(closers),
        residue=literals(*engine.residue),
        again=frozenset(engine.residue) & {*engine.closers, *inner.closers},
        saying_nothing=literals(*ignored_markers, *closers),
        one_call=literals(*inner.openers),
        of_calls=literals(*of_calls, *openers, *BLANK_LINES),
        resuming=literals(*frame_closers, *openers, *inner.openers, *inner.closers, *(messages or BLANK_LINES)),
        of_answers=frozenset(mark.strip() for mark in (*marks, *reasoning)),
    )


@dataclass(frozen=True, slots=True)
class Sought:
    """What the driver looks for in one answer.

    A call may also begin with the name of a declared tool and the sign behind it, where the format lets it stand alone:
    at the beginning of the answer or of a line that is not in a fence.
    """

    fences: bool
    """Whether calls may look like lines of a program, so that it counts what stands in a fence."""
    at_start: Literals
    in_content: Literals
    at_fence: Literals
    """As `in_content`, in the line that opens a fence: a call without a frame may stand right behind it."""
    in_program: Literals
    """As `in_content`, inside a fence."""
    calls: frozenset[str]
    opener_in: Mapping[str, str]


@lru_cache(maxsize=64)
def sought(marks: Markers, names: tuple[str, ...]) -> Sought:
    """The markers of a format, and the names by which calls may begin in it."""
    content = marks.in_content
    if not names and not marks.brackets:
        return Sought(False, marks.at_start, content, content, content, marks.calls, marks.opener_in)
    calls = marks.calls | {*names, CODE} if names else marks.calls
    openers = {*FENCES, *(mark for mark in marks.calls if mark.startswith(CODE))}
    fences = {"\n" + blanks + fence: fence for fence in openers for blanks in _INDENTS}
    lines = {"\n" + name: name for name in names}
    plain = content.literals - marks.brackets
    return Sought(
        fences=True,
        at_start=literals(*marks.at_start.literals, *names, *(FENCES if CODE in calls else ())),
        in_content=literals(*content.literals, *lines, *fences, *openers),
        at_fence=literals(*(plain if CODE in calls else content.literals), *fences, *openers, "\n"),
        in_program=literals(*plain, *fences, *openers),
        calls=calls,
        opener_in={**marks.opener_in, **lines, **fences},
    )
