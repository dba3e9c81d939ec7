"""Select which findings are shown, by codes, names and severities, without those that are ignored.

`Selection.of` parses the options. `apply` takes a report and returns it with the selected findings. Neither the
inspection nor the verdict changes. The verdict uses all findings of the selected runtimes. Findings
that a configuration ignores are `Report.ignored`, like those that the template ignores; `--ignore` leaves them out.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias, get_args

from toolfmt.errors import ToolfmtError
from toolfmt.inspect.checks import ALL_OUTCOMES, keys_of
from toolfmt.inspect.checks.verdict import accepted_verdict, for_runtimes
from toolfmt.inspect.report.report import Finding, FindingKey, Report, Severity
from toolfmt.model.batch import InspectionOutcome

SEVERITIES: tuple[Severity, ...] = get_args(Severity)
"""The worst first."""
SeverityOfKey: TypeAlias = tuple[FindingKey, Severity]


@dataclass(frozen=True)
class Selection:
    """The findings that are shown, by key, each with the shown severities."""

    shown: frozenset[SeverityOfKey]
    runtimes: tuple[str, ...] = ()
    """The runtimes that the report is about; all of them if empty."""
    requested: bool = False
    """Whether findings were selected by name. Notes are then shown that the text report otherwise leaves out."""
    accepted: tuple[tuple[frozenset[SeverityOfKey], str], ...] = ()
    """The findings that a configuration ignores, with the reasons. The first reason counts."""
    configuration: str = ""
    """The name of the configuration."""
    left_out_by: str = "--select or --ignore"
    """What leaves findings out, in the report."""

    @classmethod
    def of(
        cls,
        select: Iterable[str] = (),
        ignore: Iterable[str] = (),
        runtimes: Sequence[str] = (),
        accepted: Iterable[tuple[str, str]] = (),
        configuration: str = "",
    ) -> Selection:
        """Parse the options: comma-separated codes, names, code prefixes or severities.

        Without `select`, all findings are selected. What is both selected and ignored is ignored. `accepted` are what
        the `configuration` ignores, with reasons. Raises `UnknownCode`, and `ToolfmtError` if nothing remains of the
        selection, because that would never find anything.
        """
        chosen, ignored = selected(select), selected(ignore)
        if chosen and chosen <= ignored:
            raise ToolfmtError("--ignore leaves nothing of what --select names; take one of them away")
        shown = (chosen or _every(ALL_OUTCOMES, SEVERITIES)) - ignored
        reasons = tuple((selected([code]), reason) for code, reason in accepted)
        return cls(shown, tuple(runtimes), bool(chosen), reasons, configuration)

    def apply(self, report: Report) -> Report:
        """Return the report on the selected runtimes, with the selected findings and notes."""
        if self.runtimes:
            report = for_runtimes(report, self.runtimes)
        report = self.ignoring(report)
        groups = (report.findings, report.notes, report.ignored)
        findings, notes, ignored = map(self._kept, groups)
        left_out = sum(map(len, groups)) - len(findings) - len(notes) - len(ignored)
        accepted = accepted_verdict(report)
        return replace(
            report,
            findings=findings,
            notes=notes,
            ignored=ignored,
            left_out=left_out,
            left_out_by=self.left_out_by,
            accepted_verdict=accepted,
        )

    def ignoring(self, report: Report) -> Report:
        """Return the report with the findings that the configuration ignores among the ignored ones.

        It also accepts what the template ignores, which then counts as accepted by the user.
        """
        if not self.accepted:
            return report
        groups = (report.findings, report.notes, report.ignored)
        findings, notes, ignored = ([self._marked(finding) for finding in group] for group in groups)
        return replace(
            report,
            findings=tuple(finding for finding in findings if not finding.ignored_by),
            notes=tuple(finding for finding in notes if not finding.ignored_by),
            ignored=(*ignored, *(finding for finding in (*findings, *notes) if finding.ignored_by)),
        )

    def _marked(self, finding: Finding) -> Finding:
        reason = next((reason for those, reason in self.accepted if (finding.key, finding.severity) in those), None)
        return finding if reason is None else replace(finding, ignored_by=self.configuration, reason=reason, new=None)

    def keys_for(self, report: Report) -> frozenset[FindingKey]:
        """Return the keys of the selected findings that this report contains, without ignored ones."""
        shown = {key for key, _ in self.shown}
        had = {finding.key for finding in (*report.findings, *report.notes, *report.ignored)}
        report = self.ignoring(report)
        kept = {finding.key for finding in (*self._kept(report.findings), *self._kept(report.notes))}
        return frozenset((shown - had) | kept)

    def applied(self, looked: InspectionOutcome) -> InspectionOutcome:
        """Return the outcome for a path with the selected findings."""
        return looked if looked.report is None else replace(looked, report=self.apply(looked.report))

    def _kept(self, findings: Iterable[Finding]) -> tuple[Finding, ...]:
        kept = (finding for finding in findings if (finding.key, finding.severity) in self.shown)
        return tuple(replace(finding, on_request=False) if self.requested else finding for finding in kept)


def selected(typed: Iterable[str]) -> frozenset[SeverityOfKey]:
    """Return what comma-separated codes, names, code prefixes and severities select. Raises `UnknownCode`."""
    words = [word.strip() for text in typed for word in text.split(",")]
    return frozenset[SeverityOfKey]().union(*(_named(word) for word in words if word))


def _named(word: str) -> frozenset[SeverityOfKey]:
    severities = [severity for severity in SEVERITIES if severity == word.lower()]
    if severities:
        return _every(ALL_OUTCOMES, severities)
    return _every(keys_of(word), SEVERITIES)


def _every(keys: Iterable[FindingKey], severities: Iterable[Severity]) -> frozenset[SeverityOfKey]:
    return frozenset((key, severity) for severity in severities for key in keys)
