"""The template takes tools, but not under the name that every client uses.

A request with `tools` succeeds and the model never hears of them. The template has another place for them: a variable
of its own, a key of the system message, or a role.

What to do: give the tools there, in the form that is told, or describe them in a system message (in toolfmt, strategy
`prompt`). A template with one more line (`set functions = tools | tojson`) would take both.

Example: `{% if functions %}Functions: {{ functions }}{% endif %}` in a template that never reads `tools`.
"""

from __future__ import annotations

from collections.abc import Iterator

from toolfmt._util.text_lists import listed
from toolfmt.inspect.checks.diagnostic import Diagnostic
from toolfmt.inspect.facts import Facts
from toolfmt.inspect.report.report import FixedBy, Severity

SEVERITY: Severity = "warning"
FIXED_BY: FixedBy = "prompt"
_FIX = "Pass the tools there, or use `toolfmt render --strategy prompt`."


def check(facts: Facts) -> Iterator[Diagnostic]:
    if facts.shows_tools:
        return
    needed = facts.needed_variables
    for variable in facts.sections.variables:
        if variable.takes_tools:
            others = [name for name in needed if name != variable.name]
            along = f", and {listed(others)} as well" if others else ""
            yield Diagnostic(
                f"The template ignores `tools` and reads {variable.name} instead, as {variable.takes_tools}",
                f"Pass the tools there{along}." if facts.refuses_questions else _FIX,
                variable.line,
                fixed_by="request" if facts.refuses_questions else None,
            )
