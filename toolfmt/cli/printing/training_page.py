"""Conversations of a dataset as one HTML page that highlights the trained text.

It uses the style and the environment of `toolfmt.cli.printing.page` and gives the same guarantees: no script, no other
file, and all text of a dataset or template escaped.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from markupsafe import Markup

from toolfmt import __version__
from toolfmt.cli.printing.page import plain, resource, style_hash, template
from toolfmt.cli.printing.training import effect, summary_lines
from toolfmt.cli.training.summary import TrainingSummary
from toolfmt.training import TrainingText

_KINDS = {
    "trained": ("tools", "written by the model; trained"),
    "prefilled": ("generation", "part of the response that the prompt contains; not trained"),
    "untrained": ("answer", "text of the model; not trained"),
    "other": ("user", "text of other messages, and tool definitions"),
    "template": ("frame", "the template's own text"),
}
"""Kinds of text: the class of its style, and its meaning."""


def training_page(summary: TrainingSummary, dataset: str, skipped: int) -> str:
    """Return the page for the conversations that are shown."""
    style = resource("page.css")
    conversations = [
        {
            "id": f"c{number}",
            "title": f"Line {line}",
            "problems": [str(problem) for problem in sample.text.problems],
            "pieces": list(_pieces(sample.text)),
        }
        for number, (line, sample) in enumerate(summary.shown, 1)
    ]
    rendered = template("training.html.jinja").render(
        title=f"{dataset}: what is trained",
        lines=list(summary_lines(summary, skipped)),
        problems=[(kind, count, effect(count)) for kind, count in summary.problems.items()],
        left_out=summary.samples - len(summary.shown),
        legend=list(_KINDS.values()),
        conversations=conversations,
        version=__version__,
        style=Markup(style),
        style_hash=style_hash(style),
    )
    return rendered.lstrip("\n") + "\n"


def _pieces(text: TrainingText) -> Iterator[dict[str, Any]]:
    """Yield all of the text in pieces, each with its label and the class of its style."""
    for begin, end, kind, label in _parts(text):
        yield {"style": _KINDS[kind][0], "label": label, "text": plain(text.text[begin:end])}


def _parts(text: TrainingText) -> Iterator[tuple[int, int, str, str]]:
    """Yield begin, end, kind and label of each part. Spans may overlap, for example results that a message repeats."""
    at = 0
    for span in text.spans:
        if span.end <= at:
            continue
        if span.begin > at:
            yield at, span.begin, "template", "template"
        kind = {"sampled": "trained", "prefilled": "prefilled"}.get(span.kind, "")
        kind = kind or ("untrained" if span.role == "assistant" else "other")
        label = kind if kind in ("trained", "prefilled") else "not trained" if kind == "untrained" else span.role
        yield max(at, span.begin), span.end, kind, label or "tool definition"
        at = span.end
    if at < len(text.text):
        yield at, len(text.text), "template", "template"
