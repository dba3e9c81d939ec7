"""Print the statistics of `toolfmt training`, and the report of `toolfmt inspect --for training`."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Group
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from toolfmt._util.text_lists import listed_first
from toolfmt.cli.printing.control_characters import visible
from toolfmt.cli.printing.fix import copied_files, diff_text
from toolfmt.cli.printing.layout import UNWRAPPED, grid, printed, spaced
from toolfmt.cli.printing.severities import SEVERITY_STYLES
from toolfmt.cli.training.summary import ProblemCount, TrainingSummary
from toolfmt.templates import ModelFiles, place_name
from toolfmt.training import TrainingFinding, TrainingReport
from toolfmt.training.inspection import Tags

if TYPE_CHECKING:
    from rich.console import RenderableType


_MOST_LINES = 5


def summary_text(summary: TrainingSummary, skipped: int, width: int, colour: bool) -> str:
    """Return the statistics as text."""
    parts: list[RenderableType] = [Text("\n".join(summary_lines(summary, skipped)))]
    if summary.problems:
        parts.append(_problems(summary))
    return printed(spaced(parts), width, colour)


def summary_lines(summary: TrainingSummary, skipped: int) -> Iterator[str]:
    """Yield what was rendered and trained, one statement per line."""
    line = _number(summary.conversations, "conversation")
    if summary.samples != summary.conversations:
        line += f", {_number(summary.samples, 'sample')}"
    yield line + (f", {_number(skipped, 'line')} skipped" if skipped else "")
    yield f"{summary.trained_messages:,} of {_number(summary.messages, 'assistant message')} trained"
    if summary.has_tokens:
        share = 100 * summary.trained_tokens / max(summary.tokens, 1)
        yield f"{summary.trained_tokens:,} of {_number(summary.tokens, 'token')} trained ({share:.1f} %)"
    else:
        yield "no tokenizer.json: rows have text and spans instead of tokens (see --tokenizer)"
    if summary.across:
        yield f"{_number(summary.across, 'token')} not trained: partly text of the template"
    if summary.cut:
        yield f"{_number(summary.cut, 'assistant message')} cut by --max-length"
    if summary.left_out:
        lines = listed_first([str(line) for line in dict.fromkeys(summary.left_out)], _MOST_LINES)
        yield f"{_number(len(summary.left_out), 'sample')} left out: nothing to train (line {lines})"


def effect(count: ProblemCount) -> str:
    """Return what a problem means for its messages."""
    return "trained" if count.first.trained else "not trained"


def _problems(summary: TrainingSummary) -> Table:
    table = Table(box=None, show_edge=False, pad_edge=False, padding=(0, 2, 0, 0), header_style="")
    for name in ("problem", "messages", "", "first"):
        table.add_column(name, justify="right" if name == "messages" else "left", no_wrap=name != "first")
    table.columns[3].overflow = "fold"
    for kind, count in sorted(summary.problems.items(), key=lambda one: (one[1].first.trained, -one[1].messages)):
        style = "" if count.first.trained else "yellow"
        first = visible(str(count))
        table.add_row(Text(kind, style), f"{count.messages:,}", effect(count), Text(first))
    return table


def _number(number: int, of: str) -> str:
    return f"{number:,} {of}{'' if number == 1 else 's'}"


# --- toolfmt inspect --for training

_TAGS: dict[Tags, str] = {
    "none": "none",
    "right": "mark exactly the responses",
    "wrong": "do not mark exactly the responses",
    "unknown": "unknown (no verified conversation to compare with)",
}


@dataclass(frozen=True)
class TaggedCopy:
    """A written copy of a model with generation tags: its directory, model files, file names, and the changes."""

    output: Path
    model: ModelFiles
    files: tuple[str, ...]
    diff: str


def inspection_text(files: ModelFiles, report: TrainingReport, width: int, colour: bool) -> str:
    """Return the report as text."""
    source = files.template(True)
    title = Text(visible(place_name(str(files.directory))), "bold")
    title.append(f"   {files.model_type or 'no model type'}   {visible(source.origin) if source else ''}", "not bold")
    parts: list[RenderableType] = [title, _verified(report)]
    parts += _findings(report)
    return printed(spaced(parts), width, colour)


def tagged_copy_text(copy: TaggedCopy, report: TrainingReport, width: int, colour: bool) -> str:
    """Return the changes, and the report on the copy."""
    summary: list[RenderableType] = [
        Text(f"Written to {visible(str(copy.output))}. The report on the copy:", "bold"),
        _verified(report),
        *_findings(report),
        Text(copied_files(copy.files, copy.model.kind)),
    ]
    return printed(diff_text(copy.diff), UNWRAPPED, colour) + printed(spaced(summary), width, colour)


def _findings(report: TrainingReport) -> list[RenderableType]:
    return [Group(*map(_finding, report.findings))] if report.findings else []


def _verified(report: TrainingReport) -> Table:
    rows = grid()
    share = f"{report.verified} of {_number(report.responses, 'response')}"
    rows.add_row("  verified", Text(share, "green" if report.verified == report.responses else "yellow"))
    rows.add_row("  {% generation %}", _TAGS[report.generation_tags])
    return rows


def _finding(finding: TrainingFinding) -> Group:
    head = Text(f"{finding.severity:<8}", SEVERITY_STYLES[finding.severity]).append(finding.name, "bold")
    lines = [Text(visible(finding.message)), Text(f"Fix: {finding.fix}")]
    return Group(head, *(Padding(line, (0, 0, 0, 8)) for line in lines))
