"""The changes of the template that the checks declare for a report's findings, and why other findings remain."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from toolfmt.inspect.checks import ALL_OUTCOMES, CHECKS, code, outcomes
from toolfmt.inspect.checks.editing.template_fix import TemplateFix, Variant
from toolfmt.inspect.report.report import Finding, FindingKey, Report

_NO_FIX = "no small change of the template is known to fix it"
_NO_SETTING = "--fix cannot fix this"


@dataclass(frozen=True)
class KnownFix:
    """A change of the template, and the keys of the findings that it may fix."""

    keys: tuple[FindingKey, ...]
    fix: TemplateFix

    def variants(self, report: Report) -> tuple[Variant, ...]:
        """The ways of writing that the template should accept after the fix."""
        return self.fix.variants(report)

    def may_change(self, report: Report) -> tuple[str, ...]:
        """Words in the names of the conversations whose prompts may differ after the fix."""
        objects = "arguments-object" in self.variants(report)
        return ("call",) if objects else ("every type of value",) if self.fix.typed else ()


def _known() -> Iterator[KnownFix]:
    for check in CHECKS:
        fix: TemplateFix | None = getattr(check, "FIX", None)
        if fix is not None:
            yield KnownFix(tuple((code(check), outcome) for outcome in fix.outcomes or outcomes(check)), fix)


KNOWN_FIXES = tuple(_known())
"""In the order in which they are tried."""


def fixes_of(report: Report, keys: frozenset[FindingKey]) -> Iterator[KnownFix]:
    """Return the fixes for the report's findings and notes with these keys."""
    reported = {finding.key for finding in everything(report)} & keys
    return (known for known in KNOWN_FIXES if reported & set(known.keys))


def is_fixable(key: FindingKey) -> bool:
    """Whether `--fix` has a change or a setting that may fix findings with this key."""
    return bool(ALL_OUTCOMES[key].setting) or any(key in known.keys for known in KNOWN_FIXES)


def known_reason(key: FindingKey, report: Report) -> str:
    """Return why a finding with this key is not fixed; empty if unknown."""
    impossible = (known.fix.impossible(report) for known in KNOWN_FIXES if key in known.keys)
    return next(filter(None, impossible), "") or ALL_OUTCOMES[key].why_not_fixed


def why_not(finding: Finding, report: Report) -> str:
    """Return why a finding remains for which no template change was tried; for settings, with what to set."""
    a_setting = finding.fixed_by == "setting" or ALL_OUTCOMES[finding.key].about_files
    return known_reason(finding.key, report) or (f"{_NO_SETTING}: {finding.fix}" if a_setting else _NO_FIX)


def everything(report: Report) -> tuple[Finding, ...]:
    """Findings and notes."""
    return (*report.findings, *report.notes)
