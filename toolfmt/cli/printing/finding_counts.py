"""How many models have each finding: `toolfmt inspect --statistics`, as text and as JSON."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from rich.table import Table
from rich.text import Text

from toolfmt.cli.printing.layout import UNWRAPPED, printed, spaced
from toolfmt.inspect.fix.known_fixes import is_fixable
from toolfmt.model.batch import NOT_INSPECTED, InspectionOutcome

_HEADINGS = ("models", "findings", "fixable", "code", "name")
_NUMBERS = 3
"""The first columns, which are numbers."""


@dataclass
class FindingCounts:
    """Counts the findings and notes of outcomes. Ignored findings are counted together."""

    _names: dict[str, str] = field(default_factory=dict)
    _models: Counter[str] = field(default_factory=Counter)
    _findings: Counter[str] = field(default_factory=Counter)
    _fixable: Counter[str] = field(default_factory=Counter)
    _inspected: int = 0
    _uninspected: int = 0
    _ignored: int = 0

    def add(self, outcome: InspectionOutcome) -> None:
        """Count the findings of one more model. Nothing else of the outcome is kept."""
        report = outcome.report
        if report is None:
            self._uninspected += 1
            return
        found = (*report.findings, *report.notes)
        self._inspected += 1
        self._ignored += len(report.ignored)
        self._names |= {one.code: one.name for one in found}
        self._models.update({one.code for one in found})
        self._findings.update(one.code for one in found)
        self._fixable.update(one.code for one in found if is_fixable(one.key))

    def to_dict(self) -> dict[str, Any]:
        """The counts as JSON data, the most frequent finding first."""
        return {
            "models": self._inspected,
            "not_inspected": self._uninspected,
            "ignored": self._ignored,
            "findings": [
                {
                    "code": code,
                    "name": self._names[code],
                    "models": self._models[code],
                    "findings": self._findings[code],
                    "fixable": self._fixable[code],
                }
                for code in sorted(self._names, key=lambda code: (-self._models[code], -self._findings[code], code))
            ],
        }

    def text(self, colour: bool) -> str:
        """Return the counts as a table, with a line about what is not in it."""
        counts = self.to_dict()
        table = Table.grid(padding=(0, 2, 0, 0))
        for position, heading in enumerate(_HEADINGS):
            table.add_column(no_wrap=True, justify="right" if position < _NUMBERS else "left", min_width=len(heading))
        table.add_row(*(Text(heading, "bold") for heading in _HEADINGS))
        for one in counts["findings"]:
            numbers = (f"{one[heading]:,}" for heading in _HEADINGS[:_NUMBERS])
            table.add_row(*map(Text, numbers), Text(one["code"]), Text(one["name"]))
        parts = [f"{self._inspected:,} model{'' if self._inspected == 1 else 's'}"]
        parts += [f"{self._uninspected:,} {NOT_INSPECTED}"] if self._uninspected else []
        parts += [f"{self._ignored:,} finding{'' if self._ignored == 1 else 's'} ignored"] if self._ignored else []
        summary = Text(f"{', '.join(parts)}.")
        return printed(spaced([table, summary]) if counts["findings"] else summary, UNWRAPPED, colour)
