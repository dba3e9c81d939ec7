"""Several models as a table, one line each, and how far the looking has come. `toolfmt.cli.commands` calls it."""

from __future__ import annotations

import os.path
import textwrap
from collections.abc import Iterable, Iterator, Sequence

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn
from rich.table import Table
from rich.text import Text

from toolfmt.batch import InspectionOutcome
from toolfmt.inspect.report import Finding, Report, Severity
from toolfmt.printing.findings import by_severity
from toolfmt.printing.layout import ANSWER_STYLES, UNWRAPPED, printed, shortened, visible
from toolfmt.templates import cached_name, place_name

_HEADINGS = ("model", "type", "format", "tools", "calls", "results", "strategy", "E/W/N", "findings")
_NARROW_HEADINGS = ("model", "format", "T/C/R", "E/W/N", "findings")
_ABILITIES = ("tools", "tool_calls", "tool_results")
_NARROWEST_NAME, _NARROWEST_FINDINGS = 22, 12
_NARROW = 76
"""Below this width the confidence of the format is left out, too."""
_LONGEST_TYPE = 20
_LEGEND = "E/W/N: errors, warnings, notes."
_NARROW_LEGEND = f"T/C/R: tools, calls, results (y, n, e: yes, no, error). {_LEGEND}"


def models_text(looked: Sequence[InspectionOutcome], width: int | None, colour: bool) -> str:
    """One line a model and a summary.

    Without a `width` no line is cut, however long. Where a table with everything in it is wider than that, answers are
    one letter each, model type and strategy are left out, and long names are cut.
    """
    names = [visible(name) for name in _names([one.place for one in looked])]
    rows = [_row(name, one.report, one) for name, one in zip(names, looked, strict=True)]
    legend, lines = _LEGEND, printed(_table(_HEADINGS, rows), UNWRAPPED, colour)
    if width is not None and max(map(len, printed(_table(_HEADINGS, rows), UNWRAPPED, False).splitlines())) > width:
        legend, rows = _NARROW_LEGEND, [_narrow_row(name, one, width) for name, one in zip(names, looked, strict=True)]
        lines = printed(_table(_NARROW_HEADINGS, _fitted(rows, width)), width, colour)
    summary = f"{_summary([one.report for one in looked])} {legend}"
    return f"{lines}\n{summary if width is None else textwrap.fill(summary, width)}\n"


def _table(headings: Sequence[str], rows: Iterable[Sequence[Text]]) -> Table:
    table = Table.grid(padding=(0, 2, 0, 0))
    for heading in headings:
        table.add_column(no_wrap=True, overflow="ellipsis", min_width=len(heading))
    table.add_row(*(Text(heading, "bold") for heading in headings))
    for row in rows:
        table.add_row(*row)
    return table


def _fitted(rows: list[list[Text]], width: int) -> list[list[Text]]:
    """The rows with names and findings cut so that they fit: findings keep their room first, then the names."""
    longest = [max((len(row[column].plain) for row in rows), default=0) for column in range(len(_NARROW_HEADINGS))]
    room = width - sum(max(one, 5) + 2 for one in longest[1:-1]) - 2
    for_findings = max(_NARROWEST_FINDINGS, min(longest[-1], room - min(longest[0], _NARROWEST_NAME)))
    for_names = max(_NARROWEST_FINDINGS, room - for_findings)
    return [
        [Text(_cut(row[0].plain, for_names), "bold"), *row[1:-1], Text(shortened(row[-1].plain, for_findings))]
        for row in rows
    ]


def _cut(name: str, longest: int) -> str:
    """The name with its middle left out where it is longer; the end tells sizes and variants."""
    begin = longest // 2
    return name if len(name) <= longest else f"{name[:begin]}…{name[len(name) - (longest - begin - 1) :]}"


def tracked(looked: Iterable[InspectionOutcome], total: int, shown: bool) -> Iterator[InspectionOutcome]:
    """What became of the places one by one; where `shown`, how far it has come is drawn on standard error, and wiped at
    the end."""
    if not shown:
        yield from looked
        return
    columns = (TextColumn("inspecting"), BarColumn(), MofNCompleteColumn(), TextColumn("{task.description}"))
    with Progress(*columns, console=Console(stderr=True, markup=False), transient=True) as progress:
        task = progress.add_task("", total=total)
        for one in looked:
            progress.update(task, advance=1, description=_plain(one.place))
            yield one


def _plain(place: str) -> str:
    """The name of a place, with nothing that rich reads as markup."""
    return shortened(place_name(place), 30).replace("[", "(")


def _names(places: Sequence[str]) -> list[str]:
    """What each place is called: what people call it in the hub cache, else its path below the folder that all of them
    stand in."""
    paths = [os.path.abspath(place) for place in places]
    try:
        common = os.path.commonpath([os.path.dirname(path) for path in paths])
    except ValueError:  # on two drives
        return list(places)
    return [
        cached_name(path) or (os.path.relpath(path, common) if os.path.exists(path) else place)
        for path, place in zip(paths, places, strict=True)
    ]


def _row(name: str, report: Report | None, one: InspectionOutcome) -> list[Text]:
    if report is None:
        return [Text(name, "bold"), *(Text("-") for _ in _HEADINGS[1:-1]), _reason(one)]
    return [
        Text(name, "bold"),
        Text(shortened(report.model_type or "-", _LONGEST_TYPE)),
        Text(_format(report)),
        *(Text(answer, ANSWER_STYLES[answer]) for answer in _answers(report)),
        Text(report.strategy),
        Text(_counts(report)),
        Text(_codes(report)),
    ]


def _narrow_row(name: str, one: InspectionOutcome, width: int) -> list[Text]:
    report = one.report
    if report is None:
        return [Text(name, "bold"), *(Text("-") for _ in _NARROW_HEADINGS[1:-1]), _reason(one)]
    letters = "/".join(answer[0] for answer in _answers(report))
    format = _format(report) if width >= _NARROW else report.format.name or "none"
    return [Text(name, "bold"), Text(format), Text(letters), Text(_counts(report)), Text(_codes(report))]


def _reason(one: InspectionOutcome) -> Text:
    """Why the place could not be inspected; the row begins with the place already."""
    return Text(visible(one.reason.removeprefix(one.place).lstrip("/:\\, ")), "red")


def _format(report: Report) -> str:
    return f"{report.format.name} ({report.format.confidence})" if report.format.name else "none"


def _answers(report: Report) -> list[str]:
    return [report.capabilities[name].answer for name in _ABILITIES]


def _counts(report: Report) -> str:
    return "/".join(str(len(of)) for of in _found(report).values())


def _codes(report: Report) -> str:
    """The codes of errors and warnings, errors first; notes only count."""
    counted = _found(report)
    return " ".join(dict.fromkeys(finding.code for finding in (*counted["error"], *counted["warning"]))) or "-"


def _found(report: Report) -> dict[Severity, list[Finding]]:
    """Everything found by its severity, notes included."""
    return by_severity((*report.findings, *report.notes))


def _summary(reports: Sequence[Report | None]) -> str:
    inspected = [_found(report) for report in reports if report is not None]
    with_errors = sum(bool(counted["error"]) for counted in inspected)
    only_warnings = sum(bool(counted["warning"]) and not counted["error"] for counted in inspected)
    clean = len(inspected) - with_errors - only_warnings
    parts = [f"{with_errors} with errors", f"{only_warnings} with warnings only", f"{clean} with neither"]
    unread = len(reports) - len(inspected)
    if unread:
        parts.append(f"{unread} could not be inspected")
    return f"{len(reports)} model{'' if len(reports) == 1 else 's'}: {', '.join(parts)}."
