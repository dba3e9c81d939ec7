"""When `toolfmt inspect` fails: by the worst finding, by the verdict, and with a baseline by what is new alone."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from toolfmt.cli.baseline import Baseline
from toolfmt.cli.selection import SEVERITIES
from toolfmt.inspect.report.report import Severity, ToolsWord
from toolfmt.model.batch import InspectionOutcome

FailOn: TypeAlias = Severity | Literal["never"]
_WITHOUT_TOOLS: tuple[ToolsWord, ...] = ("prompt-only", "broken")


@dataclass(frozen=True)
class Failing:
    """A finding as bad as `fail_on` fails, and with `tools` a verdict by which no tools go through the template; with a
    `baseline` only where that is new.
    """

    fail_on: FailOn = "error"
    tools: bool = False
    baseline: Baseline | None = None

    def fails(self, looked: InspectionOutcome) -> bool:
        """Whether what became of a place, with the findings that are told, is a failure."""
        report = looked.report
        if report is None:
            return False
        if self.tools and report.verdict.tools in _WITHOUT_TOOLS and not self._was_without(looked.place):
            return True
        bad = SEVERITIES[: SEVERITIES.index(self.fail_on) + 1] if self.fail_on != "never" else ()
        return any(one.severity in bad and one.new is not False for one in (*report.findings, *report.notes))

    def _was_without(self, place: str) -> bool:
        return self.baseline is not None and self.baseline.verdict(place) in _WITHOUT_TOOLS


def severity_of(typed: str) -> FailOn:
    """What is typed for `fail_on`."""
    return next((severity for severity in SEVERITIES if severity == typed), "never")
