"""Decide if `toolfmt inspect` fails: by the worst finding, by the verdict, and with a baseline by what is new."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from toolfmt.cli.rules.baseline import Baseline
from toolfmt.cli.rules.selection import SEVERITIES
from toolfmt.inspect.report.report import Finding, Severity
from toolfmt.inspect.report.verdicts import RuntimeStatus, ToolsWord
from toolfmt.model.batch import InspectionOutcome

FailOn: TypeAlias = Severity | Literal["never"]
Required: TypeAlias = Literal["tools"]
_WITHOUT_TOOLS: tuple[ToolsWord, ...] = ("prompt-only", "broken")
_WITHOUT: tuple[RuntimeStatus, ...] = ("tools as text", "fails")


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
        return bool(self.why_verdict_fails(looked))

    def why_verdict_fails(self, looked: InspectionOutcome) -> str:
        """Return why the verdict is a failure, as a clause; empty if it is none."""
        report = looked.report
        if report is None or not self.tools:
            return ""
        verdict = report.accepted_verdict or report.verdict
        if self.in_each:
            failing = {
                runtime: one.status
                for runtime, one in verdict.runtimes.items()
                if one.status in _WITHOUT and not self._was_without(looked.place, runtime)
            }
            return ", ".join(f"{runtime}: {status}" for runtime, status in failing.items())
        without = verdict.tools in _WITHOUT_TOOLS and not self._was_without(looked.place)
        return f"the verdict is {verdict.tools}" if without else ""

    def _was_without(self, place: str, runtime: str = "") -> bool:
        """Return whether tools did not work before, in a runtime or at all."""
        if self.baseline is None:
            return False
        if runtime and (status := self.baseline.status(place, runtime)):
            return status in _WITHOUT
        return self.baseline.verdict(place) in _WITHOUT_TOOLS


def severity_of(typed: str) -> FailOn:
    """Parse the value of `fail_on`."""
    return next((severity for severity in SEVERITIES if severity == typed), "never")
