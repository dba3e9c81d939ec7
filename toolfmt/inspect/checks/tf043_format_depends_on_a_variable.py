"""A variable of the template decides in which format calls are written.

What it checks: the calls that the template renders with different values of its variables.

Why it matters: the prompt teaches the model one format or another, but the runtime's parser reads only one. If the two
are set in different files, a changed setting makes calls arrive as raw text.

Affected runtimes: every runtime whose parser is set separately from the variable.

Example:

    {% if tool_call_format == 'json' %}<tool_call>{{ call | tojson }}</tool_call>{% else %}...{% endif %}

Fix: do not set the variable, or set the runtime's parser to match it.
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
            format_list = ", ".join(f"{name} with {value}" for value, name in variable.formats)
            yield Diagnostic(
                f"The variable {variable.name} changes the format of calls: {format_list}",
                "Set the runtime's parser to match the variable, or do not set the variable.",
                variable.line,
            )
