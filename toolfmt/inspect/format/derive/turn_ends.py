"""What ends a turn in this template: it closes no call, though it stands behind the last one."""

from __future__ import annotations

import itertools

from toolfmt.inspect.format.derive.rendered_calls import Rendered
from toolfmt.inspect.format.derive.text_cuts import is_marker, markers
from toolfmt.inspect.probe.conversations import REPLY, STAND_INS

_NEAR = 200


def turn_ends(rendered: Rendered) -> frozenset[str]:
    """The markers behind an answer in words, and the stand-in for the token that ends a sequence."""
    behind = rendered.spoken.rpartition(REPLY)[2] if REPLY in rendered.spoken else ""
    return frozenset((*saying_nothing(behind), STAND_INS["eos_token"]))


def closing(after: str, ends: frozenset[str], *, opened: bool) -> tuple[str, tuple[str, ...]]:
    """The marker behind calls, which closes what has been opened, unless the turn ends with it; and those that say
    nothing."""
    marks = markers(after)
    if not opened or not marks or marks[0] in ends:
        return "", saying_nothing(after)
    return marks[0], saying_nothing(after.lstrip()[len(marks[0]) :])


def saying_nothing(text: str) -> tuple[str, ...]:
    """The markers that a text begins with, up to anything else."""
    return tuple(itertools.takewhile(is_marker, markers(text[:_NEAR])))
