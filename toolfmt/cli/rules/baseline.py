"""Compare reports with earlier ones to find what is new.

`read_baseline` reads the output of `--json`: one report, a list of reports, or one report per line. A finding is new if
the earlier report of its path has fewer findings of its code and outcome with this severity or a worse one. The message
does not count, because it quotes the template. If the file does not contain a path, all findings of that path are new.
Paths are relative to the current directory and are normalized.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from toolfmt.cli.input import read_json_values, shown
from toolfmt.cli.rules.selection import SEVERITIES
from toolfmt.errors import ToolfmtError
from toolfmt.inspect.checks import key_of
from toolfmt.inspect.report.report import SCHEMA, Finding, FindingKey
from toolfmt.model.batch import InspectionOutcome, place_key

_EXPECTED = "what toolfmt inspect --json printed"


@dataclass(frozen=True)
class Baseline:
    """Earlier reports as JSON, by path."""

    reports: Mapping[str, Mapping[str, Any]]
    assumed: str = ""
    """The path for a report of an earlier toolfmt that has no path. Empty if every report has one."""
    not_inspected: frozenset[str] = frozenset()
    """The paths, as keys, of models that the file lists without a report."""

    def compared(self, looked: InspectionOutcome) -> InspectionOutcome:
        """Return the outcome for a path with each finding marked as new or not."""
        report, before = looked.report, self._before(looked.place)
        if report is None:
            return looked
        new = _new((*report.findings, *report.notes), [*before.get("findings", ()), *before.get("notes", ())])
        findings, notes = (
            tuple(replace(finding, new=id(finding) in new) for finding in group)
            for group in (report.findings, report.notes)
        )
        return replace(looked, report=replace(report, findings=findings, notes=notes))

    def verdict(self, place: str) -> str:
        """Return the earlier verdict on a path. Empty if there is none."""
        word = self._before(place).get("verdict", {}).get("tools", "")
        return word if isinstance(word, str) else ""

    def status(self, place: str, runtime: str) -> str:
        """Return the earlier status of a runtime for a path. Empty if there is none."""
        word = self._before(place).get("verdict", {}).get("runtimes", {}).get(runtime, {}).get("status", "")
        return word if isinstance(word, str) else ""

    def holds(self, place: str) -> bool:
        """Return whether the file lists a path."""
        return bool(self._before(place)) or place_key(place) in self.not_inspected

    def gone(self, folders: Iterable[str], places: Iterable[str]) -> list[str]:
        """Return the paths of earlier reports that are in one of these folders but not among these paths."""
        inside = tuple(os.path.join(place_key(folder), "") for folder in folders)
        known = set(map(place_key, places))
        return [
            path
            for path in self.reports
            if (key := place_key(path)) not in known and f"{key}{os.sep}".startswith(inside)
        ]

    def may_be_elsewhere(self, place: str) -> bool:
        """Return whether a report may be of this path, if it was made in another directory.

        Both have the same last component, and one of the two paths is relative.
        """
        return any(
            os.path.basename(place_key(earlier)) == os.path.basename(place_key(place))
            and not (os.path.isabs(earlier) and os.path.isabs(place))
            and not os.path.lexists(earlier)
            for earlier in self.reports
        )

    def _before(self, place: str) -> Mapping[str, Any]:
        return self._by_key.get(place_key(place), {})

    @cached_property
    def _by_key(self) -> Mapping[str, Mapping[str, Any]]:
        return {place_key(place): report for place, report in self.reports.items()}


def _new(findings: Sequence[Finding], known: Sequence[Mapping[str, Any]]) -> set[int]:
    """Return the identities of the new findings: those without a matching known finding.

    Known findings with the same message are matched first, and each known finding is matched once.
    """
    left = list(known)
    new = set()
    by_likeness = sorted(findings, key=lambda finding: not any(_is_same(finding, one) for one in known))
    for finding in by_likeness:
        fitting = [one for one in left if _key(one) == finding.key and _as_bad(one["severity"], finding.severity)]
        same = [one for one in fitting if _is_same(finding, one)]
        match = next(iter(same or fitting), None)
        if match is None:
            new.add(id(finding))
        else:
            left.remove(match)
    return new


def _is_same(finding: Finding, known: Mapping[str, Any]) -> bool:
    return bool(_key(known) == finding.key and known.get("message") == finding.message)


def _key(known: Mapping[str, Any]) -> FindingKey:
    return key_of(known["code"], known.get("outcome"))


def _as_bad(known: str, now: str) -> bool:
    order: tuple[str, ...] = SEVERITIES
    return order.index(known) <= order.index(now)


def read_baseline(file: str, places: Sequence[str]) -> Baseline:
    """Return the earlier reports in a file, for these paths.

    A single report of an earlier toolfmt without a path counts for the first path. Raises `ToolfmtError` with
    the name of the file if it cannot be read or contains anything but reports of `toolfmt inspect --json`. Raises it as
    well if several paths are inspected but a report has no path.
    """
    values = read_json_values(file, _EXPECTED)
    values = values[0] if len(values) == 1 and isinstance(values[0], list) else values
    if not values or not all(_is_report(report) for report in values):
        raise ToolfmtError(f"{shown(file)}: not a toolfmt report; give {_EXPECTED}")
    reports = [report for report in values if "error" not in report]
    unnamed = sum("path" not in report for report in reports)
    if len(places) > 1 and unnamed > 1:
        raise ToolfmtError(
            f"{shown(file)}: {unnamed} reports that name no place; give {_EXPECTED} of these {len(places)}"
        )
    without = frozenset(place_key(report["path"]) for report in values if "error" in report and "path" in report)
    by_path = {report.get("path", places[0]): report for report in reports}
    return Baseline(by_path, places[0] if unnamed else "", without)


def _is_report(value: Any) -> bool:
    """Return whether it is a report with everything that is compared, or an error for a path."""
    if not isinstance(value, dict) or not isinstance(value.get("path", ""), str):
        return False
    return "error" in value or (value.get("schema") == SCHEMA and _is_whole(value))


def _is_whole(report: Mapping[str, Any]) -> bool:
    """Return whether the compared parts exist and have the right types."""
    lists = [report.get(name) for name in ("findings", "notes")]
    return all(isinstance(findings, list) and all(map(_is_finding, findings)) for findings in lists) and isinstance(
        report.get("verdict", {}), dict
    )


def _is_finding(value: Any) -> bool:
    return isinstance(value, dict) and isinstance(value.get("code"), str) and value.get("severity") in SEVERITIES
