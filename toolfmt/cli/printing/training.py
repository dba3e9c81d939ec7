"""Print the statistics of `toolfmt training`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from rich.table import Table
from rich.text import Text

from toolfmt.cli.printing.control_characters import visible
from toolfmt.cli.printing.layout import printed, spaced
from toolfmt.cli.training.summary import ProblemCount, TrainingSummary

if TYPE_CHECKING:
    from rich.console import RenderableType


def summary_text(summary: TrainingSummary, skipped: int, width: int, colour: bool) -> str:
    """Return the statistics as text."""
    parts: list[RenderableType] = [Text("\n".join(summary_lines(summary, skipped)))]
    if summary.problems:
        parts.append(_problems(summary))
    return printed(spaced(parts), width, colour)


def summary_lines(summary: TrainingSummary, skipped: int) -> Iterator[str]:
    """Yield what was rendered and trained, a sentence each."""
    line = _number(summary.conversations, "conversation")
    if summary.samples != summary.conversations:
        line += f", {_number(summary.samples, 'sample')}"
    yield line + (f", {_number(skipped, 'line')} skipped" if skipped else "")
    yield f"{summary.trained_messages:,} of {_number(summary.messages, 'message')} of the model trained"
    if summary.has_tokens:
        share = 100 * summary.trained_tokens / max(summary.tokens, 1)
        yield f"{summary.trained_tokens:,} of {_number(summary.tokens, 'token')} trained ({share:.1f} %)"
    else:
        yield "no tokenizer.json: rows have text and spans instead of tokens (see --tokenizer)"
    if summary.across:
        yield f"{_number(summary.across, 'token')} of the model and the template together, not trained"
    if summary.untrained:
        yield f"{_number(summary.untrained, 'sample')} without anything to train left out"


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
