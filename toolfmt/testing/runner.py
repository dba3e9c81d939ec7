"""Run a target on one output, and check every applicable invariant.

The fuzzer and the shrinker use it. Which invariants apply depends on the kind of the `drawing.GeneratedOutput`, and
which can be checked depends on what the target returns.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial

from toolfmt.formats import get
from toolfmt.testing import damaging, invariants
from toolfmt.testing.broken import LawBroken
from toolfmt.testing.drawing import GeneratedOutput
from toolfmt.testing.laws import told_lines
from toolfmt.testing.material import frame
from toolfmt.testing.outcome import ParserOutcome
from toolfmt.testing.targets import Target, Way

_WHOLE = ", of a call as it is written"


def broken_by(
    target: Target, answer: GeneratedOutput, ways: Sequence[Way] = ()
) -> tuple[list[LawBroken], ParserOutcome | None]:
    """Return the invariants that a target violates, whole and in these chunks, and its result for the whole output."""
    whole, *others = target.read([[answer.text], *ways], answer.tools)
    if isinstance(whole, LawBroken):
        # Worse than the same bug for text that models should not write.
        if whole.law == "never-raises" and answer.kind in ("calls", "corpus"):
            whole.kind += _WHOLE
        return [whole.about(answer.text)], None
    broken = list(_of_whole(answer, whole))
    for way, other in zip(ways, others, strict=False):
        if isinstance(other, LawBroken):
            broken.append(other.about(answer.text, list(way)))
            continue
        try:
            invariants.same(whole, other)
        except LawBroken as differs:
            differs.should = told_lines(whole)
            broken.append(differs.about(answer.text, list(way), told_lines(other)))
    return broken, whole


def _of_whole(answer: GeneratedOutput, told: ParserOutcome) -> Iterator[LawBroken]:
    for judge in _judges(answer, told):
        try:
            judge()
        except LawBroken as broken:
            yield broken.about(answer.text, None, told_lines(told))


def _judges(answer: GeneratedOutput, told: ParserOutcome) -> Iterator[Callable[[], None]]:
    yield partial(invariants.shape, told.events)
    yield partial(invariants.json_arguments, told.events)
    expected = answer.expected
    if answer.kind == "prose":
        yield partial(invariants.prose, told, answer.last)
    elif answer.kind == "joined":
        yield partial(invariants.not_joined, told, damaging.VALUES, partial(damaging.unseen, answer.format))
    elif expected is not None:
        yield partial(invariants.cut_short if answer.kind == "cut" else invariants.written, told, expected)
    if answer.kind in ("prose", "soup", "damaged") or told.placed:
        yield partial(invariants.nothing_lost, answer.text, told, frame(get(answer.format)))
