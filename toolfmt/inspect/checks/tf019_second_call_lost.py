"""The second of two calls in one turn is dropped or rejected.

What it checks: an assistant turn with two tool calls, and whether both are in the prompt.

Why it matters: many models make several calls at once. The template shows the model only one of them, or raises. The
results that follow belong to calls that are not in the prompt.

Affected runtimes: every runtime that renders this template.

Example:

    {{ message.tool_calls[0].function.name }}

Fix: put each call into an assistant turn of its own, followed by its result; `toolfmt render` does this.

    {% for call in message.tool_calls %}{{ call.function.name }}{% endfor %}
"""

from __future__ import annotations

from collections.abc import Iterator

from toolfmt.inspect.checks.diagnostic import Diagnostic
from toolfmt.inspect.facts import Facts
from toolfmt.inspect.report.report import FixedBy, Severity

SEVERITY: Severity = "warning"
WHY_NOT_FIXED = "the template does not show where a second call belongs"
FIXED_BY: FixedBy = "render"


def check(facts: Facts) -> Iterator[Diagnostic]:
    answer = facts.capabilities["parallel_tool_calls"]
    if not facts.renders_calls or answer.answer == "yes":
        return
    what = "is rejected" if answer.answer == "error" else "goes wrong"
    template_fix = " In the template, go through all of `message.tool_calls`." if answer.outcome == "dropped" else ""
    yield Diagnostic(
        f"A turn with two calls {what}: {answer.evidence}.",
        "Put each call into an assistant turn of its own, followed by its result; `toolfmt render` does this."
        + template_fix,
        answer.line,
    )
