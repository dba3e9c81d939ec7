"""What ends a turn in this template: it closes no call, though it stands behind the last one."""

from __future__ import annotations

from toolfmt.inspect.derivation.cutting import markers
from toolfmt.inspect.derivation.seen import Rendered
from toolfmt.inspect.probe.conversations import REPLY, STAND_INS


def turn_ends(rendered: Rendered) -> frozenset[str]:
    """The markers behind an answer in words, and the stand-in for the token that ends a sequence."""
    behind = rendered.spoken.rpartition(REPLY)[2] if REPLY in rendered.spoken else ""
    return frozenset((*markers(behind), STAND_INS["eos_token"]))


def closing(after: str, ends: frozenset[str], *, opened: bool) -> tuple[str, tuple[str, ...]]:
    """The marker behind calls, which closes what has been opened, unless the turn ends with it; and those that say
    nothing."""
    marks = markers(after)
    if not opened or not marks or marks[0] in ends:
        return "", tuple(marks)
    return marks[0], tuple(marks[1:])
