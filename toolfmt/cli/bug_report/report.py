"""Create a bug report in Markdown: versions, the verdict on a model and its format, a masked output and its events.

An error while it is created becomes part of the report. The fields of an inspection are selected one by one, so that a
new field is not included until someone has reviewed it.
"""

from __future__ import annotations

import json
import re
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from toolfmt.cli.bug_report.errors import error_lines
from toolfmt.cli.bug_report.masking import Masking
from toolfmt.cli.bug_report.output import events_of, masked_tools, names_in, outline
from toolfmt.cli.bug_report.versions import versions
from toolfmt.errors import ToolfmtError
from toolfmt.formats import ToolCallFormat
from toolfmt.formats.known import KNOWN
from toolfmt.inspect.report.report import Finding, Report
from toolfmt.templates.files.model_files import JINJA, TOKENIZER, ModelFiles

HEAD = """Made by `toolfmt report-bug`, which sends nothing. Read it before you paste it.

It contains versions. For a model, it contains the verdict, codes, line numbers and the sha256 of its templates. For an
output and its tools, it contains only their structure. ASCII letters become x or X, digits 1, and characters outside
ASCII ö; spaces and ASCII punctuation stay. Markers and words that toolfmt knows stay, too. Names of tools and
parameters are replaced by made-up ones. It contains no paths and no text of the template.
"""
_TEMPLATES = ("default", "tool_use", "rag")
_FORMATS = {name for known in KNOWN for name in (known.name, *known.aliases)} | {"derived"}
_MODEL_TYPES = {name for known in KNOWN for name in known.model_types}


@dataclass(frozen=True)
class WrongOutput:
    """An output that is parsed wrong. `format` is None for the format of the model."""

    text: str
    format: ToolCallFormat | None
    tools: list[dict[str, Any]] | None = None


def bug_report(
    place: str | None, output: WrongOutput | None, *, trusted: bool = False, warn: Callable[[str], object] | None = None
) -> str:
    """Return the report on the model at `place` and on an output. Raises `ToolfmtError` if the format is unknown.

    `warn` gets one line if the model cannot be read. That line contains the path; the report does not.
    """
    parts = [HEAD, *_section("Versions", "text", [f"{name} {version}" for name, version in versions().items()])]
    with warnings.catch_warnings(action="ignore"):  # they quote the tools
        format, prefix = None, ""
        if place is not None:
            format, prefix = _add_model(parts, place, trusted, warn)
        if output is not None:
            _add_output(parts, output, output.format or format, prefix)
    return _visible("\n".join(parts) + "\n")


def _add_model(
    parts: list[str], place: str, trusted: bool, warn: Callable[[str], object] | None
) -> tuple[ToolCallFormat | None, str]:
    """Add the sections of the model. Return its format, if known, and the start of its output."""
    title = "The model cannot be read"
    try:
        from toolfmt.model.model import load

        model = load(place, trusted=trusted)
        title = "The inspection fails"
        parts += _section("Model", "json", _json_lines(_files(model.files)))
        report = model.inspect()
        parts += _section("Inspection", "json", _json_lines(_inspection(report)))
    except Exception as error:  # noqa: BLE001 - whatever it is, it is the bug to report
        if isinstance(error, ToolfmtError) and warn is not None:
            warn(str(error))
        parts += _section(title, "text", error_lines(error, place))
        return None, ""
    return model.profile.tool_call_format, report.profile.prefill


def _add_output(parts: list[str], output: WrongOutput, format: ToolCallFormat | None, prefix: str) -> None:
    if format is None:
        raise ToolfmtError("the format of this model is not known; name the format of the output with --format")
    masking = Masking(names=names_in(output.tools))
    text, tools, masked_prefix = (
        masking.masked(output.text),
        masked_tools(output.tools, masking),
        masking.masked(prefix),
    )
    name = _known(format.name, _FORMATS)
    parts += _section(
        "Output", "json", _json_lines({"format": name, "text": text, "tools": tools, "prefix": masked_prefix})
    )
    events = events_of(format, text, tools, masked_prefix)
    parts += _section("Events", "text", [one if isinstance(one, str) else _line(one.to_dict()) for one in events])
    original = outline(events_of(format, output.text, output.tools, prefix))
    if outline(events) == original:
        parts.append("\nThe original output gives the same events at the same positions.")
    else:
        parts.append(
            "\nThe original output gives other events than the masked one above, so the bug may not show there. These "
            "are the events of the original, with the length of each text:"
        )
        parts += _section("Events of the original output", "text", [_line(one) for one in original])
    if outline(events_of(format, output.text, output.tools, prefix, step=1)) != original:
        parts.append("\nFed one character at a time, the original output gives other events.")
    parts.append("\n## Expected\n\n(Which calls, with which arguments?)")


def _files(files: ModelFiles) -> dict[str, Any]:
    templates = [
        {"origin": _known(one.origin, (JINJA, TOKENIZER)), "name": _known(one.name, _TEMPLATES), "sha256": one.sha256}
        for one in files.templates
    ]
    return {"kind": files.kind, "templates": templates, "problems": len(files.problems)}


def _inspection(report: Report) -> dict[str, Any]:
    decision, profile = report.format, report.profile
    return {
        "verdict": report.verdict.tools,
        "model_type": _known(report.model_type, _MODEL_TYPES),
        "format": {
            "name": _known(decision.name, _FORMATS),
            "confidence": decision.confidence,
            "evidence": [[one.source, _known(one.format, _FORMATS)] for one in decision.evidence],
        },
        "strategy": report.strategy,
        "capabilities": {
            name: [answer.answer, answer.outcome, answer.line] for name, answer in report.capabilities.items()
        },
        "findings": [_finding(one) for one in (*report.findings, *report.notes, *report.ignored)],
        "stop": [Masking().masked(mark) for mark in profile.stop],
        "prefill": Masking().masked(profile.prefill),
    }


def _finding(finding: Finding) -> list[Any]:
    """Return the code and the line of a finding. The message may quote the template."""
    return [finding.severity, finding.code, finding.line]


def _known(text: str | None, known: Any) -> str | None:
    return text if text is None or text in known else Masking().masked(text)


# --- Markdown


def _section(title: str, language: str, lines: list[str]) -> list[str]:
    """Return a heading and the lines in a fence that none of the lines can close."""
    longest = max(map(len, re.findall("`+", "\n".join(lines))), default=0)
    fence = "`" * max(3, longest + 1)
    return [f"\n## {title}\n", f"{fence}{language}", *lines, fence]


def _json_lines(value: Mapping[str, Any]) -> list[str]:
    """Return a JSON object with one line per member."""
    return ["{", ",\n".join(f"  {_line(name)}: {_line(one)}" for name, one in value.items()), "}"]


def _line(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def _visible(text: str) -> str:
    """Return the text with escapes for characters that are invisible or control a terminal or a page."""
    return "".join(char if char.isprintable() or char in "\n\t" else json.dumps(char)[1:-1] for char in text)
