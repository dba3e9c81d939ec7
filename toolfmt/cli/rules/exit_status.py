"""Decide if `toolfmt inspect` fails: by the worst finding, by the verdict, and with a baseline by what is new."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from toolfmt.cli.rules.baseline import Baseline
from toolfmt.cli.rules.selection import SEVERITIES
from toolfmt.inspect.report.report import Finding, Report, Severity
from toolfmt.inspect.report.verdicts import ToolsWord
from toolfmt.model.batch import InspectionOutcome

FailOn: TypeAlias = Severity | Literal["never"]
Required: TypeAlias = Literal["tools"]
_WITHOUT_TOOLS: tuple[ToolsWord, ...] = ("prompt-only", "broken")


@dataclass(frozen=True)
class Failing:
    """What makes a run fail.

    A finding fails if it is at least as severe as `fail_on`. With `tools`, a verdict fails if tools do not work through
    the template, and with `in_each`, if they do not in one of its runtimes. Ignored findings do not count. With a
    `baseline`, only new ones fail.
    """

    fail_on: FailOn = "error"
    tools: bool = False
    in_each: bool = False
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
        return self.tools and self._is_without(looked.report) and not self._was_without(looked.place)

    def _is_without(self, report: Report | None) -> bool:
        if report is None:
            return False
        verdict = report.accepted_verdict or report.verdict
        in_one = any(one.status in ("tools as text", "fails") for one in verdict.runtimes.values())
        return verdict.tools in _WITHOUT_TOOLS or (self.in_each and in_one)

    def _was_without(self, place: str) -> bool:
        return self.baseline is not None and self.baseline.verdict(place) in _WITHOUT_TOOLS


def severity_of(typed: str) -> FailOn:
    """Parse the value of `fail_on`."""
    return next((severity for severity in SEVERITIES if severity == typed), "never")
