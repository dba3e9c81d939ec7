"""A short Markdown summary of several models, for a CI run or a comment on a change.

`Summary.add` takes one outcome after the other and keeps a bounded part of it. `text` is never longer than a comment
may be. Text of a model directory is untrusted: nothing in it is interpreted as Markdown, HTML, a mention or a link.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import accumulate

from toolfmt.cli.printing.control_characters import shortened
from toolfmt.cli.printing.sarif import relative
from toolfmt.cli.printing.severities import by_severity, ignored_text, notable, worst_first
from toolfmt.inspect.report.report import Finding, Report
from toolfmt.model.batch import NOT_INSPECTED, InspectionOutcome
from toolfmt.templates import cached_name

_VERDICTS = ("unread", "broken", "prompt-only", "adapted", "native")
"""The order of the summary."""
_MOST_MODELS, _MOST_FINDINGS = 40, 5
_LONGEST = 200
_TABLE = "| model | verdict | errors | warnings | notes |\n|---|---|---|---|---|\n"
_ROOM = 60_000
"""Maximum number of characters. A comment on GitHub has at most 65,536."""
_MARKUP = re.compile(r"[\\`*_\[\]<>#|~$@&]|:(?=//)|(?<=[Ww])\.")


@dataclass
class Summary:
    """The verdicts, and the errors and warnings. With a baseline, only what is new."""

    _counts: Counter[str] = field(default_factory=Counter)
    _rows: dict[str, list[str]] = field(default_factory=dict)
    _found: dict[str, list[str]] = field(default_factory=dict)

    def add(self, looked: InspectionOutcome) -> None:
        """Add the outcome of one more model."""
        verdict = "unread" if looked.report is None else looked.report.verdict.tools
        self._counts[verdict] += 1
        if self._counts[verdict] > _MOST_MODELS:
            return
        name = _plain(shortened(cached_name(looked.place) or relative(looked.place), _LONGEST))
        self._rows.setdefault(verdict, []).append(_row(name, looked, verdict))
        self._found.setdefault(verdict, []).append("".join(_findings(name, looked.report)))

    def text(self) -> str:
        """Return the Markdown, with a newline at the end."""
        parts = [f"{self._counts[verdict]:,} {_label(verdict)}" for verdict in _VERDICTS if self._counts[verdict]]
        text = f"### toolfmt: {', '.join(parts)}\n\n" + _TABLE
        rows = _fitting([row for verdict in _VERDICTS for row in self._rows.get(verdict, ())], _ROOM - len(text))
        text += "".join(rows)
        if more := self._counts.total() - len(rows):
            text += f"\n{more:,} more {'is' if more == 1 else 'are'} not listed.\n"
        found = [text for verdict in _VERDICTS for text in self._found.get(verdict, ())]
        return text + "".join(_fitting(found, _ROOM - len(text)))


def _fitting(texts: list[str], room: int) -> list[str]:
    """Return the first items that fit."""
    ends = accumulate(map(len, texts))
    return [text for text, end in zip(texts, ends, strict=True) if end <= room][:_MOST_MODELS]


def _label(verdict: str) -> str:
    return NOT_INSPECTED if verdict == "unread" else verdict


def _row(name: str, looked: InspectionOutcome, verdict: str) -> str:
    if looked.report is None:
        return f"| {name} | **{NOT_INSPECTED}**: {_plain(shortened(looked.short_reason, _LONGEST))} | | | |\n"
    counted = by_severity(notable(looked.report))
    numbers = " | ".join(_number(of) for of in counted.values())
    return (
        f"| {name} | **{verdict}**: {_plain(shortened(looked.report.verdict.sentence, 2 * _LONGEST))} | {numbers} |\n"
    )


def _number(found: list[Finding]) -> str:
    new = sum(one.new is True for one in found)
    return f"{len(found)}" + (f" ({new} new)" if new else "")


def _findings(name: str, report: Report | None) -> Iterator[str]:
    """Yield the findings of a model as lines: the new ones if there is a baseline, else errors and warnings."""
    if report is None:
        return
    found = (*report.findings, *report.notes)
    compared = any(one.new is not None for one in found)
    shown = [one for one in worst_first(found) if (one.new if compared else one.severity != "note")]
    if shown or report.ignored:
        yield f"\n**{name}**{': new' if compared else ''}\n\n"
    for one in shown[:_MOST_FINDINGS]:
        line = "" if one.line is None else f" (line {one.line})"
        yield f"- {one.severity} {one.code}: {_plain(shortened(one.message, _LONGEST))}{line}\n"
    if shown[_MOST_FINDINGS:]:
        yield f"- and {len(shown) - _MOST_FINDINGS} more\n"
    for one in report.ignored[:_MOST_FINDINGS]:
        yield f"- {_plain(shortened(f'{ignored_text(one)}{one.severity} {one.code}', _LONGEST))}\n"
    if report.ignored[_MOST_FINDINGS:]:
        yield f"- and {len(report.ignored) - _MOST_FINDINGS} more ignored\n"


def _plain(text: str) -> str:
    """Return text that Markdown shows unchanged.

    Every character that could have a meaning becomes a character reference. An empty comment ends what would begin a
    mention, a reference to an issue, or an address.
    """
    return _MARKUP.sub(lambda found: f"&#{ord(found[0])};" + ("<!-- -->" if found[0] in "@#:." else ""), text)
