"""Detect what ends a turn in this template. Such a marker may follow the last call, but does not end calls."""

from __future__ import annotations

import itertools

from toolfmt.inspect.format.derive.rendered_calls import Rendered
from toolfmt.inspect.format.derive.text_cuts import is_marker, markers
from toolfmt.inspect.probe.conversations import PLACEHOLDERS, REPLY

_NEAR = 200


def turn_ends(rendered: Rendered) -> frozenset[str]:
    """Return the markers after a text response, and the substitute for the end-of-sequence token."""
    after = rendered.text_response.rpartition(REPLY)[2] if REPLY in rendered.text_response else ""
    return frozenset((*saying_nothing(after), PLACEHOLDERS["eos_token"]))


def closing(after: str, ends: frozenset[str], *, opened: bool) -> tuple[str, tuple[str, ...]]:
    """Return the marker after calls that ends them, and the markers without a meaning.

    The first is empty if nothing was opened or if the marker ends the turn.
    """
    marks = markers(after)
    if not opened or not marks or marks[0] in ends:
        return "", saying_nothing(after)
    return marks[0], saying_nothing(after.lstrip()[len(marks[0]) :])


def saying_nothing(text: str) -> tuple[str, ...]:
    """Return the markers that a string starts with, up to anything else."""
    return tuple(itertools.takewhile(is_marker, markers(text[:_NEAR])))
