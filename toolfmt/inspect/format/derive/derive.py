"""The format of a template that nobody has written down: every candidate is proven, the best of them is the answer.

The decision asks where no known format reads the calls that a template renders; no known format is asked here.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from toolfmt.errors import BadFormat, CannotWrite
from toolfmt.formats import ToolCallFormat
from toolfmt.formats.stored import check_stored
from toolfmt.inspect.format.derive.candidates import Candidate, Candidates
from toolfmt.inspect.format.derive.reasons import Refused
from toolfmt.inspect.format.derive.verification import Proof, Unproven, prove
from toolfmt.inspect.format.read_back import rendered_variant
from toolfmt.inspect.probe.renders import Renders
from toolfmt.inspect.report.turn_shape import TurnShape


@dataclass(frozen=True)
class Derived:
    """A format that was derived from a template and proven on calls and answers that it was not made from.

    `format` is None where none can be derived, and `why_not` then a clause that says why; else `kind` says in a few
    words how calls are written, and `proof` what was read back. `known` names the format of the registry that reads
    these calls too, where it was asked: prefer that, which knows what models write otherwise than their history shows.
    """

    format: ToolCallFormat | None
    kind: str = ""
    proof: Proof | None = None
    why_not: str = ""
    known: str = ""


def derive_from(renders: Renders, shape: TurnShape | None) -> Derived:
    """The format of the calls that the template renders in this shape; None is a template that renders none.

    Raises nothing but `LimitHit`.
    """
    if shape is None:
        return Derived(None, why_not="the template renders no call with its name and its value as they are given")
    try:
        derivation = Candidates(renders, shape)
    except Refused as why:
        return Derived(None, why_not=str(why))
    proven: list[tuple[tuple[bool, int], Derived]] = []
    unproven: list[Unproven] = []
    for candidate in derivation.candidates():
        try:
            proof = prove(renders, shape, candidate.format, derivation.parallel)
            _check_stored(candidate.format)
        except Refused as why:
            # What has markers that no format may have was derived none the less: that says more than no derivation.
            unproven.append(why if isinstance(why, Unproven) else Unproven(str(why), 1))
            continue
        rank = (_as_rendered(renders, shape, candidate, derivation.parallel), -len(proof.limits))
        proven.append((rank, Derived(candidate.format, candidate.kind, proof)))
        if rank[0]:
            break
    if proven:
        return max(proven, key=lambda found: found[0])[1]
    return Derived(None, why_not=_most_telling(unproven, derivation.refusals))


def _check_stored(format: ToolCallFormat) -> None:
    """A format that no file holds goes into no report: it is rejected here."""
    try:
        check_stored(format)
    except BadFormat as fault:
        raise Unproven(f"no file can hold the format ({str(fault).partition(': ')[2]})", 1) from None


def _as_rendered(renders: Renders, shape: TurnShape, candidate: Candidate, parallel: bool) -> bool:
    """Whether the format writes calls byte for byte as the template does."""
    try:
        return rendered_variant(renders, candidate.format, shape, parallel=parallel) is not None
    except CannotWrite:
        return False


def _most_telling(unproven: Sequence[Unproven], refusals: Sequence[tuple[str, str]]) -> str:
    """Of all the reasons the one to tell: what the format that got farthest failed on, where one read a call at all;
    else the most telling reason of the notations that the calls are not written in, which stands last."""
    farthest = max(unproven, key=lambda why: why.right, default=None)
    if refusals and (farthest is None or not farthest.right):
        return refusals[-1][1]
    return str(farthest) if farthest is not None else "the calls are written in no notation that is known"
