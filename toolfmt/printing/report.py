"""The report on one model as text: data in, text out, the same text for the same data.

At one glance: what the model can do, its format, what else a person needs, what will go wrong, what to do next. Every
answer with its evidence comes with `full`. The chapters behind the abilities are in `toolfmt.printing.chapters`. What
comes from a model directory is untrusted: it is made `visible`, and nothing is read as markup.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from toolfmt.inspect.report import Finding, Report
from toolfmt.printing.chapters import chapters, everything, special_markers
from toolfmt.printing.findings import SEVERITY_STYLES, worst_first
from toolfmt.printing.layout import ANSWER_STYLES, UNWRAPPED, grid, printed, shortened, spaced, visible
from toolfmt.printing.phrases import phrases
from toolfmt.printing.verdict import counts, verdict
from toolfmt.templates import place_name

_CONFIDENCE_STYLES = {"declared": "green", "verified": "green", "signature": "yellow", "model-type": "yellow"}
_VERDICT_STYLES = {"good": "bold green", "care": "bold yellow", "bad": "bold red"}
_LONGEST_EVIDENCE = 160
_LONGEST_MESSAGE = 240
"""So many characters of a finding are printed at a glance; all of them in full, and in JSON."""
_LABEL = len("  definitions")
_MOST_NOTES = 4
"""More notes than these are told by their codes."""
_MOST_EXPLAINED = 6
_MORE = (("more", "--full: every answer with its evidence; --html FILE: a page"),)


def report_text(report: Report, width: int, colour: bool, *, full: bool = False) -> str:
    """The report at one glance; with `full` every answer with its evidence behind it."""
    parts: list[RenderableType] = [
        _title(report),
        _rows([_verdict(report)]),
        Group(_abilities(report), _rows(_decisions(report))),
    ]
    told_chapters = chapters(report)
    if told_chapters:
        parts.append(_rows(told_chapters))
    told, notes = worst_first(report.findings), report.notes
    if told or notes:
        parts.append(
            _findings(
                report,
                [*told, *notes] if full else told,
                () if full else notes,
                width,
                UNWRAPPED if full else _LONGEST_MESSAGE,
            )
        )
    parts.append(_next(report, full))
    if full:
        parts += everything(report)
    return printed(spaced(parts), width, colour)


# --- the parts of a report


def _title(report: Report) -> Text:
    template = report.template
    where = "no chat template"
    if template is not None:
        where = template.origin + (f" (template {template.name})" if template.name != "default" else "")
    title = Text(visible(place_name(report.path)), "bold")
    title.append(f"   {visible(report.model_type or 'no model type')}   {visible(where)}", "not bold")
    return title


def _verdict(report: Report) -> tuple[str, Text]:
    told = verdict(report)
    return "tools", Text(told.word.lower(), _VERDICT_STYLES[told.level]).append(f": {counts(report)}", "default")


def _abilities(report: Report) -> Table:
    table = Table.grid(padding=(0, 2, 0, 0), expand=True)
    table.add_column("ability", no_wrap=True, width=_LABEL)
    table.add_column("answer", no_wrap=True)
    table.add_column("what", ratio=1, overflow="fold")
    table.add_column("line", justify="right", no_wrap=True)
    for name, capability, said in _ROWS:
        answer = report.capabilities[capability]
        what = said(report) if answer.answer == "yes" else answer.evidence
        table.add_row(
            Text("  " + name),
            Text(answer.answer, ANSWER_STYLES[answer.answer]),
            Text(shortened(what, _LONGEST_EVIDENCE)),
            Text("" if answer.line is None else f"line {answer.line}", "dim"),
        )
        for line in phrases(report, name) if answer.answer == "yes" else ():
            table.add_row("", "", Text(visible(line)), "")
    return table


def _decisions(report: Report) -> list[tuple[str, Text]]:
    """The format with what proves it, and how tools go in."""
    format = report.format
    proofs = [evidence for evidence in format.evidence if evidence.source == format.confidence] or format.evidence
    shown = proofs[0].at_a_glance if proofs else "nothing tells it"
    detail = shortened(shown, 2 * _LONGEST_EVIDENCE)
    decided = Text(format.name or "none", "bold")
    decided.append(f", {format.confidence}", _CONFIDENCE_STYLES.get(format.confidence, "red")).append(
        f": {detail}", "default"
    )
    strategy = Text(report.strategy, "bold").append(f": {_strategy(report)}", "default")
    return [("format", decided), ("strategy", strategy)]


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
    markers = report.profile.reasoning
    return f"between {markers[0]} and {markers[1]}" if markers else report.capabilities["reasoning"].words


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


def _rows(lines: Iterable[tuple[str, Text]]) -> Table:
    """Lines of text under the names of their chapters; a name is told once."""
    table = grid(first=_LABEL)
    before = ""
    for name, line in lines:
        table.add_row(Text("" if name == before else f"  {name}"), line)
        before = name
    return table


def _findings(report: Report, findings: Iterable[Finding], notes: Sequence[Finding], width: int, longest: int) -> Table:
    """The findings, the worst first, each with what to do; a line for each note, or one for all where they are many."""
    table = Table.grid(padding=(0, 2, 0, 0))
    for _ in ("severity", "code"):
        table.add_column(no_wrap=True)
    table.add_column(overflow="fold")
    for finding in findings:
        style = SEVERITY_STYLES[finding.severity]
        table.add_row(Text("  " + finding.severity, style), Text(finding.code, style), Text(_message(finding, longest)))
        table.add_row("", "", Text("→ " + visible(finding.fix), "dim"))
    room = width - len("  warning  TF000  ")
    for note in notes if len(notes) <= _MOST_NOTES else ():
        table.add_row(Text("  note", "dim"), Text(note.code, "dim"), Text(shortened(_message(note, room), room), "dim"))
    if len(notes) > _MOST_NOTES:
        codes = " ".join(dict.fromkeys(note.code for note in notes))
        table.add_row(Text("  notes", "dim"), Text(str(len(notes)), "dim"), Text(f"{codes}: see --full", "dim"))
    return table


def _message(finding: Finding, longest: int) -> str:
    """What was found, with the line; the file stands in the title."""
    return shortened(finding.message, longest) + ("" if finding.line is None else f" (line {finding.line})")


# --- what to do next


def _next(report: Report, full: bool) -> Table:
    table = Table.grid(padding=(0, 2, 0, 0))
    for _ in ("next", "where"):
        table.add_column(no_wrap=True)
    table.add_column(overflow="fold")
    lines = [*_serving(report), *_decoding(report), *_explaining(report), *(() if full else _MORE)]
    for position, (where, what) in enumerate(lines):
        table.add_row(Text("" if position else "  next"), Text(where), Text(what))
    return table


def _serving(report: Report) -> list[tuple[str, str]]:
    """What to set in each runtime: one runtime a line; runtimes for which nothing can be set share a line."""
    advice = report.sections.advice
    without: dict[str, list[str]] = {}
    for one in advice:
        if not one.supported:
            without.setdefault(visible(one.text), []).append(visible(one.runtime))
    lines = [(visible(one.runtime), visible(one.text)) for one in advice if one.supported]
    return [*lines, *((", ".join(names), text) for text, names in without.items())]


def _decoding(report: Report) -> list[tuple[str, str]]:
    """What to know where answers are read: where they stop, how they begin, which markers a detokenizer would drop."""
    lines = []
    if report.profile.stop:
        lines.append(("stop at", " or ".join(map(visible, report.profile.stop))))
    if report.profile.prefill:
        lines.append(("answers", f"begin with {visible(report.profile.prefill)}, which the prompt has written"))
    special = special_markers(report)
    if special:
        verb = "is a special token" if len(special) == 1 else "are special tokens"
        lines.append(("decode", f"with skip_special_tokens=False: {' '.join(special)} {verb}"))
    return lines


def _explaining(report: Report) -> list[tuple[str, str]]:
    codes = list(dict.fromkeys(finding.code for finding in worst_first(report.findings)))
    if not codes:
        return []
    others = f" (or {', '.join(codes[1:_MOST_EXPLAINED])}{', …' if len(codes) > _MOST_EXPLAINED else ''})"
    return [("explain", f"toolfmt explain {codes[0]}" + (others if codes[1:] else ""))]
