"""The report on one model as text, from data: the same data give the same text.

The first screen has the verdict, what to do next, what will fail, and what the model can do. `full` adds every answer
with its evidence. `toolfmt.cli.printing.sections` prints the sections with the details. Text of a model directory is
untrusted: it is made `visible`, and nothing is interpreted as markup.
"""

from __future__ import annotations

import re
import textwrap
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, TypeAlias

from rich.table import Table
from rich.text import Text

from toolfmt._util.text_lists import listed
from toolfmt.cli.printing.control_characters import shortened, visible
from toolfmt.cli.printing.layout import GLUE, grid, printed, spaced
from toolfmt.cli.printing.phrases import phrases
from toolfmt.cli.printing.sections import chapters, everything
from toolfmt.cli.printing.settings import invented_result, runtime_rows, special_markers, stops
from toolfmt.cli.printing.severities import SEVERITY_STYLES, ignorer, notable, worst_first
from toolfmt.cli.printing.verdict import LEVEL_STYLES, LEVELS, counts, first_step, is_broken
from toolfmt.inspect.checks import summary
from toolfmt.inspect.report.growing_prompts import starts_vary
from toolfmt.inspect.report.report import Finding, Report
from toolfmt.inspect.report.sample_words import samples_in, with_sample_words
from toolfmt.templates import place_name

if TYPE_CHECKING:
    from rich.console import RenderableType

_LABEL = len("  definitions")
_NEXT = "  next"
_Row: TypeAlias = tuple[str, str, str, bool]
"""What a line is about, the status there, its text, and whether that is a command."""
_NARROWEST_ADVICE = 20
_COMMAND = re.compile(
    r"toolfmt (?:render .+? --request FILE(?: --var \S+)*|inspect .+? --fix --output COPY)"
    r"|apply_chat_template\(messages, tools=tools\)"
)
_LONGEST = 240
"""Maximum number of characters of a sentence on a terminal. Pipes and `full` get all of them."""
_WORDS = {"no": "dropped", "error": "rejected"}
_LOST_LATER = "rendered for a question, dropped after a tool result"
_NO_FORMAT = "unknown: no known parser parses the calls"
_NO_CALLS = "unknown: the template renders no calls"
_NOT_SEEN = "derived from how the template renders past calls, not from model output"


def report_text(report: Report, width: int, colour: bool, *, full: bool, notes: bool, whole: bool) -> str:
    """Return the report as text.

    With `notes`, notes are shown like findings. With `full`, every answer with its evidence follows. Sentences are
    printed `whole`, or cut if they are long.
    """
    measured, report = report, with_sample_words(report)
    every = notes or full
    shown = worst_first((*report.findings, *(report.notes if every else ())))
    longest = None if whole or full else _LONGEST
    first: list[RenderableType] = [_title(report), _rows([_verdict(report), ("", Text(counts(report)))])]
    parts: list[RenderableType] = []
    others = [] if every else [one for one in notable(report) if one.severity == "note"]
    if shown or others:
        parts.append(_findings(shown, others, longest))
    if report.ignored:
        parts.append(_rows(_ignored(report, longest, full=full)))
    rows = (
        []
        if is_broken(report) or report.template is None
        else [*_abilities(report), *_format(report), *chapters(report)]
    )
    rows += [] if every else _hidden(report)
    if rows:
        parts.append(_rows(rows))
    if full:
        parts += everything(report)
    head, rest = (printed(spaced(some), width, colour) for some in (first, parts))
    last: list[RenderableType] = []
    if samples := samples_in(f"{head}{rest}") if report is not measured else []:
        are = "is a sample word" if len(samples) == 1 else "are sample words"
        last.append(_rows([("test data", Text(f"{listed(samples[:3])} {are} of toolfmt"))]))
    if more := _more(report, full):
        last.append(_rows([("more", Text(more))]))
    rest = "\n".join(filter(None, (rest, printed(spaced(last), width, colour) if last else "")))
    return "\n".join(filter(None, (head, _next(report, width), rest)))


# --- the parts of a report


def _title(report: Report) -> Text:
    template = report.template
    where = "no chat template"
    if template is not None:
        where = template.origin + (f" (template {template.name})" if template.name != "default" else "")
    title = Text(visible(place_name(report.path)), "bold")
    alone = report.model_type is None and where == place_name(report.path)
    kind = "a template without model files" if alone else f"{report.model_type or 'no model type'}   {where}"
    title.append(f"   {visible(kind)}", "not bold")
    return title


def _verdict(report: Report) -> tuple[str, Text]:
    verdict = report.verdict
    word = Text(verdict.tools, LEVEL_STYLES[LEVELS[verdict.tools]])
    return "verdict", word.append(f": {visible(verdict.sentence)}", "default")


def _abilities(report: Report) -> list[tuple[str, Text]]:
    """Return what the template supports, each with its notes, and one line of what it does not support."""
    rows: list[tuple[str, Text]] = []
    others: dict[str, list[str]] = {"no": [], "error": []}
    for name, capability, describe in _ROWS:
        answer = report.capabilities[capability]
        line = "" if answer.line is None else f" (line{GLUE}{answer.line})"
        if answer.answer == "yes":
            text = "; ".join((describe(report), *phrases(report, name)))
            rows.append((name, Text(visible(text)).append(line, "dim")))
        elif answer.outcome == "lost-later":
            rows.append((name, Text(_LOST_LATER).append(line, "dim")))
        else:
            others[answer.answer].append(name)
    return [*rows, *((_WORDS[word], Text(", ".join(names))) for word, names in others.items() if names)]


def _format(report: Report) -> list[tuple[str, Text]]:
    """Return the format of calls, if the verdict does not contain it."""
    decided = report.format
    if decided.derived is not None:
        text = f"{decided.name} (call syntax: {decided.derived.kind}), {decided.derived.proof}; {_NOT_SEEN}"
        return [("format", Text(visible(text)))]
    if report.verdict.tools != "broken":
        return []
    if decided.name is None:
        rendered = report.capabilities["tool_calls"].answer == "yes"
        return [("format", Text(_NO_FORMAT if rendered else _NO_CALLS))]
    proofs = [evidence for evidence in decided.evidence if evidence.source == decided.confidence]
    proof = proofs[0].at_a_glance if proofs else "the default, without evidence"
    how = " (declared)" if decided.confidence == "declared" else ""
    return [("format", Text(f"{visible(decided.name)}{how}: {visible(proof)}"))]


def _calls(report: Report) -> str:
    able = report.capabilities
    several = "several per turn" if able["parallel_tool_calls"].answer == "yes" else "one per turn"
    forms = [f"{form}s" for form in ("object", "string") if able[f"arguments_{form}"].answer == "yes"]
    contents = [content for content in ("null", "empty") if able[f"content_{content}"].answer == "yes"]
    arguments = f"arguments as {' or '.join(forms)}" if forms else "arguments changed in every form"
    content = f"content may be {' or '.join(contents)}" if contents else "content must not be null or empty"
    return f"{several}; {arguments}; {content}"


def _results(report: Report) -> str:
    details = report.sections.details
    paired, several, unnumbered = map(details.get, ("ids_paired", "results_several", "results_unnumbered"))
    if paired is not None and paired.answer == "yes":
        return "in the prompt; linked to their calls by id"
    named_by_id = several is not None and several.answer == "yes"
    if named_by_id and unnumbered is not None and unnumbered.outcome == "name-lost":
        return "in the prompt; an id only selects the tool's name"
    return "in the prompt; not linked to their calls by id"


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


def _rows(lines: Iterable[tuple[str, Text]]) -> Table:
    """Return lines of text under the names of their sections. A name is printed once."""
    table = grid(first=_LABEL)
    before = ""
    for name, line in lines:
        table.add_row(Text("" if name == before else f"  {name}"), line)
        before = name
    return table


def _findings(findings: Iterable[Finding], notes: Sequence[Finding], longest: int | None) -> Table:
    """Return the findings, the worst first, each with its fix, and one line with the number of notes of each code."""
    table = Table.grid(padding=(0, 2, 0, 0))
    for _ in ("severity", "code"):
        table.add_column(no_wrap=True)
    table.add_column(overflow="fold")
    for finding in findings:
        style = SEVERITY_STYLES[finding.severity]
        new = "new: " if finding.new else ""
        table.add_row(
            Text("  " + finding.severity, style), Text(finding.code, style), Text(new + _message(finding, longest))
        )
        table.add_row("", "", Text("→ " + _sentence(finding.fix, longest), "dim"))
    if notes:
        table.add_row(Text("  notes", "dim"), Text(str(len(notes)), "dim"), Text(_counted(notes), "dim"))
    return table


def _hidden(report: Report) -> list[tuple[str, Text]]:
    """Return a line of the notes that only `--full` shows."""
    names = dict.fromkeys(f"{summary(one)} ({one.code})" for one in report.notes if one.on_request and not one.new)
    return [("minor", Text(f"{', '.join(names)}; show with --full"))] if names else []


def _ignored(report: Report, longest: int | None, *, full: bool) -> list[tuple[str, Text]]:
    """Return the ignored findings, each with what ignores it and why."""
    rows = []
    for one in report.ignored:
        reason = _sentence(one.reason, longest) or "no reason given"
        text = f"{one.severity} {one.code}, by {visible(ignorer(one))}: {reason}"
        rows.append(("ignored", Text(f"{text} ({_message(one, longest)})" if full else text)))
    return rows


def _message(finding: Finding, longest: int | None) -> str:
    """Return the message with the line. The title contains the file."""
    return _sentence(finding.message, longest) + ("" if finding.line is None else f" (line{GLUE}{finding.line})")


def _sentence(sentence: str, longest: int | None) -> str:
    return visible(sentence) if longest is None else shortened(sentence, longest)


def _counted(notes: Sequence[Finding]) -> str:
    """Return the codes of notes, each with how often it was found, and how many are new."""
    times = Counter(note.code for note in notes)
    codes = " ".join(code if count == 1 else f"{code} ×{count}" for code, count in times.items())
    new = sum(note.new is True for note in notes)
    return f"{codes}{f', {new} of them new' if new else ''}; show with --full"


# --- what to do next


def _next(report: Report, width: int) -> str:
    """Return lines with the next steps. A command is on one line, however long."""
    step = first_step(report)
    first = visible("{} (see below){}: {}".format(*step)) if step else ""
    rows = [*([("first", "", first, False)] if first else ()), *_serving(report), *_decoding(report)]
    names, statuses = (max((len(row[column]) for row in rows), default=0) for column in (0, 1))
    lines = []
    for where, status, what, typed in rows:
        start = f"{where:{names}}  " + (f"{status:{statuses}}  " if status else "")
        wrapped = [what] if typed else _wrapped(what, max(width - len(_NEXT) - 2 - len(start), _NARROWEST_ADVICE))
        lines += [f"{start if number == 0 else ' ' * len(start)}{line}" for number, line in enumerate(wrapped)]
    labels = [_NEXT, *[" " * len(_NEXT)] * len(lines)]
    return "".join(f"{label}  {line}".rstrip() + "\n" for label, line in zip(labels, lines, strict=False))


def _wrapped(text: str, room: int) -> list[str]:
    """Return the text wrapped. A command in it stays on one line, however long, so that it can be copied."""
    held = _COMMAND.sub(lambda command: command[0].replace(" ", GLUE), text)
    lines = textwrap.wrap(held, room, break_on_hyphens=False, break_long_words=False)
    return [line.replace(GLUE, " ") for line in lines]


def _serving(report: Report) -> list[_Row]:
    """Return the status of each runtime and what to set there: a line each, with its remark below."""
    rows: list[_Row] = []
    for one in runtime_rows(report):
        rows.append((one.runtime, one.status, one.text, one.typed))
        rows += [("", "", one.remark, False)] if one.remark else []
    return rows


def _decoding(report: Report) -> list[_Row]:
    """Return notes for decoding: stop strings, how responses start, which markers a detokenizer would drop.

    Empty if no prompt can be rendered.
    """
    if is_broken(report):
        return []
    lines: list[_Row] = []
    if strings := _stops(report):
        lines.append(("stop strings", "", strings, False))
    if report.profile.prefill:
        prefill = shortened(report.profile.prefill, _LONGEST)
        when = (
            " after a user message, but not in every turn"
            if starts_vary(report.sections.response_starts)
            else " by default"
        )
        lines.append(("prompt", "", f'ends with "{prefill}"{when}; the output continues from there', False))
    special = special_markers(report)
    if special:
        verb = "is a special token" if len(special) == 1 else "are special tokens"
        lines.append(("decode", "", f"with skip_special_tokens=False: {' '.join(special)} {verb}", False))
    return lines


def _stops(report: Report) -> str:
    """Return the stop strings, and the additional ones of a prompt that describes the tools."""
    strings = "; ".join(" ".join(filter(None, (" ".join(marks), where))) for marks, where in stops(report))
    invented = invented_result(report)
    return f"{strings}; also {invented}" if strings and invented else strings or invented


def _more(report: Report, full: bool) -> str:
    """Return where to find details: on the worst finding, and on everything. Empty if there are none."""
    worst = worst_first(notable(report))[:1]
    explained = [f"toolfmt explain {finding.code}" for finding in worst]
    return "; ".join([*explained, *(() if full else ("--full shows every result with its evidence",))])
