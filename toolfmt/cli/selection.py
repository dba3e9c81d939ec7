"""Which findings are told: those with the codes, names and severities that a caller selects, without those ignored.

`Selection.of` takes what is typed; `apply` takes a report and gives back the one that is left. Nothing here changes
what was inspected, nor the verdict, which is made of all findings; only what is told beside it, and what the exit
status counts.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import get_args

from toolfmt.errors import ToolfmtError
from toolfmt.inspect.checks import ALL_OUTCOMES, keys_of
from toolfmt.inspect.report.report import Finding, FindingKey, Report, Severity
from toolfmt.model.batch import InspectionOutcome

SEVERITIES: tuple[Severity, ...] = get_args(Severity)
"""The worst first."""


@dataclass(frozen=True)
class Selection:
    """The findings that are shown, by key, each with the severities that are."""

    told: frozenset[tuple[FindingKey, Severity]]
    requested: bool = False
    """Whether they were selected by name, so that notes are shown that text otherwise leaves out."""

    @classmethod
    def of(cls, select: Iterable[str] = (), ignore: Iterable[str] = ()) -> Selection:
        """The selection of what is typed: codes, names, beginnings of codes or severities, several with commas between
        them.

        Without `select` all findings are. What is both selected and ignored is ignored. Raises `UnknownCode`, and
        `ToolfmtError` where nothing is left of what is selected, as that would find nothing anywhere.
        """
        selected, ignored = _told(select), _told(ignore)
        if selected and selected <= ignored:
            raise ToolfmtError("--ignore leaves nothing of what --select names; take one of them away")
        return cls((selected or _every(ALL_OUTCOMES, SEVERITIES)) - ignored, bool(selected))

    def apply(self, report: Report) -> Report:
        """The report with the findings and notes that are left."""
        findings, notes = self._kept(report.findings), self._kept(report.notes)
        left_out = len(report.findings) + len(report.notes) - len(findings) - len(notes)
        return replace(report, findings=findings, notes=notes, left_out=left_out)

    def keys_for(self, report: Report) -> frozenset[FindingKey]:
        """The keys of the findings that are shown of a model with this report: of those that it has, the ones kept."""
        told = {key for key, _ in self.told}
        had = {finding.key for finding in (*report.findings, *report.notes)}
        kept = {finding.key for finding in (*self._kept(report.findings), *self._kept(report.notes))}
        return frozenset((told - had) | kept)

    def applied(self, looked: InspectionOutcome) -> InspectionOutcome:
        """What became of a place, with the findings that are left."""
        return looked if looked.report is None else replace(looked, report=self.apply(looked.report))

    def _kept(self, findings: Iterable[Finding]) -> tuple[Finding, ...]:
        kept = (finding for finding in findings if (finding.key, finding.severity) in self.told)
        return tuple(replace(finding, on_request=False) if self.requested else finding for finding in kept)


def _told(typed: Iterable[str]) -> frozenset[tuple[FindingKey, Severity]]:
    words = [word.strip() for text in typed for word in text.split(",")]
    return frozenset[tuple[FindingKey, Severity]]().union(*(_named(word) for word in words if word))


def _named(word: str) -> frozenset[tuple[FindingKey, Severity]]:
    severities = [severity for severity in SEVERITIES if severity == word.lower()]
    if severities:
        return _every(ALL_OUTCOMES, severities)
    return _every(keys_of(word), SEVERITIES)


def _every(keys: Iterable[FindingKey], severities: Iterable[Severity]) -> frozenset[tuple[FindingKey, Severity]]:
    return frozenset((key, severity) for severity in severities for key in keys)
