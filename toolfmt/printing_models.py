"""Several models as a table, one line each, and how far the looking has come. `toolfmt.cli` calls it."""

from __future__ import annotations

import os.path
from collections.abc import Iterator, Sequence

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn
from rich.table import Table
from rich.text import Text

from toolfmt.inspect.report import Finding, Report, Severity
from toolfmt.inspecting import Looked
from toolfmt.layout import UNWRAPPED, printed, shortened, visible

_ANSWER_STYLES = {"yes": "green", "no": "yellow", "error": "red"}
_HEADINGS = ("model", "type", "format", "tools", "calls", "results", "strategy", "E/W/N", "findings")
_ABILITIES = ("tools", "tool_calls", "tool_results")
_LONGEST_NAME = 40


def models_text(looked: Sequence[Looked], width: int | None, colour: bool) -> str:
    """One line a model and a summary; without a `width` no line is cut, however long."""
    table = Table.grid(padding=(0, 2, 0, 0))
    for heading in _HEADINGS:
        last = heading == _HEADINGS[-1]
        table.add_column(heading, no_wrap=True, overflow="ellipsis", min_width=8 if last else None)
    table.add_row(*(Text(heading, "bold") for heading in _HEADINGS))
    for one, name in zip(looked, _names([one.place for one in looked]), strict=True):
        report = one.report
        cells = _unreadable(one) if report is None else _row(report)
        table.add_row(Text(visible(name) if width is None else shortened(name, _LONGEST_NAME), "bold"), *cells)
    lines = printed(table, width or UNWRAPPED, colour)
    return f"{lines}\n{_summary([one.report for one in looked])}\n"


def tracked(places: Sequence[str], shown: bool) -> Iterator[str]:
    """The places one by one; where `shown`, how far it has come is drawn on standard error, and wiped at the end."""
    if not shown:
        yield from places
        return
    columns = (TextColumn("inspecting"), BarColumn(), MofNCompleteColumn(), TextColumn("{task.description}"))
    with Progress(*columns, console=Console(stderr=True, markup=False), transient=True) as progress:
        task = progress.add_task("", total=len(places))
        for place in places:
            progress.update(task, description=_plain(place))
            yield place
            progress.advance(task)


def _plain(place: str) -> str:
    """The name of a place, with nothing that rich reads as markup."""
    return shortened(os.path.basename(os.path.normpath(place)), 30).replace("[", "(")


def _names(places: Sequence[str]) -> list[str]:
    """What each place is called: its path below the folder that all of them stand in."""
    paths = [os.path.abspath(place) for place in places]
    try:
        common = os.path.commonpath([os.path.dirname(path) for path in paths])
    except ValueError:  # on two drives
        return list(places)
    return [
        os.path.relpath(path, common) if os.path.exists(path) else place
        for path, place in zip(paths, places, strict=True)
    ]


def _row(report: Report) -> list[Text]:
    format = report.format
    answers = [report.capabilities[name].answer for name in _ABILITIES]
    counts = "/".join(str(len(of)) for of in by_severity(report).values())
    return [
        Text(shortened(report.model_type or "-", 20)),
        Text(f"{format.name or 'none'} ({format.confidence})" if format.name else "none"),
        *(Text(answer, _ANSWER_STYLES[answer]) for answer in answers),
        Text(report.strategy),
        Text(counts),
        Text(_codes(report)),
    ]


def _codes(report: Report) -> str:
    """The codes of errors and warnings, errors first; notes only count."""
    counted = by_severity(report)
    return " ".join(dict.fromkeys(finding.code for finding in (*counted["error"], *counted["warning"]))) or "-"


def _unreadable(one: Looked) -> list[Text]:
    nothing = [Text("-") for _ in _HEADINGS[1:-1]]
    reason = one.reason.removeprefix(one.place).lstrip("/:\\ ")  # the row begins with the place
    return [*nothing, Text(visible(reason), "red")]


def _summary(reports: Sequence[Report | None]) -> str:
    inspected = [by_severity(report) for report in reports if report is not None]
    with_errors = sum(bool(counted["error"]) for counted in inspected)
    only_warnings = sum(bool(counted["warning"]) and not counted["error"] for counted in inspected)
    clean = len(inspected) - with_errors - only_warnings
    parts = [f"{with_errors} with errors", f"{only_warnings} with warnings only", f"{clean} with neither"]
    unread = len(reports) - len(inspected)
    if unread:
        parts.append(f"{unread} could not be inspected")
    return f"{len(reports)} models: {', '.join(parts)}. E/W/N: errors, warnings, notes."


def by_severity(report: Report) -> dict[Severity, list[Finding]]:
    """Everything found, notes included, errors first."""
    found = dict.fromkeys((*report.findings, *report.notes))
    severities: tuple[Severity, ...] = ("error", "warning", "note")
    return {severity: [one for one in found if one.severity == severity] for severity in severities}
