"""Several places: each is told as soon as it is known, and of each only what the end needs is kept.

`inspect_several` writes the outputs, `go_on` adds lines of JSON to a file.
`toolfmt.cli.commands` calls both.
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
"""What becomes of places one by one, with the findings that are told."""
_MOST_NAMED = 20
"""Places that could not be looked at, or of which something could not be counted, are named up to so many."""


@dataclass
class Outcomes:
    """What the exit status and the lines on standard error are made of: `fails` says whether an outcome is a failure,
    `uncounted` what could not be told of it (empty for nothing), and `complain` writes a line.
    """

    fails: Callable[[InspectionOutcome], bool]
    uncounted: Callable[[InspectionOutcome], str]
    complain: Callable[[str], object]
    failed: bool = False
    unread: int = 0
    lines: list[str] = field(default_factory=list)
    left_out: int = 0

    def counted(self, looked: Iterable[InspectionOutcome]) -> Iterator[InspectionOutcome]:
        """The same outcomes, each counted when it comes by."""
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
        """The exit status, and on standard error what could not be looked at."""
        more = f"and {self.left_out:,} more places" if self.left_out else ""
        for line in filter(None, (*self.lines, more)):
            self.complain(line)
        return 1 if self.failed else 2 if self.unread else 0


def inspect_several(places: Sequence[str], look: Looking, outcomes: Outcomes, outputs: Outputs) -> int:
    """Inspect the models and write the outputs; the exit status. A model that cannot be read does not stop the
    others."""
    with outputs:
        for one in outcomes.counted(_watched(places, look, beside=not outputs.streams)):
            outputs.add(one)
    status = outcomes.status()
    return 2 if outputs.failed else status


def go_on(file: str, places: Sequence[str], look: Looking, outcomes: Outcomes) -> int:
    """Look at those of the places that have no report in a file yet, and write their lines into it, each as soon as it
    is done; the exit status is that of all places, by what stands there. A path may be spelled in several ways; what
    could not be looked at is tried again, and its last line counts."""
    lines, asked, known = ReportLines(file), dict[str, str](), set[str]()
    for place in places:
        asked.setdefault(place_key(place), place)
    try:
        for one in lines.earlier():
            key = place_key(one.place)
            if key in asked and one.report is not None:
                known.add(key)
                outcomes.count(one)
        left = [place for key, place in asked.items() if key not in known]
        for one in outcomes.counted(_watched(left, look, beside=True)):
            lines.add(one)
    finally:
        lines.close()
    if known:
        outcomes.complain(f"{len(known):,} of {len(asked):,} models were already in {file}")
    return outcomes.status()


def _watched(places: Sequence[str], look: Looking, *, beside: bool) -> Iterator[InspectionOutcome]:
    """The outcomes, with a bar on a terminal; not where lines are printed to a terminal meanwhile, unless they go
    `beside` it."""
    printing = sys.stdout is not None and sys.stdout.isatty() and not beside
    watched = sys.stderr is not None and sys.stderr.isatty() and not printing
    return tracked(look(places), len(places), watched)
