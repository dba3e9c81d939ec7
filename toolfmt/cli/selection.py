"""Which findings count: the codes a caller selects or ignores, and whether notes count as findings.

`Selection.of` takes codes as they are typed; `apply` takes a report and gives back the one that is left. Nothing here
changes what was inspected, only what is told of it.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from toolfmt.batch import InspectionOutcome
from toolfmt.errors import ToolfmtError
from toolfmt.inspect.checks import CHECKS, code, codes_of
from toolfmt.inspect.report import Finding, Report


@dataclass(frozen=True)
class Selection:
    """The codes that are told (what is ignored left out), and whether notes count as findings."""

    codes: frozenset[str]
    strict: bool = False

    @classmethod
    def of(cls, select: Iterable[str] = (), ignore: Iterable[str] = (), *, strict: bool = False) -> Selection:
        """The selection of what is typed: codes, names or beginnings of codes, several with commas between them.

        Without `select` all findings are. What is both selected and ignored is ignored. Raises `UnknownCode`, and
        `ToolfmtError` where nothing is left of what is selected, as that would find nothing anywhere.
        """
        selected, ignored = _codes(select), _codes(ignore)
        if selected and selected <= ignored:
            raise ToolfmtError("--ignore leaves nothing of what --select names; take one of them away")
        return cls((selected or frozenset(map(code, CHECKS))) - ignored, strict)

    def apply(self, report: Report) -> Report:
        """The report with the findings that are left; with `strict` its notes stand among the findings."""
        notes = self._kept(report.notes)
        findings = self._kept(report.findings)
        left_out = len(report.findings) + len(report.notes) - len(findings) - len(notes)
        if self.strict:
            findings, notes = tuple(sorted((*findings, *notes), key=lambda finding: finding.code)), ()
        return replace(report, findings=findings, notes=notes, left_out=left_out)

    def applied(self, looked: InspectionOutcome) -> InspectionOutcome:
        """What became of a place, with the findings that are left."""
        return looked if looked.report is None else replace(looked, report=self.apply(looked.report))

    def _kept(self, findings: Iterable[Finding]) -> tuple[Finding, ...]:
        return tuple(finding for finding in findings if finding.code in self.codes)


def _codes(typed: Iterable[str]) -> frozenset[str]:
    words = [word.strip() for text in typed for word in text.split(",")]
    return frozenset[str]().union(*(codes_of(word) for word in words if word))
