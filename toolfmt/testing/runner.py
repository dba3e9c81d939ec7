"""Run a target on one output, and check every applicable invariant.

The fuzzer and the shrinker use it. Which invariants apply depends on the kind of the `drawing.GeneratedOutput`, and
which can be checked depends on what the target returns.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial

from toolfmt.formats import get
from toolfmt.testing import damaging, invariants
from toolfmt.testing.broken import InvariantViolation
from toolfmt.testing.checks import outcome_lines
from toolfmt.testing.drawing import GeneratedOutput
from toolfmt.testing.material import dropped
from toolfmt.testing.outcome import ParserOutcome
from toolfmt.testing.targets import Target, Way

_WHOLE = ", of a call as it is written"


def broken_by(
    target: Target, answer: GeneratedOutput, ways: Sequence[Way] = ()
) -> tuple[list[InvariantViolation], ParserOutcome | None]:
    """Return the invariants that a target violates, whole and in these chunks, and its result for the whole output."""
    whole, *others = target.read([[answer.text], *ways], answer.tools)
    if isinstance(whole, InvariantViolation):
        # Worse than the same bug for text that models should not write.
        if whole.invariant == "never-raises" and answer.kind in ("calls", "corpus"):
            whole.kind += _WHOLE
        return [whole.about(answer.text)], None
    broken = list(_of_whole(answer, whole))
    for way, other in zip(ways, others, strict=False):
        if isinstance(other, InvariantViolation):
            broken.append(other.about(answer.text, list(way)))
            continue
        try:
            invariants.same(whole, other)
        except InvariantViolation as differs:
            differs.expected = outcome_lines(whole)
            broken.append(differs.about(answer.text, list(way), outcome_lines(other)))
    return broken, whole


def _of_whole(answer: GeneratedOutput, outcome: ParserOutcome) -> Iterator[InvariantViolation]:
    for judge in _judges(answer, outcome):
        try:
            judge()
        except InvariantViolation as broken:
            yield broken.about(answer.text, None, outcome_lines(outcome))


def _judges(answer: GeneratedOutput, outcome: ParserOutcome) -> Iterator[Callable[[], None]]:
    yield partial(invariants.shape, outcome.events)
    yield partial(invariants.json_arguments, outcome.events)
    expected = answer.expected
    if answer.kind == "prose":
        yield partial(invariants.prose, outcome, answer.last)
    elif answer.kind == "joined":
        yield partial(invariants.not_joined, outcome, damaging.VALUES, partial(damaging.unseen, answer.format))
    elif expected is not None:
        yield partial(invariants.cut_short if answer.kind == "cut" else invariants.written, outcome, expected)
    if answer.kind in ("prose", "soup", "damaged") or outcome.placed:
        yield partial(invariants.nothing_lost, answer.text, outcome, dropped(get(answer.format)))
