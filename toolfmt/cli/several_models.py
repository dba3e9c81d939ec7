"""Inspect several models: print each outcome as soon as it is known, and keep only what is needed at the end.

`inspect_several` writes the outputs, and `go_on` adds lines of JSON to a file. `toolfmt.cli.commands` calls both.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from toolfmt.cli.printing.models import tracked
from toolfmt.cli.report_lines import ReportLines
from toolfmt.cli.report_outputs import Outputs
from toolfmt.model.batch import InspectionOutcome, place_key

Looking: TypeAlias = Callable[[Sequence[str]], Iterator[InspectionOutcome]]
"""Yields the outcomes of paths one by one, with the selected findings."""
_MOST_NAMED = 20
"""Maximum number of named paths that could not be inspected or counted."""


@dataclass
class Outcomes:
    """Collects the exit status and the lines for standard error.

    `fails` returns whether an outcome is a failure, `uncounted` a line on what could not be counted (or an empty
    string), and `complain` prints a line.
    """

    fails: Callable[[InspectionOutcome], bool]
    uncounted: Callable[[InspectionOutcome], str]
    complain: Callable[[str], object]
    failed: bool = False
    unread: int = 0
    lines: list[str] = field(default_factory=list)
    left_out: int = 0

    def counted(self, looked: Iterable[InspectionOutcome]) -> Iterator[InspectionOutcome]:
        """Yield the same outcomes, and count each."""
        for one in looked:
            self.count(one)
            line = one.reason if one.report is None else self.uncounted(one)
            if line and len(self.lines) < _MOST_NAMED:
                self.lines.append(line)
            else:
                self.left_out += bool(line)
            yield one

    def count(self, one: InspectionOutcome) -> None:
        self.unread += one.report is None
        self.failed = self.failed or self.fails(one)

    def status(self) -> int:
        """Return the exit status, and print what could not be inspected to standard error."""
        more = f"and {self.left_out:,} more places" if self.left_out else ""
        for line in filter(None, (*self.lines, more)):
            self.complain(line)
        return 1 if self.failed else 2 if self.unread else 0


def inspect_several(places: Sequence[str], look: Looking, outcomes: Outcomes, outputs: Outputs) -> int:
    """Inspect the models, write the outputs, and return the exit status. Unreadable models do not stop the others."""
    with outputs:
        for one in outcomes.counted(_watched(places, look, alongside=not outputs.streams)):
            outputs.add(one)
    status = outcomes.status()
    return 2 if outputs.failed else status


def go_on(file: str, places: Sequence[str], look: Looking, outcomes: Outcomes) -> int:
    """Inspect the paths that have no report in a file yet, and append each line as soon as it is ready.

    Return the exit status of all paths, according to the file. Different forms of the same path are equal. A path that
    could not be inspected is tried again, and its last line counts.
    """
    lines, requested, known = ReportLines(file), dict[str, str](), set[str]()
    for place in places:
        requested.setdefault(place_key(place), place)
    try:
        for one in lines.earlier():
            key = place_key(one.place)
            if key in requested and one.report is not None:
                known.add(key)
                outcomes.count(one)
        left = [place for key, place in requested.items() if key not in known]
        for one in outcomes.counted(_watched(left, look, alongside=True)):
            lines.add(one)
    finally:
        lines.close()
    if known:
        outcomes.complain(f"{len(known):,} of {len(requested):,} models were already in {file}")
    return outcomes.status()


def _watched(places: Sequence[str], look: Looking, *, alongside: bool) -> Iterator[InspectionOutcome]:
    """Yield the outcomes with a progress bar on a terminal.

    There is no bar if lines are printed to a terminal at the same time, unless `alongside` is set.
    """
    printing = sys.stdout is not None and sys.stdout.isatty() and not alongside
    watched = sys.stderr is not None and sys.stderr.isatty() and not printing
    return tracked(look(places), len(places), watched)
