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
from toolfmt.cli.training.dataset import Sample
from toolfmt.cli.training.summary import TrainingSummary

_KINDS = {
    "trained": ("tools", "written by the model; trained"),
    "prefilled": ("generation", "part of the response that the prompt contains; not trained"),
    "untrained": ("answer", "text of the model; not trained (a token border is in a token with text of the template)"),
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
            "pieces": list(_pieces(sample)),
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


def _pieces(sample: Sample) -> Iterator[dict[str, Any]]:
    """Yield all of the text in pieces, each with its label and the class of its style."""
    for begin, end, kind, label in _parts(sample):
        yield {"style": _KINDS[kind][0], "label": label, "text": plain(sample.text.text[begin:end])}


def _parts(sample: Sample) -> Iterator[tuple[int, int, str, str]]:
    """Yield begin, end, kind and label of each part. Spans may overlap, for example results that a message repeats."""
    text, at = sample.text, 0
    for span in text.spans:
        if span.end <= at:
            continue
        if span.begin > at:
            yield at, span.begin, "template", "template"
        begin, at = max(at, span.begin), span.end
        if span.kind == "sampled":
            yield from _sampled_parts(begin, span.end, sample)
        elif span.kind == "prefilled":
            yield begin, span.end, "prefilled", "prefilled"
        elif span.role == "assistant":
            yield begin, span.end, "untrained", "not trained"
        else:
            yield begin, span.end, "other", span.role or "tool definition"
    if at < len(text.text):
        yield at, len(text.text), "template", "template"


def _sampled_parts(begin: int, end: int, sample: Sample) -> Iterator[tuple[int, int, str, str]]:
    """Yield the parts of a response: its tokens that are trained, and others."""
    tokens = sample.tokens
    borders = [] if tokens is None else [tokens.offsets[number] for number in tokens.across]
    stop = min(end, max(begin, sample.end))
    at = begin
    for first, last in borders:
        if first < stop and at < last:
            if at < first:
                yield at, first, "trained", "trained"
            yield max(at, first), min(last, stop), "untrained", "token border"
            at = min(last, stop)
    if at < stop:
        yield at, stop, "trained", "trained"
    if stop < end:
        yield stop, end, "untrained", "cut"
