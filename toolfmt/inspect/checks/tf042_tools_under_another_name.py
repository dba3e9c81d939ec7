"""The template ignores `tools` and reads the tools from another variable, key or role.

What it checks: whether the tools reach the prompt when they are sent in another form that the template reads: a
variable of its own, a key of the system message, or a role.

Why it matters: a request with `tools` succeeds, but the model never learns of them.

Affected runtimes: every runtime and client that sends the tools as `tools`.

Example:

    {% if functions %}Functions: {{ functions }}{% endif %}

Fix: send the tools in the form that the finding names, or describe them in a system message (in toolfmt, strategy
`prompt`). In the template, an additional line makes both work.

    {% if tools %}{% set functions = tools | tojson %}{% endif %}
    {% if functions %}Functions: {{ functions }}{% endif %}
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


def _place(name: str) -> str:
    """Return where the tools are read: a variable, or the key or role of a message, which the name describes."""
    return f"the variable `{name}`" if name.isidentifier() else name


def check(facts: Facts) -> Iterator[Diagnostic]:
    if facts.shows_tools:
        return
    needed = facts.needed_variables
    for variable in facts.sections.variables:
        if variable.takes_tools:
            others = [name for name in needed if name != variable.name]
            along = f", and {listed(others)} as well" if others else ""
            yield Diagnostic(
                f"The template ignores the request's `tools` and reads {_place(variable.name)} instead, as "
                f"{variable.takes_tools}",
                f"Pass the tools there{along}." if facts.rejects_questions else _FIX,
                variable.line,
                fixed_by="request" if facts.rejects_questions else None,
            )
