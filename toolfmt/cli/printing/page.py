"""The report as one HTML page, from data: the same data give the same bytes.

The page needs no script and no other file. Text of a model directory is untrusted. Every value is escaped, its control
and bidi characters are written as visible escapes (by `finalize`, so that no part of the template can omit it), and a
content security policy forbids everything except the page's own style.
"""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

from jinja2 import Environment, FunctionLoader, StrictUndefined, Template
from markupsafe import Markup, escape

from toolfmt import __version__
from toolfmt.cli.printing.control_characters import visible
from toolfmt.cli.printing.settings import invented_result, leaving_out, runtime_rows, special_markers, stops
from toolfmt.cli.printing.severities import ignorer, worst_first
from toolfmt.cli.printing.verdict import LEVELS, counts, first_step, is_broken
from toolfmt.inspect.checks import CHECKS, code, page
from toolfmt.inspect.report.report import Report, SampleSpan, SampleSpanKind, token_mark
from toolfmt.inspect.report.sample_words import with_sample_words
from toolfmt.templates import place_name

_KINDS: dict[SampleSpanKind, tuple[str, str]] = {
    "system": ("system", "the system message"),
    "tools": ("tools", "what appears when tools are given; each definition by its name"),
    "user": ("user", "what the user says"),
    "reasoning": ("reasoning", "what the model thought"),
    "call": ("call", "a tool call"),
    "result": ("result", "what a tool answered"),
    "answer": ("response", "text of the model"),
    "generation": ("generation", "the generation prompt: here the model goes on"),
    "frame": ("frame", "what the template writes around it all"),
}
"""The kinds of pieces in the order of the legend: the label in the margin, and its meaning."""
_TEMPLATE_WRITES: tuple[SampleSpanKind, ...] = ("frame", "tools", "call", "generation")
"""Kinds of pieces with text of the template. Only in these, text that looks like a marker is one."""
_ATTRIBUTE = r'(?: [\w.-]{1,40}="[^"<>\n]{0,80}")'
_MARKER = rf"<[^<>\s]{{1,60}}{_ATTRIBUTE}{{0,4}}>|\[/?[A-Z][A-Z_]{{1,40}}\]"
_PRINTED = re.compile(r"[^\n\t\x20-\x7e]")
_CODE = re.compile(r"(?<!`)`(?!`)(.+?)(?<!`)`(?!`)")
_LEAD = re.compile(r"(What it checks|Why it matters|Affected runtimes|Example|Fix|References):(?: |$)")


@dataclass(frozen=True)
class _Paragraph:
    """A paragraph of a finding's page."""

    text: Markup
    is_code: bool


def report_page(report: Report, index: str = "") -> str:
    """Return the page. `index` links to the page that lists it. Never raises because of the report's content."""
    style = resource("page.css")
    report = with_sample_words(report)
    findings = worst_first(report.findings)
    rendered: str = template("page.html.jinja").render(
        report=report,
        index=index,
        title=place_name(report.path),
        version=__version__,
        style=Markup(style),
        style_hash=style_hash(style),
        level=LEVELS[report.verdict.tools],
        counts=counts(report),
        first="{}{}: {}".format(*step) if (step := first_step(report)) else "",
        chapters=_chapters(report),
        findings=findings,
        pages={finding.code: _page(finding.code) for finding in (*findings, *report.notes, *report.ignored)},
        pieces=_drawn(report),
        ignorer=ignorer,
        labels={kind: label for kind, (label, _) in _KINDS.items()},
        legend=_legend(report.sections.sample),
        unknown_tokens=_unknown_tokens(report),
        percent=_percent,
        rows=runtime_rows(report),
        special=special_markers(report),
        stops=stops(report),
        invented=invented_result(report),
        leaving_out=leaving_out(report.sections.tokens),
    )
    return rendered.lstrip("\n") + "\n"


def _chapters(report: Report) -> dict[str, str]:
    """Return the headings by id, for sections that are not empty."""
    sections = report.sections
    works = not is_broken(report)
    runs = sections.advice or report.profile.stop or report.profile.prefill
    tokens = sections.tokens
    there: Iterable[tuple[str, str, object]] = (
        ("findings", "Findings", report.findings),
        ("run", "How to run it", works and runs),
        ("prompt", "A prompt in pieces", sections.sample),
        ("capabilities", "What it can do", works),
        ("format", "Format of the calls", True),
        ("details", "In detail", sections.details),
        ("definitions", "Tool definitions", sections.definitions),
        ("safety", "Safety", sections.safety),
        ("runtimes", "What runtimes read", sections.runtime_support),
        ("variables", "Variables", sections.variables),
        ("prefix", "Prefix stability", sections.stability and sections.stability.turns),
        ("tokens", "Tokens", tokens and (tokens.markers or tokens.tools or tokens.total)),
        ("portability", "Other template engines", sections.engines),
        ("notes", "Worth knowing", report.notes),
        ("ignored", "Ignored", report.ignored),
        ("template", "The template", report.template),
    )
    return {id: title for id, title, filled in there if filled}


def _percent(share: float) -> str:
    """Return a percentage, rounded down, so that 100 % means all."""
    return f"{int(share * 100)}\u00a0%"


# --- the sample prompt


def _drawn(report: Report) -> list[dict[str, object]]:
    """Return the pieces of the sample with their content made visible."""
    markers = markers_seen(report)
    return [{"kind": piece.kind, "name": piece.name, "text": _text(piece, markers)} for piece in report.sections.sample]


def markers_seen(report: Report) -> re.Pattern[str]:
    """Return the markers in the report, and all text that looks like a marker."""
    tokens = report.sections.tokens
    known = {
        *report.profile.stop,
        *(report.profile.reasoning or ()),
        *(marker.marker for marker in (tokens.markers if tokens else ())),
    }
    longest_first = sorted((mark for mark in known if mark.strip()), key=lambda mark: (-len(mark), mark))
    return re.compile("|".join([*map(re.escape, longest_first), _MARKER]))


def marked(piece: SampleSpan, markers: re.Pattern[str]) -> Iterator[tuple[str, bool]]:
    """Yield the text of a piece in parts, each with whether it is a marker."""
    at = 0
    for marker in markers.finditer(piece.text) if piece.kind in _TEMPLATE_WRITES else ():
        yield piece.text[at : marker.start()], False
        yield marker[0], True
        at = marker.end()
    yield piece.text[at:], False


def _text(piece: SampleSpan, markers: re.Pattern[str]) -> Markup:
    """Return the text with its markers, newlines and control characters in separate elements."""
    parts: list[Markup] = []
    for text, is_marker in marked(piece, markers):
        parts += [Markup('<span class="marker">'), plain(text), _END] if is_marker else [plain(text)]
    return Markup("").join(parts)


_END = Markup("</span>")


def plain(text: str) -> Markup:
    """Return the text escaped, with visible escapes for invisible characters and newlines."""
    return Markup("").join(
        Markup('<span class="eol">\n</span>') if part == "\n" else _escaped(part)
        for part in re.split(r"(\n)", text)
        if part
    )


def _escaped(text: str) -> Markup:
    parts: list[Markup] = []
    at = 0
    for found in _PRINTED.finditer(text):
        shown = visible(found[0])
        if shown != found[0]:
            parts += [escape(text[at : found.start()]), Markup('<span class="escape">{}</span>').format(shown)]
            at = found.end()
    return Markup("").join([*parts, escape(text[at:])])


def _unknown_tokens(report: Report) -> list[str]:
    """Return the placeholders in the sample for special tokens of which only the names are known."""
    named = () if report.template is None else report.template.variables
    written = [piece.text for piece in report.sections.sample if piece.kind in _TEMPLATE_WRITES]
    return [mark for mark in map(token_mark, named) if any(mark in text for text in written)]


def _legend(pieces: Sequence[SampleSpan]) -> dict[str, str]:
    there = {piece.kind for piece in pieces}
    return {kind: meaning for kind, (_, meaning) in _KINDS.items() if kind in there}


# --- the pages of findings


def _page(finding_code: str) -> list[_Paragraph]:
    """Return the paragraphs of a finding's page, empty if the code has no page."""
    return next((_paragraphs(page(check)) for check in CHECKS if code(check) == finding_code), [])


def _paragraphs(text: str) -> list[_Paragraph]:
    found = []
    for block in re.split(r"\n{2,}", text.strip("\n")):
        lines = block.split("\n")
        if all(line.startswith("    ") for line in lines):
            found.append(_Paragraph(escape("\n".join(line[4:] for line in lines)), is_code=True))
        else:
            found.append(_Paragraph(_prose(" ".join(line.strip() for line in lines)), is_code=False))
    return found


def _prose(text: str) -> Markup:
    """Return a paragraph with markup for code in backticks and for its label."""
    lead = _LEAD.match(text)
    parts = [Markup("<strong>{}:</strong> ").format(lead[1])] if lead else []
    at = lead.end() if lead else 0
    for found in _CODE.finditer(text, at):
        parts += [escape(text[at : found.start()]), Markup("<code>{}</code>").format(found[1])]
        at = found.end()
    return Markup("").join([*parts, escape(text[at:])])


# --- the template


@cache
def template(name: str) -> Template:
    """Return a template of this package. Every value is escaped and made visible when it is printed."""
    environment = Environment(
        loader=FunctionLoader(resource),
        autoescape=True,
        finalize=_finalized,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["prose"] = lambda text: _prose(visible(text))
    return environment.get_template(name)


def _finalized(value: Any) -> Any:
    """Return what jinja2 prints of a value: text with visible control characters, unless it is already markup."""
    return visible(value) if isinstance(value, str) and not isinstance(value, Markup) else value


def resource(name: str) -> str:
    """Return the text of a file of this package."""
    return files("toolfmt.cli.printing").joinpath(name).read_text("utf-8")


def style_hash(style: str) -> str:
    """Return the hash of the only allowed style for the content security policy."""
    digest = hashlib.sha256(style.encode("utf-8")).digest()
    return f"sha256-{base64.b64encode(digest).decode('ascii')}"
