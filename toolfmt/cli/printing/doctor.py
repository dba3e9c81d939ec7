"""A diagnosis as text: a line per check, then the findings with their explanations; and the progress.

`toolfmt.cli.doctor.command` calls it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rich import progress
from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.text import Text

from toolfmt._util.text_lists import listed_first
from toolfmt.cli.printing.control_characters import visible
from toolfmt.cli.printing.layout import grid, printed, spaced
from toolfmt.cli.printing.progress import Bar

if TYPE_CHECKING:
    from toolfmt.cli.doctor.diagnosis import Diagnosis
    from toolfmt.cli.doctor.examination import Examination

_SYMBOLS = {"passed": ("✓", "green"), "failed": ("✗", "red"), "undecided": ("–", "yellow")}
_MOST_PLACES = 4


def diagnosis_text(diagnosis: Diagnosis, width: int, colour: bool) -> str:
    """Return the server, the checks, the conclusion, and the findings."""
    findings = [_finding(each) for each in diagnosis.findings()]
    parts = [_head(diagnosis), _checks(diagnosis), _conclusion(diagnosis), *findings]
    return printed(spaced(parts), width, colour)


def _head(diagnosis: Diagnosis) -> Text:
    connection = diagnosis.examination.connection
    server = " ".join(filter(None, (connection.runtime, diagnosis.server_version)))
    about = f"{connection.protocol.name}{f', server {visible(server)}' if server else ''}"
    sent = f"{diagnosis.examination.transport.sent} requests in {diagnosis.seconds:.1f} s"
    name = Text(f"{visible(diagnosis.model)} at {visible(connection.url)}", "bold")
    return Text.assemble(name, f"\n{about}; {sent}")


def _checks(diagnosis: Diagnosis) -> RenderableType:
    table = grid()
    table.add_column(overflow="fold")
    for check in diagnosis.checks:
        symbol, style = _SYMBOLS[check.outcome]
        detail = f"not decided: {check.detail}" if check.outcome == "undecided" else check.detail
        table.add_row(Text(symbol, style), Text(check.title), Text(visible(detail), style))
    return table


def _conclusion(diagnosis: Diagnosis) -> Text:
    lines = [diagnosis.conclusion]
    if diagnosis.examination.stopped and diagnosis.examination.problems:
        lines.append(f"Not complete: {diagnosis.stopped}.")
    if diagnosis.examination.is_random:
        lines.append("The same request gave different responses at temperature 0, so values were not compared.")
    style = {0: "bold green", 1: "bold red"}.get(diagnosis.exit_status, "bold yellow")
    return Text("\n".join(map(visible, lines)), style)


def _finding(finding: dict[str, Any]) -> RenderableType:
    style = "bold red" if finding["severity"] == "problem" else "bold yellow"
    head = Text.assemble((finding["name"], style), (f"  {_places(finding['where'])}", "dim"))
    table = grid()
    for label, text in (("Seen", finding["seen"]), ("Means", finding["means"])):
        table.add_row(Text(label, "dim"), Text(visible(text)))
    for number, line in enumerate(finding["fix"]):
        table.add_row(Text("" if number else "Fix", "dim"), Text(visible(line)))
    return Group(head, Padding(table, (0, 0, 0, 2)))


def _places(where: list[str]) -> str:
    """Return the checks that show a finding, and whether only their streamed or only their whole responses do."""
    kinds = {place.rpartition(", ")[2] for place in where}
    titles = list(dict.fromkeys(place.removesuffix(", whole").removesuffix(", streamed") for place in where))
    only = {frozenset(("streamed",)): "streamed only: ", frozenset(("whole",)): "whole only: "}
    return only.get(frozenset(kinds), "") + listed_first(titles, _MOST_PLACES)


class ExaminationProgress(Bar):
    """The progress of an examination."""

    def __init__(self, total: int, shown: bool) -> None:
        columns = (
            progress.TextColumn("checking"), progress.BarColumn(), progress.MofNCompleteColumn(),
            progress.TextColumn("{task.fields[now]}"), progress.TextColumn("{task.fields[failed]}", style="red"),
        )  # fmt: skip
        super().__init__(*columns, total=total, shown=shown, now="", failed="")

    def update(self, examination: Examination) -> None:
        """Update the progress after one more check."""
        done, planned = len(examination.checks), examination.planned
        failed = len(examination.problems)
        now = planned[done].title if done < len(planned) else ""
        self.draw(done, now=now, failed=f"{failed} problems" if failed > 1 else "1 problem" if failed else "")
