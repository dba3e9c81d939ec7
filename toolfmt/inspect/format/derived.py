"""Analyze calls that no known format parses: find the nearest known format, or derive one from the template.

If a template differs from a known format in the way of a mistake, the template has a bug, and nothing is derived: no
model was trained on the resulting format. A template with markers of its own has its own format, however similar the
rest is.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from toolfmt.formats import ToolCallFormat
from toolfmt.formats.serialization.format_data import to_text
from toolfmt.inspect.format.derive.derive import Derived, derive_from
from toolfmt.inspect.format.near_miss import Nearest, nearest
from toolfmt.inspect.probe.capabilities import Probed
from toolfmt.inspect.probe.conversations import SINGLE, TOOLS
from toolfmt.inspect.probe.renders import Region, Renders
from toolfmt.inspect.report.report import DerivedFormat


@dataclass(frozen=True)
class UnrecognizedCalls:
    """Calls that no known format reads: the nearly matching format, or the one derived from them.

    If neither, `why_not` is the reason as a clause.
    """

    near: Nearest | None = None
    format: ToolCallFormat | None = None
    derived: DerivedFormat | None = None
    why_not: str = ""


def unclaimed(
    renders: Renders, probed: Probed, likely: Sequence[ToolCallFormat], *, derive: bool = True
) -> UnrecognizedCalls:
    """Analyze the calls that this template renders and no known format reads.

    `likely` are the formats that other evidence suggests, the most likely first. With `derive=False` only near ones
    are searched. Raise only `LimitHit`.
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
    """Return the record of a derived and verified format for a report."""
    assert made.format is not None
    assert made.proof is not None
    proof = made.proof
    return DerivedFormat(made.kind, proof.call_sets, proof.outputs, proof.limits, to_text(made.format))
