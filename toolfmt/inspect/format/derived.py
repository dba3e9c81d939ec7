"""What is made of calls that no known format parses: the nearest known format, or one derived from the template itself.

A template that differs from a known format as a mistake does has a fault, and nothing is derived from that: the format
it would give is one that no model was trained on. One with markers of its own has a dialect of its own, however alike
the rest is.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from toolfmt.formats import ToolCallFormat
from toolfmt.formats.stored import to_text
from toolfmt.inspect.format.derive.derive import Derived, derive_from
from toolfmt.inspect.format.near_miss import Nearest, nearest
from toolfmt.inspect.probe.capabilities import Probed
from toolfmt.inspect.probe.conversations import SINGLE, TOOLS
from toolfmt.inspect.probe.renders import Region, Renders
from toolfmt.inspect.report.report import DerivedFormat


@dataclass(frozen=True)
class UnrecognizedCalls:
    """Calls that no known format reads: the format that they are nearly of, or the one that was derived from them; else
    `why_not`, a clause."""

    near: Nearest | None = None
    format: ToolCallFormat | None = None
    derived: DerivedFormat | None = None
    why_not: str = ""


def unclaimed(
    renders: Renders, probed: Probed, likely: Sequence[ToolCallFormat], *, derive: bool = True
) -> UnrecognizedCalls:
    """What the calls are that this template renders and no known format reads; `likely` are the formats that other
    evidence speaks for, the likeliest first; without `derive` only near ones are looked for. Raises nothing but
    `LimitHit`.
    """
    shape = probed.shape
    assert shape is not None
    region = renders.calls(shape, SINGLE, TOOLS)
    near = nearest(region, shape, likely) if isinstance(region, Region) else None
    if near is not None and near.slight:
        return UnrecognizedCalls(near, why_not=f"the calls are nearly those of {near.format.name}, {near.differs}")
    if not derive:
        return UnrecognizedCalls(near)
    made = derive_from(renders, shape)
    if made.format is None or made.proof is None:
        return UnrecognizedCalls(near, why_not=made.why_not)
    return UnrecognizedCalls(format=made.format, derived=record_of(made))


def record_of(made: Derived) -> DerivedFormat:
    """What a report tells of a format that was derived and proven."""
    assert made.format is not None
    assert made.proof is not None
    proof = made.proof
    return DerivedFormat(made.kind, proof.call_sets, proof.answers, proof.limits, to_text(made.format))
