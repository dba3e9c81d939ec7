"""On another day, or at another hour, the template writes something else than another date.

That a prompt holds the date is one thing (TF004). Here the clock decides what else is written: tools, messages or
instructions come and go with the calendar. What was tested today does not hold tomorrow, and nothing tells.

What to do: render at a fixed time, or take the condition out of the template.

Example: `{% if strftime_now('%Y') | int > 2026 %}` … `{% else %}` the tools `{% endif %}`.
"""

from __future__ import annotations

from collections.abc import Iterator

from toolfmt.inspect.checks.diagnostic import Diagnostic
from toolfmt.inspect.facts import Facts
from toolfmt.inspect.report.report import FixedBy, Severity

SEVERITY: Severity = "warning"
FIXED_BY: FixedBy = "request"


def check(facts: Facts) -> Iterator[Diagnostic]:
    for branch in facts.sections.branches:
        if branch.by == "clock":
            yield Diagnostic(
                f"The clock decides what is written: on {branch.place}, {branch.effect}.",
                "Render at a fixed time (in Python, Model.render takes one as now), or take the condition out of the "
                "template.",
                branch.line,
            )
