"""The order of findings, and the style of each severity."""

from __future__ import annotations

from collections.abc import Iterable

from toolfmt.inspect.report.report import BY_TEMPLATE, Finding, Report, Severity

SEVERITY_STYLES: dict[Severity, str] = {"error": "red", "warning": "yellow", "note": "dim"}
"""The severities, the worst first, each with its style."""


def worst_first(findings: Iterable[Finding]) -> list[Finding]:
    """Return the findings by severity. Findings of the same severity keep their order."""
    return [one for of in by_severity(findings).values() for one in of]


def notable(report: Report) -> tuple[Finding, ...]:
    """Return findings and notes without those that are shown on request, unless they are new."""
    return tuple(one for one in (*report.findings, *report.notes) if one.new or not one.on_request)


def ignored_text(finding: Finding) -> str:
    """Return what ignores a finding and why, before its severity; empty if it is not ignored."""
    if not finding.ignored_by:
        return ""
    return f"ignored by {ignorer(finding)} ({finding.reason or 'no reason given'}), "


def ignorer(finding: Finding) -> str:
    """Return what ignores a finding: the template, or the name of a configuration."""
    return "the template" if finding.ignored_by == BY_TEMPLATE else finding.ignored_by


def by_severity(findings: Iterable[Finding]) -> dict[Severity, list[Finding]]:
    """Return the findings of each severity, the worst first."""
    all_findings = list(findings)
    return {severity: [one for one in all_findings if one.severity == severity] for severity in SEVERITY_STYLES}
