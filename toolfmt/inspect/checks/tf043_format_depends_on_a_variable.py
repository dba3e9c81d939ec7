"""A variable of the template decides in which format calls are written.

The prompt teaches the model one format or another, and the runtime's parser reads only one. Where the two are set in
different places, a changed setting makes calls arrive as raw text.

What to do: leave the variable alone, or set the runtime's parser together with it.

Example: `{% if tool_call_format == 'json' %}` around the instructions for calls.
"""

from __future__ import annotations

from collections.abc import Iterator

from toolfmt.inspect.checks.diagnostic import Diagnostic
from toolfmt.inspect.facts import Facts
from toolfmt.inspect.report.report import Severity

SEVERITY: Severity = "note"


def check(facts: Facts) -> Iterator[Diagnostic]:
    for variable in facts.sections.variables:
        if variable.formats:
            told = ", ".join(f"{name} with {value}" for value, name in variable.formats)
            yield Diagnostic(
                f"The variable {variable.name} changes the format of calls: {told}",
                "Set the runtime's parser to match the variable, or do not set the variable.",
                variable.line,
            )
