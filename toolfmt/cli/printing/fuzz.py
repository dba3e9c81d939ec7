"""Bugs of a parser as text: each as a case for a corpus file with its events, and the progress of the search.

`toolfmt.cli.fuzz_command` passes what `toolfmt dev fuzz --json` prints.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from rich import progress
from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.text import Text

from toolfmt.cli.printing.control_characters import visible
from toolfmt.cli.printing.layout import UNWRAPPED, grid, printed, spaced
from toolfmt.cli.printing.progress import Bar


def fuzzed_text(found: Mapping[str, Any], colour: bool, timed: bool = True) -> str:
    """Return every bug, and what was tried.

    The speed is shown only if `timed`; the rest is the same in every run with the same number of outputs. Lines are not
    wrapped, so that cases can be copied.
    """
    parts: list[RenderableType] = [*(_defect(defect) for defect in found["defects"]), _summary(found, timed)]
    return printed(spaced(parts), UNWRAPPED, colour)


def _defect(defect: Mapping[str, Any]) -> Group:
    times = "once" if defect["times"] == 1 else f"{defect['times']:,} times"
    met = f"  {defect['format']}, {times}, first by output {defect['output']}"
    met += "" if defect["shrunk"] else ", not made smaller"
    head = Text.assemble((f"{defect['invariant']}: {defect['kind']}", "bold red"), met)
    rows = grid()
    if defect["message"] != defect["kind"]:
        rows.add_row("", visible(defect["message"]))
    if defect["pieces"] is not None:
        rows.add_row("pieces", visible(json.dumps(defect["pieces"], ensure_ascii=False)))
    if defect["actual"] is not None:
        rows.add_row("actual", _lines(defect["actual"] or ["nothing"]))
    rows.add_row("expected", _lines(defect["expected"] if defect["expected"] is not None else [defect["description"]]))
    case = Padding(_lines(defect["case"].rstrip("\n").split("\n")), (0, 0, 0, 4))
    return Group(head, case, rows)


def _lines(lines: list[str]) -> Text:
    return Text("\n".join(visible(line) for line in lines))


_WAYS = {"in calls": "occurred in calls", "cut": "split between chunks"}


def _summary(found: Mapping[str, Any], timed: bool) -> Text:
    defects, outputs = len(found["defects"]), found["outputs"]
    some = "no defect" if not defects else "1 defect" if defects == 1 else f"{defects} defects"
    formats = found["formats"]
    of = formats[0] if len(formats) == 1 else f"{len(formats)} formats"
    name = visible(found["target"] + (f" {found['version']}" if found["version"] else ""))
    rate = f" ({outputs / found['seconds']:,.0f} outputs per second)" if timed and found["seconds"] else ""
    broken_off = ", interrupted" if found["interrupted"] else ""
    first = f"{name}: {some} in {outputs:,} outputs of {of}, seed {found['seed']}{rate}{broken_off}"
    colour = "red" if defects else "yellow" if broken_off else "green"
    how = "outputs were fed whole and in chunks" if found["streams"] else "outputs were fed whole"
    every = max((every for _, every in found["markers"].values()), default=0)
    tried = [f"{count} {_WAYS.get(way, way)}" for way, (count, _) in found["markers"].items()]
    whose = "the format's" if len(formats) == 1 else "the formats'"
    return Text.assemble((first, colour), f"\n{how}; of {whose} {every:,} markers, {', '.join(tried)}")


class Searching(Bar):
    """The progress of a search: outputs, their rate, bugs, and the markers that were tried."""

    def __init__(self, seconds: float | None, shown: bool) -> None:
        columns = (progress.BarColumn(), progress.TextColumn("{task.fields[status]}"))
        super().__init__(*columns, total=None if seconds is None else round(seconds * 10), shown=shown, status="")

    def update(self, found: Any) -> None:
        """Update the progress."""
        rate = found.outputs / found.seconds if found.seconds else 0.0
        tried = ", ".join(f"{count}/{every} {way}" for way, (count, every) in found.coverage.items())
        status = f"{found.outputs:,} outputs, {rate:,.0f} per second, {len(found.defects)} defects, markers {tried}"
        if found.shrinking:
            status = f"made smaller: {found.shrinking} of {len(found.defects)} defects"
        self.draw(round(found.seconds * 10), status=status)
