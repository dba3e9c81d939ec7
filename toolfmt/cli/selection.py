"""Select which findings are shown, by codes, names and severities, without those that are ignored.

`Selection.of` parses the options. `apply` takes a report and returns it with the selected findings. Neither the
inspection nor the verdict changes, which is made of all findings; it changes only if runtimes are selected.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import get_args

from toolfmt.errors import ToolfmtError
from toolfmt.inspect.checks import ALL_OUTCOMES, keys_of
from toolfmt.inspect.checks.verdict import for_runtimes
from toolfmt.inspect.report.report import Finding, FindingKey, Report, Severity
from toolfmt.model.batch import InspectionOutcome

SEVERITIES: tuple[Severity, ...] = get_args(Severity)
"""The worst first."""


@dataclass(frozen=True)
class Selection:
    """The findings that are shown, by key, each with the shown severities."""

    shown: frozenset[tuple[FindingKey, Severity]]
    runtimes: tuple[str, ...] = ()
    """The runtimes that the report is about; all of them if empty."""
    requested: bool = False
    """Whether findings were selected by name. Notes are then shown that the text report otherwise leaves out."""

    @classmethod
    def of(cls, select: Iterable[str] = (), ignore: Iterable[str] = (), runtimes: Sequence[str] = ()) -> Selection:
        """Parse the options: comma-separated codes, names, code prefixes or severities.

        Without `select`, all findings are selected. What is both selected and ignored is ignored. Raises `UnknownCode`,
        and `ToolfmtError` if nothing remains of the selection, because that would never find anything.
        """
        selected, ignored = _selected(select), _selected(ignore)
        if selected and selected <= ignored:
            raise ToolfmtError("--ignore leaves nothing of what --select names; take one of them away")
        return cls((selected or _every(ALL_OUTCOMES, SEVERITIES)) - ignored, tuple(runtimes), bool(selected))

    def apply(self, report: Report) -> Report:
        """Return the report on the selected runtimes, with the selected findings and notes."""
        if self.runtimes:
            report = for_runtimes(report, self.runtimes)
        findings, notes = self._kept(report.findings), self._kept(report.notes)
        left_out = len(report.findings) + len(report.notes) - len(findings) - len(notes)
        return replace(report, findings=findings, notes=notes, left_out=left_out)

    def keys_for(self, report: Report) -> frozenset[FindingKey]:
        """Return the keys of the selected findings that this report contains."""
        shown = {key for key, _ in self.shown}
        had = {finding.key for finding in (*report.findings, *report.notes)}
        kept = {finding.key for finding in (*self._kept(report.findings), *self._kept(report.notes))}
        return frozenset((shown - had) | kept)

    def applied(self, looked: InspectionOutcome) -> InspectionOutcome:
        """Return the outcome for a path with the selected findings."""
        return looked if looked.report is None else replace(looked, report=self.apply(looked.report))

    def _kept(self, findings: Iterable[Finding]) -> tuple[Finding, ...]:
        kept = (finding for finding in findings if (finding.key, finding.severity) in self.shown)
        return tuple(replace(finding, on_request=False) if self.requested else finding for finding in kept)


def _selected(typed: Iterable[str]) -> frozenset[tuple[FindingKey, Severity]]:
    words = [word.strip() for text in typed for word in text.split(",")]
    return frozenset[tuple[FindingKey, Severity]]().union(*(_named(word) for word in words if word))


def _named(word: str) -> frozenset[tuple[FindingKey, Severity]]:
    severities = [severity for severity in SEVERITIES if severity == word.lower()]
    if severities:
        return _every(ALL_OUTCOMES, severities)
    return _every(keys_of(word), SEVERITIES)


def _every(keys: Iterable[FindingKey], severities: Iterable[Severity]) -> frozenset[tuple[FindingKey, Severity]]:
    return frozenset((key, severity) for severity in severities for key in keys)
