"""Derive the format of a template that is not in the registry: verify every candidate and return the best one.

Called if no known format reads the calls that a template renders. Known formats are not used here.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from toolfmt.errors import BadFormat, CannotWrite
from toolfmt.formats import ToolCallFormat
from toolfmt.formats.serialization.format_data import check_stored
from toolfmt.inspect.format.derive.candidates import Candidate, Candidates
from toolfmt.inspect.format.derive.reasons import NotDerivable
from toolfmt.inspect.format.derive.verification import Proof, Unproven, prove
from toolfmt.inspect.format.read_back import rendered_variant
from toolfmt.inspect.probe.renders import Renders
from toolfmt.inspect.report.turn_shape import TurnShape


@dataclass(frozen=True)
class Derived:
    """A format derived from a template and verified on calls and outputs that it was not derived from.

    Attributes:
        format: The format, None if none can be derived.
        kind: The syntax of calls, described in words.
        proof: What was read back.
        why_not: The reason why none can be derived, as a clause.
        known: A registry format that reads these calls too, if that was tested. Prefer it: it handles output of models
            that differs from their history.
    """

    format: ToolCallFormat | None
    kind: str = ""
    proof: Proof | None = None
    why_not: str = ""
    known: str = ""


def derive_from(renders: Renders, shape: TurnShape | None) -> Derived:
    """Return the format of the calls that the template renders in this shape (None if it renders no call).

    Raise only `LimitHit`.
    """
    if shape is None:
        return Derived(None, why_not="the template does not render toolfmt's test call with its name and argument")
    try:
        derivation = Candidates(renders, shape)
    except NotDerivable as why:
        return Derived(None, why_not=str(why))
    verified: list[tuple[tuple[bool, int], Derived]] = []
    unproven: list[Unproven] = []
    for candidate in derivation.candidates():
        try:
            proof = prove(renders, shape, candidate.format, derivation.parallel)
            _check_stored(candidate.format)
        except NotDerivable as why:
            # A format with invalid markers was derived after all: that is more informative than no derivation.
            unproven.append(why if isinstance(why, Unproven) else Unproven(str(why), 1))
            continue
        rank = (_as_rendered(renders, shape, candidate, derivation.parallel), -len(proof.limits))
        verified.append((rank, Derived(candidate.format, candidate.kind, proof)))
        if rank[0]:
            break
    if verified:
        return max(verified, key=lambda found: found[0])[1]
    return Derived(None, why_not=_most_informative(unproven, derivation.rejections))


def _check_stored(format: ToolCallFormat) -> None:
    """Reject a format that cannot be stored in a file, since reports contain the stored format."""
    try:
        check_stored(format)
    except BadFormat as fault:
        raise Unproven(f"no file can hold the format ({str(fault).partition(': ')[2]})", 1) from None


def _as_rendered(renders: Renders, shape: TurnShape, candidate: Candidate, parallel: bool) -> bool:
    """Return whether the format writes calls byte for byte as the template does."""
    try:
        return rendered_variant(renders, candidate.format, shape, parallel=parallel) is not None
    except CannotWrite:
        return False


def _most_informative(unproven: Sequence[Unproven], rejections: Sequence[tuple[str, str]]) -> str:
    """Return the most informative reason.

    It is the failure of the format that got farthest, if one read a call at all; else the last reason for a kind of
    syntax that does not match.
    """
    farthest = max(unproven, key=lambda why: why.right, default=None)
    if rejections and (farthest is None or not farthest.right):
        return rejections[-1][1]
    return str(farthest) if farthest is not None else "the calls are not in a syntax that toolfmt can derive"
