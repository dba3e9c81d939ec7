"""Findings as workflow commands of GitHub Actions, which show them as annotations of a run and next to changed lines.

Syntax and escapes: https://docs.github.com/actions/reference/workflows-and-actions/workflow-commands. GitHub shows at
most ten annotations of each level for a step.
"""

from __future__ import annotations

from toolfmt.cli.printing.control_characters import visible
from toolfmt.cli.printing.sarif import file_and_line, message_text, relative
from toolfmt.cli.printing.severities import ignorer, notable, worst_first
from toolfmt.inspect.report.report import Severity
from toolfmt.model.batch import NOT_INSPECTED, InspectionOutcome

_COMMANDS: dict[Severity, str] = {"error": "error", "warning": "warning", "note": "notice"}


def workflow_commands(outcome: InspectionOutcome) -> str:
    """One line per finding, the worst first. With a baseline only new findings are shown.

    A model that was not inspected is an error.
    """
    report = outcome.report
    if report is None:
        return _command("error", relative(outcome.place), None, f"toolfmt: {NOT_INSPECTED}", visible(outcome.reason))
    lines = []
    for finding in worst_first(notable(report)):
        if finding.new is False:
            continue
        file, line = file_and_line(outcome.place, finding, report)
        message = f"{visible(message_text(finding, report))}\n{visible(finding.fix)}"
        lines.append(_command(_COMMANDS[finding.severity], file, line, f"{finding.code} {finding.name}", message))
    if report.ignored:
        named = ", ".join(f"{one.code} ({ignorer(one)}: {one.reason or 'no reason given'})" for one in report.ignored)
        lines.append(_command("notice", relative(outcome.place), None, "toolfmt: ignored findings", visible(named)))
    return "".join(lines)


def _command(name: str, file: str, line: int | None, title: str, message: str) -> str:
    properties = {"file": visible(file), **({} if line is None else {"line": str(max(1, line))}), "title": title}
    attributes = ",".join(f"{key}={escaped_property(value)}" for key, value in properties.items())
    return f"::{name} {attributes}::{escaped_message(message)}\n"


def escaped_message(text: str) -> str:
    """The text as a workflow command takes it after `::`."""
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def escaped_property(text: str) -> str:
    """The text as the value of a property."""
    return escaped_message(text).replace(":", "%3A").replace(",", "%2C")
