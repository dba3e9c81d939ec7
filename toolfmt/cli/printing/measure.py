"""A measurement as text: a row of rates per wording, grouped by the settings of the request, and the progress.

`toolfmt.cli.measure_command` calls it. Each rate is printed above its interval, in percent. A rate that could not be
counted is a dash.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import groupby
from typing import Any

from rich import progress
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from toolfmt.cli.measure import Cell, Measurement, Rate
from toolfmt.cli.measure.measurement import RATES, Tally
from toolfmt.cli.measure.rates import LEVEL
from toolfmt.cli.printing.control_characters import visible
from toolfmt.cli.printing.layout import printed, spaced
from toolfmt.cli.printing.progress import Bar

_HEADINGS = {
    "called": "called",
    "right_tool": "right\ntool",
    "valid_arguments": "valid\narguments",
    "invented_arguments": "invented\narguments",
    "rejected": "rejected",
    "left_in_text": "left in\ntext",
    "misread_result": "misread\nresults",
}
_ERROR_RATES = frozenset({"invented_arguments", "rejected", "left_in_text", "misread_result"})
_OF = "called"
"""The rate that every response to a question counts in."""
_NOTHING = "–"


def measured_text(measurement: Measurement, width: int, colour: bool) -> str:
    """Return the settings, a table for each strategy, `tool_choice` and grammar, and notes."""
    shown = [name for name in RATES if any(tally.rates[name].of for tally in measurement.tallies.values())] or [
        "called"
    ]
    ways = groupby(measurement.tallies.items(), key=lambda one: (one[0].strategy, one[0].tool_choice, one[0].grammar))
    tables = [_way(list(cells), shown) for _, cells in ways]
    return printed(spaced([_head(measurement), *tables, _legend(measurement)]), width, colour)


def _head(measurement: Measurement) -> Text:
    settings = ", ".join(f"{name} {_setting(value)}" for name, value in measurement.settings.items())
    tool, none = (
        sum(bool(one.calls) is needs_tool for one in measurement.plan.scenarios) for needs_tool in (True, False)
    )
    needs = "scenario that needs a tool" if tool == 1 else "scenarios that need a tool"
    runs = measurement.plan.runs
    times = "once" if runs == 1 else f"{runs:,} times"
    plan_text = f"{tool} {needs}, {none} that {'needs' if none == 1 else 'need'} none, {times} each"
    left = len(measurement.questions) - measurement.completed
    broken_off = f"\nBroken off: {measurement.completed:,} of {len(measurement.questions):,} requests." if left else ""
    return Text.assemble((visible(measurement.name), "bold"), f"\n{plan_text}\n{settings}", (broken_off, "red"))


def _setting(value: Any) -> str:
    return f"{value:g}" if isinstance(value, float) else visible(str(value))


def _way(cells: list[tuple[Cell, Tally]], shown: list[str]) -> RenderableType:
    """Return the results of one way to pass tools: its name, its rows, and the failures."""
    cell = cells[0][0]
    choice = f", tool_choice {cell.tool_choice}" if cell.strategy == "template" else ""
    choice += "" if cell.grammar == "none" else f", grammar {cell.grammar}"
    title = {"template": "Tools through the template", "prompt": "Tools in the system prompt"}[cell.strategy]
    table = Table.grid(padding=(0, 2, 0, 0))
    table.add_column(no_wrap=True, min_width=7)
    for _ in shown:
        table.add_column(no_wrap=True, min_width=7)
    table.add_row("", *(Text(_HEADINGS[name], "bold") for name in shown))
    for one, tally in cells:
        label = Text.assemble(one.wording, (f"\n of {tally.rates[_OF].of:,}", "dim"))
        table.add_row(label, *(_rate(tally.rates[name], _is_error(name, one)) for name in shown))
    failures = [Text(line, "red") for one, tally in cells for line in _failed(one, tally)]
    return Group(Text(title + choice, "bold"), table, *failures)


def _is_error(name: str, cell: Cell) -> bool:
    return name in _ERROR_RATES or (name == "called" and cell.wording == "no-tool")


def _rate(rate: Rate, is_error: bool) -> Text:
    share, interval = rate.share, rate.interval
    if share is None or interval is None:
        return Text(_NOTHING)
    low, high = (f"{100 * bound:.0f}" for bound in interval)
    return Text.assemble((f"{_percent(rate)} %", "red" if is_error and rate.count else ""), (f"\n{low}–{high}", "dim"))


def _percent(rate: Rate) -> str:
    """Return the share in percent. Only all is shown as 100, and only none as 0."""
    whole = round(100 * rate.count / rate.of)
    return str(min(max(whole, 1 if rate.count else 0), 100 if rate.count == rate.of else 99))


def _failed(cell: Cell, tally: Tally) -> Iterable[str]:
    """Yield why requests failed, the most frequent reason first."""
    for why, count in tally.failures.most_common():
        yield f"{cell.wording}: {count:,} without a response: {visible(why)}"
    if tally.skipped:
        yield f"{cell.wording}: {tally.skipped:,} more not asked, since none before was answered"


def _legend(measurement: Measurement) -> Text:
    level = round(100 * LEVEL)
    lines = [
        f"Below each rate its {level} % interval (Wilson). Right tool, valid and invented arguments: of the responses "
        "with calls; misread results: of the responses to results; the others: of all responses to the question.",
    ]
    if "no-tool" in {cell.wording for cell in measurement.tallies}:
        lines.append("no-tool: no tool helps with the question, and a call is wrong.")
    if any(tally.rates["left_in_text"].count for tally in measurement.tallies.values()):
        lines.append("Left in text: the server read no call there; toolfmt inspect MODEL names the parser it needs.")
    if cut := sum(tally.cut for tally in measurement.tallies.values()):
        answers = measurement.answers
        lines.append(f"{cut:,} of {answers:,} responses ran out of tokens: allow more with --max-tokens N.")
    if measurement.settings.get("temperature") == 0 and measurement.plan.runs > 1:
        lines.append("At temperature 0 every run of a scenario is likely to be the same: the intervals are too narrow.")
    return Text("\n".join(lines))


class MeasurementProgress(Bar):
    """The progress of a measurement."""

    def __init__(self, total: int, shown: bool) -> None:
        columns = (
            progress.TextColumn("asking"), progress.BarColumn(), progress.MofNCompleteColumn(),
            progress.TimeRemainingColumn(), progress.TextColumn("{task.fields[failed]}", style="red"),
        )  # fmt: skip
        super().__init__(*columns, total=total, shown=shown, failed="")

    def update(self, measurement: Measurement) -> None:
        """Update the progress after one more question."""
        failed = measurement.failures.total()
        self.draw(measurement.completed, failed=f"{failed:,} without a response" if failed else "")
