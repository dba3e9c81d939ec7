"""A page that lists models, worst verdict first, each with a link to its own page, from data.

It uses the style and the environment of `toolfmt.cli.printing.page` and gives the same guarantees: no script, no other
file, and all text of a model directory escaped.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote

from markupsafe import Markup

from toolfmt import __version__
from toolfmt.cli.printing.models import names_of
from toolfmt.cli.printing.page import resource, style_hash, template
from toolfmt.cli.printing.severities import worst_first
from toolfmt.cli.printing.verdict import counts
from toolfmt.inspect.report.report import Report
from toolfmt.model.batch import NOT_INSPECTED, InspectionOutcome

_MEANINGS = {
    "unread": (NOT_INSPECTED.capitalize(), "These have no verdict. The reason is next to each name."),
    "broken": ("Broken", "Tool calling is not reliable with the model as it is: look at the errors first."),
    "prompt-only": (
        "Prompt only",
        "The template does not render tools. Tool calling works if the prompt describes them.",
    ),
    "adapted": ("Adapted", "Tool calling works if requests are adapted first; `toolfmt render` does this."),
    "native": ("Native", "Tool calling works with the template as it is."),
}
"""The groups in order: a heading, and its meaning."""
_LONGEST_REASON = 500


@dataclass(frozen=True)
class _Group:
    id: str
    word: str
    meaning: str
    models: list[dict[str, Any]] = field(default_factory=list)


def index_page(looked: Sequence[InspectionOutcome], files: Sequence[str]) -> str:
    """Return the page. `files` are links from it to the pages of the models, empty if a model has none."""
    groups = {id: _Group(id, word, meaning) for id, (word, meaning) in _MEANINGS.items()}
    for one, name, file in zip(looked, names_of([one.place for one in looked]), files, strict=True):
        group = "unread" if one.report is None else one.report.verdict.tools
        groups[group].models.append(_model(one, name, quote(file)))
    style = resource("page.css")
    number = len(looked)
    rendered = template("index.html.jinja").render(
        title=f"{number:,} model{'' if number == 1 else 's'}: tool calling",
        groups=[group for group in groups.values() if group.models],
        version=__version__,
        style=Markup(style),
        style_hash=style_hash(style),
    )
    return rendered.lstrip("\n") + "\n"


def _model(one: InspectionOutcome, name: str, href: str) -> dict[str, Any]:
    fields: dict[str, Any] = {"name": name, "href": href, "type": "", "format": "", "confidence": "", "counts": ""}
    report = one.report
    if report is None:
        return fields | {"sentence": one.short_reason[:_LONGEST_REASON], "found": []}
    return fields | {
        "type": report.model_type or "no model type",
        "format": report.format.name or "",
        "confidence": report.format.confidence if report.format.name else "not known",
        "sentence": report.verdict.sentence,
        "counts": counts(report),
        "found": list(_codes(report)),
    }


def _codes(report: Report) -> Iterable[dict[str, str]]:
    """Return the codes of errors and warnings with their severity, each once, the worst first."""
    shown = [one for one in worst_first(report.findings) if one.severity != "note"]
    severities = {one.code: one.severity for one in reversed(shown)}
    return [{"code": code, "severity": severities[code]} for code in dict.fromkeys(one.code for one in shown)]
