"""The reports of the command line as text: data in, text out, the same text for the same data.

`toolfmt.cli` calls it, and only here is rich imported. What comes from a model directory is untrusted: control
characters are shown as escapes, and nothing is read as markup.
"""

from __future__ import annotations

import io
import re
import textwrap
import unicodedata
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from rich.console import Console, Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from toolfmt.describing import example
from toolfmt.formats import ToolCallFormat
from toolfmt.inspect.inspection import NO_PARSER
from toolfmt.inspect.report import Finding, Report

_ANSWER_STYLES = {"yes": "green", "no": "yellow", "error": "red"}
_CONFIDENCE_STYLES = {"declared": "green", "verified": "green", "signature": "yellow", "model-type": "yellow"}
# How a runtime is told the name of a parser (vLLM and SGLang: their documentation of tool calling, November 2026).
_FLAGS = {"vLLM": "--tool-call-parser ", "SGLang": "--tool-call-parser "}
_FINDS_ITSELF = "auto"
_GLUE, _DOT = "\ue000", "\ue000· "
"""Stands for a blank where no line may end (a runtime and its flag): rich breaks lines at a no-break space too."""
_UNWRAPPED = 100_000
_LINE_PREFIX = re.compile(r"^.{0,300}?, line \d+: ")


def report_text(report: Report, width: int, colour: bool) -> str:
    """The report at one glance: what the model can do, its format, what will go wrong, what to do next."""
    parts: list[RenderableType] = [_title(report), _abilities(report)]
    if report.findings:
        parts.append(_findings(report.findings))
    parts.append(_next(report))
    return _printed(_spaced(parts), width, colour)


def formats_text(formats: Sequence[ToolCallFormat], width: int, colour: bool) -> str:
    """The registry: each format with who speaks it, a call in it (`⏎` where a line ends), what others call it."""
    parts: list[RenderableType] = []
    for format in formats:
        table = Table.grid(padding=(0, 2, 0, 0))
        table.add_column("format", style="bold", no_wrap=True, width=max(len(format.name) for format in formats))
        table.add_column("what", overflow="fold")
        call = example(format, short=True).replace("\n", "⏎")
        for name, line in ((format.name, ", ".join(format.families)), ("", call), ("", _elsewhere(format))):
            table.add_row(name, Text(line, "cyan" if line is call else ""))
        parts.append(table)
    return _printed(_spaced(parts), width, colour)


def format_text(format: ToolCallFormat, width: int, colour: bool) -> str:
    """One format's page: what it is, a call in it, its names here and elsewhere, where it is documented."""
    facts = Table.grid(padding=(0, 2, 0, 0))
    facts.add_column("name", style="bold", no_wrap=True)
    facts.add_column("value", overflow="fold")
    rows: list[tuple[str, str]] = [
        ("aliases", ", ".join(format.aliases)),
        ("families", ", ".join(format.families)),
        ("model types", ", ".join(format.model_types)),
        ("elsewhere", _elsewhere(format)),
        ("sources", "\n".join(format.source)),
    ]
    for name, value in rows:
        if value:
            facts.add_row(name, Text(value))
    what = _spaced([Text(format.name, "bold"), Text(_reflowed(format.page)), Text("for example", "bold")])
    call = Text(textwrap.indent(example(format), "    "), "cyan")  # never wrapped, so that it can be copied
    return _printed(what, width, colour) + _printed(call, _UNWRAPPED, colour) + "\n" + _printed(facts, width, colour)


def visible(text: str) -> str:
    """The text on one line with every control and format character as an escape, so that it cannot move a cursor."""
    return "".join(
        char.encode("unicode_escape").decode("ascii")
        if unicodedata.category(char) in ("Cc", "Cf", "Co", "Cs")
        else char
        for char in text
    )


# --- the parts of a report


def _title(report: Report) -> Text:
    name = Path(report.path).resolve().name or report.path
    template = report.template
    where = "no chat template"
    if template is not None:
        where = template.origin + (f" (template {template.name})" if template.name != "default" else "")
    title = Text(visible(name), "bold")
    title.append(f"   {visible(report.model_type or 'no model type')}   {visible(where)}", "not bold")
    return title


def _abilities(report: Report) -> Table:
    table = Table.grid(padding=(0, 2, 0, 0), expand=True)
    for column in ("ability", "answer"):
        table.add_column(column, no_wrap=True)
    table.add_column("what", ratio=1, overflow="fold")
    table.add_column("line", justify="right", no_wrap=True)
    for name, capability, said in _ROWS:
        answer = report.capabilities[capability]
        # An error repeats the file and the line that stand elsewhere in the report.
        what = said(report) if answer.answer == "yes" else _LINE_PREFIX.sub("", answer.evidence)
        table.add_row(
            Text("  " + name),
            Text(answer.answer, _ANSWER_STYLES[answer.answer]),
            Text(visible(what)),
            Text("" if answer.line is None else f"line {answer.line}", "dim"),
        )
    format = report.format
    # What a format itself cannot carry stands in the JSON; at a glance it would read as a contradiction.
    proof = next((evidence.detail for evidence in format.evidence if evidence.source == format.confidence), None)
    shown = proof or (format.evidence[0].detail if format.evidence else "nothing tells it")
    detail = shown.partition(f"; {format.name} itself cannot carry")[0]
    sure = Text(format.confidence, _CONFIDENCE_STYLES.get(format.confidence, "red"))
    table.add_row(Text("  format"), Text(format.name or "none", "bold"), sure.append(f": {visible(detail)}", "default"))
    table.add_row(Text("  strategy"), Text(report.strategy, "bold"), Text(_strategy(report)))
    return table


def _calls(report: Report) -> str:
    able = report.capabilities
    several = "several a turn" if able["parallel_tool_calls"].answer == "yes" else "one a turn"
    forms = [f"{form}s" for form in ("object", "string") if able[f"arguments_{form}"].answer == "yes"]
    contents = [content for content in ("null", "empty") if able[f"content_{content}"].answer == "yes"]
    arguments = f"arguments as {' or '.join(forms)}" if forms else "arguments in no form as they are given"
    return f"{several}; {arguments}; content {' or '.join(contents) or 'neither null nor empty'}"


def _results(report: Report) -> str:
    ids = "with" if report.capabilities["tool_call_ids"].answer == "yes" else "without"
    return f"in the prompt, {ids} the ids of their calls"


def _reasoning(report: Report) -> str:
    markers = report.rendering.reasoning
    return (
        f"between {markers[0]} and {markers[1]}"
        if markers
        else report.capabilities["reasoning"].evidence.partition(": ")[0]
    )


_ROWS: tuple[tuple[str, str, Callable[[Report], str]], ...] = (
    ("definitions", "tools", lambda report: report.capabilities["tools"].evidence),
    ("calls", "tool_calls", _calls),
    ("results", "tool_results", _results),
    ("system", "system", lambda report: report.capabilities["system"].evidence),
    ("reasoning", "reasoning", _reasoning),
)


def _strategy(report: Report) -> str:
    if report.strategy == "template":
        return "toolfmt render gives the tools to the template"
    if report.template is None:
        return "there is no template to render with: the tools could only be described in words"
    return "toolfmt render describes the tools in words, because the template does not"


def _findings(findings: Iterable[Finding]) -> Table:
    table = Table.grid(padding=(0, 2, 0, 0))
    table.add_column(width=7, no_wrap=True)
    table.add_column(overflow="fold")
    for finding in findings:
        told = finding.line is None or f"line {finding.line}" in finding.message
        line = "" if told else f" (line {finding.line})"
        table.add_row(Text("  " + finding.code, "yellow"), Text(visible(finding.message) + line))
        table.add_row("", Text("→ " + visible(finding.fix), "dim"))
    return table


def _next(report: Report) -> Table:
    table = Table.grid(padding=(0, 2, 0, 0))
    table.add_column(width=7, no_wrap=True)
    table.add_column(overflow="fold")
    lines = []
    if report.runtimes and (report.strategy == "prose" or report.format.confidence != "default"):
        lines.append(_runtimes(report))
    if report.rendering.stop:
        lines.append("stop at " + " or ".join(map(visible, report.rendering.stop)))
    if report.rendering.prefill:
        lines.append(f"the prompt begins the answer with {visible(report.rendering.prefill)}")
    codes = list(dict.fromkeys(finding.code for finding in report.findings))
    if codes:
        lines.append(f"toolfmt explain {codes[0]}" + (f" (or {', '.join(codes[1:])})" if codes[1:] else ""))
    for position, line in enumerate(lines):
        table.add_row(Text("" if position else "  next"), Text(line))
    return table


def _runtimes(report: Report) -> str:
    names = {
        runtime: "finds it itself" if name == _FINDS_ITSELF else _FLAGS.get(runtime, "") + name
        for runtime, name in report.runtimes.items()
        if name != NO_PARSER
    }
    parts = [f"{runtime} {name}" for runtime, name in names.items()]
    without = [runtime for runtime in report.runtimes if runtime not in names]
    if without:
        parts.append(f"{', '.join(without)}: {NO_PARSER}")
    listed = _DOT.join(part.replace(" ", _GLUE) for part in parts)
    return listed if report.strategy == "template" else f"with toolfmt's prompts: {listed}"


# --- printing


def _elsewhere(format: ToolCallFormat) -> str:
    return _DOT.join(f"{runtime} {name}".replace(" ", _GLUE) for runtime, name in format.elsewhere.items())


def _reflowed(page: str) -> str:
    """The page with each paragraph on one line, to be wrapped to any width; what is indented stays as it is."""
    paragraphs = page.strip().split("\n\n")
    return "\n\n".join(text if text.startswith("    ") else text.replace("\n", " ") for text in paragraphs)


def _spaced(parts: Iterable[RenderableType]) -> Group:
    """The parts with an empty line between them."""
    return Group(*[Padding(part, (0 if position == 0 else 1, 0, 0, 0)) for position, part in enumerate(parts)])


def _printed(what: RenderableType, width: int, colour: bool) -> str:
    out = io.StringIO()
    console = Console(
        file=out,
        width=width,
        force_terminal=colour,
        color_system="standard" if colour else None,
        no_color=not colour,
        markup=False,
        highlight=False,
        emoji=False,
        legacy_windows=False,
    )
    console.print(what)
    lines = out.getvalue().replace(_GLUE, " ").split("\n")
    return "\n".join(line.rstrip() for line in lines)
