"""The template draws by lot, however rarely that shows.

Two renders of the same request may differ although a hundred were alike: one draw in a thousand changes the prompt, and
no test finds it. (Where two renders did differ, TF052 shows them.)

What to do: take out of the template what draws.

Example: `{% if range(1000) | random == 7 %}` changes one prompt in a thousand.
"""

from __future__ import annotations

from collections.abc import Iterator

from toolfmt.inspect.checks import tf052_renders_differ
from toolfmt.inspect.checks.diagnostic import Diagnostic
from toolfmt.inspect.facts import Facts
from toolfmt.inspect.report.report import FixedBy, Severity

SEVERITY: Severity = "warning"
FIXED_BY: FixedBy = "template"


def check(facts: Facts) -> Iterator[Diagnostic]:
    if facts.renders is None:
        return
    template = facts.renders.template
    deciding = next((one.line for one in template.watch.conditions if one.about == "chance"), None)
    line = deciding or template.draws_line
    if line is None or (deciding is None and any(tf052_renders_differ.check(facts))):
        return
    how = "decides by lot what it writes" if deciding else "draws by lot"
    yield Diagnostic(
        f"The template {how}: the same request may give another prompt, however rarely.",
        "Take out of the template what draws.",
        line,
    )
