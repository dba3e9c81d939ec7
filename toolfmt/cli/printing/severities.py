"""In which order findings are told, and how each severity is drawn."""

from __future__ import annotations

from collections.abc import Iterable

from toolfmt.inspect.report.report import Finding, Report, Severity

SEVERITY_STYLES: dict[Severity, str] = {"error": "red", "warning": "yellow", "note": "dim"}
"""The severities, the worst first, each with its style."""


def worst_first(findings: Iterable[Finding]) -> list[Finding]:
    """The findings by severity; those of one severity in their order."""
    return [one for of in by_severity(findings).values() for one in of]


def notable(report: Report) -> tuple[Finding, ...]:
    """Findings and notes without those that are shown on request, unless they are new."""
    return tuple(one for one in (*report.findings, *report.notes) if one.new or not one.on_request)


def by_severity(findings: Iterable[Finding]) -> dict[Severity, list[Finding]]:
    """The findings of each severity, the worst first."""
    told = list(findings)
    return {severity: [one for one in told if one.severity == severity] for severity in SEVERITY_STYLES}
