"""Of two calls in one turn the second is dropped or refused.

Many models make several calls at once. This template shows the model only one of them (or throws), and the
results that follow answer calls that are not there.

What to do: put each call into an assistant turn of its own, followed by its result; toolfmt's `render` does so.

Example: `{{ message.tool_calls[0].function.name }}`.
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
    mend = " In the template, go through all of `message.tool_calls`." if answer.outcome == "dropped" else ""
    yield Diagnostic(
        f"A turn with two calls {what}: {answer.evidence}.",
        "Put each call into an assistant turn of its own, followed by its result; `toolfmt render` does this." + mend,
        answer.line,
    )
