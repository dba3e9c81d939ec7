"""What is shown next to the verdict of a report: its level, the first step, and the number of findings.

The text and the page of a report both use it. The verdict itself is part of the report.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Literal, TypeAlias

from toolfmt._util.text_lists import listed
from toolfmt.cli.printing.control_characters import visible
from toolfmt.cli.printing.severities import by_severity, ignorer, notable
from toolfmt.inspect.report.report import Report
from toolfmt.inspect.report.verdicts import ToolsWord

Level: TypeAlias = Literal["good", "care", "bad"]
LEVELS: Mapping[ToolsWord, Level] = {"native": "good", "adapted": "good", "prompt-only": "care", "broken": "bad"}
"""The level of each verdict, in three steps."""
LEVEL_STYLES: Mapping[Level, str] = {"good": "bold green", "care": "bold yellow", "bad": "bold red"}


def is_broken(report: Report) -> bool:
    """Return whether the template fails on everything."""
    return all(answer.answer == "error" for answer in report.capabilities.values())


def first_step(report: Report) -> tuple[str, str, str] | None:
    """Return what to do first if there is an error: the code, for which runtimes (empty for all), and the fix.

    An error that affects all runtimes comes before one about the parser that a runtime selects by itself.

    None if there is no error, or if no template can be rendered, which the advice already states.
    """
    errors = [finding for finding in report.findings if finding.severity == "error"]
    if not errors or report.template is None or is_broken(report):
        return None
    shown = report.verdict.runtimes
    affected = [([name for name in shown if name in error.runtimes], error) for error in errors]
    runtimes, first = max(affected, key=lambda one: len(one[0]))
    return first.code, f", if you use {listed(runtimes, 'or')}" if len(runtimes) < len(shown) else "", first.fix


def counts(report: Report) -> str:
    """Return how much was found, the worst first, what of it is new, and what is ignored and left out."""
    found = notable(report)
    parts = [f"{len(of)} {severity}{'' if len(of) == 1 else 's'}" for severity, of in by_severity(found).items() if of]
    if any(one.new is not None for one in found):
        parts.append(f"{sum(one.new is True for one in found)} new")
    if more := len(report.findings) + len(report.notes) - len(found):
        parts.append(f"{more} minor note{'' if more == 1 else 's'}")
    by = Counter(ignorer(one) for one in report.ignored)
    parts += [f"{number} ignored by {visible(name)}" for name, number in by.items()]
    if report.left_out:
        parts.append(f"{report.left_out} excluded by {visible(report.left_out_by)}")
    return ", ".join(parts) if parts else "no problems found"
