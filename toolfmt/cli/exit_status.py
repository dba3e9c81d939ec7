"""Decide if `toolfmt inspect` fails: by the worst finding, by the verdict, and with a baseline by what is new."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from toolfmt.cli.baseline import Baseline
from toolfmt.cli.selection import SEVERITIES
from toolfmt.inspect.report.report import Finding, Severity, ToolsWord
from toolfmt.model.batch import InspectionOutcome

FailOn: TypeAlias = Severity | Literal["never"]
_WITHOUT_TOOLS: tuple[ToolsWord, ...] = ("prompt-only", "broken")


@dataclass(frozen=True)
class Failing:
    """What makes a run fail.

    A finding fails if it is at least as severe as `fail_on`. With `tools`, a verdict fails if tools do not work through
    the template. With a `baseline`, only new ones fail.
    """

    fail_on: FailOn = "error"
    tools: bool = False
    baseline: Baseline | None = None

    def fails(self, looked: InspectionOutcome) -> bool:
        """Return whether the outcome for a path, with the shown findings, is a failure."""
        report = looked.report
        if report is None:
            return False
        return self.fails_verdict(looked) or any(map(self.fails_finding, (*report.findings, *report.notes)))

    def fails_finding(self, finding: Finding) -> bool:
        """Return whether the finding alone is a failure."""
        return self.fails_severity(finding.severity) and finding.new is not False

    def fails_severity(self, severity: Severity) -> bool:
        """Return whether a finding of this severity is a failure."""
        return self.fail_on != "never" and SEVERITIES.index(severity) <= SEVERITIES.index(self.fail_on)

    def fails_verdict(self, looked: InspectionOutcome) -> bool:
        """Return whether the verdict is a failure."""
        without = looked.report is not None and looked.report.verdict.tools in _WITHOUT_TOOLS
        return self.tools and without and not self._was_without(looked.place)

    def _was_without(self, place: str) -> bool:
        return self.baseline is not None and self.baseline.verdict(place) in _WITHOUT_TOOLS


def severity_of(typed: str) -> FailOn:
    """Parse the value of `fail_on`."""
    return next((severity for severity in SEVERITIES if severity == typed), "never")
