"""Several models as a table with one row each, and the progress of inspecting them.

`toolfmt.cli.commands` calls it.
"""

from __future__ import annotations

import os.path
import re
import textwrap
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import get_args

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn
from rich.table import Table
from rich.text import Text

from toolfmt._util.shell import argument
from toolfmt.cli.printing.control_characters import shortened, visible
from toolfmt.cli.printing.layout import ANSWER_STYLES, UNWRAPPED, printed
from toolfmt.cli.printing.severities import by_severity, notable
from toolfmt.cli.printing.verdict import LEVEL_STYLES, LEVELS
from toolfmt.inspect.report.report import Finding, Report, Severity
from toolfmt.inspect.report.verdicts import ToolsWord
from toolfmt.model.batch import NOT_INSPECTED, InspectionOutcome
from toolfmt.templates import cached_name, file_of_model, place_name

_HEADINGS = ("model", "type", "verdict", "format", "tools", "calls", "results", "E/W/N", "findings")
_NARROW_HEADINGS = ("model", "verdict", "format", "E/W/N", "findings")
_FOLDED = ("findings",)
"""Columns whose text may wrap if nothing is cut."""
_PIECES = re.compile(r"[^-_./@ ]*[-_./@ ]?")
"""The part of a name that is on one line, including the delimiter after it."""
_ABILITIES = ("tools", "tool_calls", "tool_results")
_NARROWEST_NAME, _NARROWEST_FINDINGS = 22, 12
_NARROW = 76
"""Below this width, the confidence of the format is left out too."""
_LONGEST_TYPE = 20
_LEGEND = "E/W/N: errors, warnings, notes."
_NEW = " *: new."


def models_text(looked: Sequence[InspectionOutcome], width: int | None, colour: bool, *, cut: bool = True) -> str:
    """Return one line per model, a summary, and the next command to run for the model with the worst verdict.

    Without a `width`, lines are not limited. If a complete table is wider than that, model type and answers are left
    out, and long names are `cut` or wrapped.
    """
    names = [visible(name) for name in names_of([one.place for one in looked])]
    rows = [_row(name, one.report, one) for name, one in zip(names, looked, strict=True)]
    lines = printed(_table(_HEADINGS, rows), UNWRAPPED, colour)
    if width is not None and max(map(len, printed(_table(_HEADINGS, rows), UNWRAPPED, False).splitlines())) > width:
        rows = [_narrow_row(name, one, width) for name, one in zip(names, looked, strict=True)]
        rows, folded = (_fitted(rows, width), ()) if cut else (_folded(rows, width), _FOLDED)
        lines = printed(_table(_NARROW_HEADINGS, rows, folded), width, colour)
    legend = _LEGEND + (_NEW if any(one.report is not None and _found_new(one.report) for one in looked) else "")
    summary = f"{_summary([one.report for one in looked])} {legend}"
    return f"{lines}\n{summary if width is None else textwrap.fill(summary, width)}\n{_next(looked)}"


def _table(headings: Sequence[str], rows: Iterable[Sequence[Text]], folded: Collection[str] = ()) -> Table:
    table = Table.grid(padding=(0, 2, 0, 0))
    for heading in headings:
        folds = heading in folded
        table.add_column(no_wrap=not folds, overflow="fold" if folds else "ellipsis", min_width=len(heading))
    table.add_row(*(Text(heading, "bold") for heading in headings))
    for row in rows:
        table.add_row(*row)
    return table


def _next(looked: Sequence[InspectionOutcome]) -> str:
    """Return the next command to run. It is never wrapped, and empty if no path could be inspected."""
    order: tuple[ToolsWord, ...] = get_args(ToolsWord)
    reports = [(one.place, order.index(one.report.verdict.tools)) for one in looked if one.report is not None]
    place, _ = max(reports, key=lambda one: one[1], default=("", 0))
    model = visible(argument(file_of_model(place)))
    return f"Details and fixes of one model: toolfmt inspect {model}\n" if reports else ""


def _rooms(rows: list[list[Text]], width: int) -> tuple[int, int]:
    """Return the widths for names and for findings: findings keep their width first, then names."""
    longest = [max((len(row[column].plain) for row in rows), default=0) for column in range(len(_NARROW_HEADINGS))]
    room = width - sum(max(one, 5) + 2 for one in longest[1:-1]) - 2
    for_findings = max(_NARROWEST_FINDINGS, min(longest[-1], room - min(longest[0], _NARROWEST_NAME)))
    return max(_NARROWEST_FINDINGS, room - for_findings), for_findings


def _fitted(rows: list[list[Text]], width: int) -> list[list[Text]]:
    """Return the rows with names and findings cut to fit."""
    for_names, for_findings = _rooms(rows, width)
    return [
        [Text(_cut(row[0].plain, for_names), "bold"), *row[1:-1], Text(shortened(row[-1].plain, for_findings))]
        for row in rows
    ]


def _folded(rows: list[list[Text]], width: int) -> list[list[Text]]:
    """Return the rows with long names wrapped after a hyphen or a similar character."""
    for_names, _ = _rooms(rows, width)
    return [[Text(_in_lines(row[0].plain, for_names), "bold"), *row[1:]] for row in rows]


def _in_lines(name: str, longest: int) -> str:
    lines = [""]
    for piece in _PIECES.findall(name):
        for at in range(0, len(piece), longest):
            part = piece[at : at + longest]
            lines = [*lines[:-1], lines[-1] + part] if len(lines[-1]) + len(part) <= longest else [*lines, part]
    return "\n".join(lines)


def _cut(name: str, longest: int) -> str:
    """Return the name with its middle cut out if it is longer. Sizes and variants are at the end."""
    begin = longest // 2
    return name if len(name) <= longest else f"{name[:begin]}…{name[len(name) - (longest - begin - 1) :]}"


def tracked(looked: Iterable[InspectionOutcome], total: int, shown: bool) -> Iterator[InspectionOutcome]:
    """Yield the outcomes one by one. If `shown`, draw a progress bar on standard error and erase it at the end."""
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
    """Return the name of a path without rich markup."""
    return shortened(place_name(place), 30).replace("[", "(")


def names_of(places: Sequence[str]) -> list[str]:
    """Return the names of paths: the usual name in the hub cache, else the path below the common folder."""
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
        return [Text(name, "bold"), *_not_inspected(_HEADINGS), _reason(one)]
    return [
        Text(name, "bold"),
        Text(shortened(report.model_type or "-", _LONGEST_TYPE)),
        _verdict(report),
        Text(_format(report)),
        *(Text(answer, ANSWER_STYLES[answer]) for answer in _answers(report)),
        Text(_counts(report)),
        Text(_codes(report)),
    ]


def _narrow_row(name: str, one: InspectionOutcome, width: int) -> list[Text]:
    report = one.report
    if report is None:
        return [Text(name, "bold"), *_not_inspected(_NARROW_HEADINGS), _reason(one)]
    format = _format(report) if width >= _NARROW else report.format.name or "none"
    return [Text(name, "bold"), _verdict(report), Text(format), Text(_counts(report)), Text(_codes(report))]


def _verdict(report: Report) -> Text:
    return Text(report.verdict.tools, LEVEL_STYLES[LEVELS[report.verdict.tools]])


def _not_inspected(headings: Sequence[str]) -> Iterator[Text]:
    """Return the cells between the name and the reason."""
    return (Text(NOT_INSPECTED, "red") if heading == "verdict" else Text("-") for heading in headings[1:-1])


def _reason(one: InspectionOutcome) -> Text:
    return Text(visible(one.short_reason), "red")


def _format(report: Report) -> str:
    return f"{report.format.name} ({report.format.confidence})" if report.format.name else "none"


def _answers(report: Report) -> list[str]:
    return [report.capabilities[name].answer for name in _ABILITIES]


def _counts(report: Report) -> str:
    return "/".join(str(len(of)) for of in _found(report).values())


def _codes(report: Report) -> str:
    """Return the codes of errors and warnings, errors first, and of new notes. New ones are marked."""
    counted = _found(report)
    shown = (*counted["error"], *counted["warning"], *(note for note in counted["note"] if note.new))
    new = {finding.code for finding in shown if finding.new}
    return " ".join(dict.fromkeys(f"{one.code}{'*' if one.code in new else ''}" for one in shown)) or "-"


def _found(report: Report) -> dict[Severity, list[Finding]]:
    """Return all findings by severity, including notes."""
    return by_severity(notable(report))


def _summary(reports: Sequence[Report | None]) -> str:
    words = Counter(report.verdict.tools for report in reports if report is not None)
    parts = [f"{words[word]} {word}" for word in get_args(ToolsWord)]
    inspected = sum(report is not None for report in reports)
    new = [report for report in reports if report is not None and _found_new(report)]
    if new:
        parts.append(f"{len(new)} with something new")
    if ignored := sum(len(report.ignored) for report in reports if report is not None):
        parts.append(f"{ignored} finding{'' if ignored == 1 else 's'} ignored")
    # A path without a report may be a folder, so that it does not count as a model.
    rest = len(reports) - inspected
    left_out = f"; {rest} path{'' if rest == 1 else 's'} {NOT_INSPECTED}" if rest else ""
    return f"{inspected} model{'' if inspected == 1 else 's'}: {', '.join(parts)}{left_out}."


def _found_new(report: Report) -> bool:
    return any(one.new for one in (*report.findings, *report.notes))
