"""Derive a format from a model's template, whether or not a known format reads its calls.

For `toolfmt dev derive`; an inspection derives a format only if no known one parses the calls. The template's code
runs in this process: `toolfmt.model.jobs` runs it in one with limits.
"""

from __future__ import annotations

from dataclasses import dataclass

from toolfmt.errors import LimitHit
from toolfmt.inspect.facts import Facts
from toolfmt.inspect.format.derive.derive import derive_from
from toolfmt.inspect.format.derived import record_of
from toolfmt.inspect.profiling import facts_of
from toolfmt.inspect.report.report import DerivedFormat
from toolfmt.templates import ModelFiles


@dataclass(frozen=True)
class DerivationResult:
    """The derived format, or why there is none (a clause).

    `known` is the name of the known format that also reads these calls. It handles output of models that differs from
    their history.
    """

    derived: DerivedFormat | None = None
    why_not: str = ""
    known: str = ""


def derive_files(files: ModelFiles) -> DerivationResult:
    """Return what can be derived from the template that is used with tools. Raise only `LimitHit`."""
    return derivation_of(facts_of(files, None))


def derivation_of(facts: Facts) -> DerivationResult:
    """Return the same for a template that has been probed."""
    if facts.renders is None or facts.probed is None:
        return DerivationResult(why_not=_unusable(facts))
    other, best = facts.decided.unclaimed, facts.decided.read_back
    if other is not None and (other.derived is not None or other.why_not):
        return DerivationResult(other.derived, other.why_not)
    made = derive_from(facts.renders, facts.probed.shape)
    known = "" if best is None else best.format.name
    return DerivationResult(None if made.format is None else record_of(made), made.why_not, known)


def derivation_stopped(hit: LimitHit) -> DerivationResult:
    """Return the result for a template that hit this limit."""
    return DerivationResult(why_not=f"the template hit a limit ({hit.limit}): {hit.engine_message}")


def _unusable(facts: Facts) -> str:
    if facts.broken is None:
        return "there is no chat template"
    return f"the template cannot be rendered: {facts.broken.engine_message}"
