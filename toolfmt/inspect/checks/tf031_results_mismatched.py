"""A result does not reach the model as what it is: refused or nameless without the tool's name, or out of place.

OpenAI's clients send a result with the id of its call and nothing else. This template wants the tool's `name` as
well, or loses or turns round the results of a turn with several calls.

What to do: put the tool's `name` on every result, and give results in the order of their calls; toolfmt's `render`
does both.

Example: `{{ '<tool_response name=' + message.name + '>' }}`.
"""

from __future__ import annotations

from collections.abc import Iterator

from toolfmt.inspect.checks.diagnostic import Diagnostic
from toolfmt.inspect.facts import Facts
from toolfmt.inspect.report.report import FixedBy, Severity

SEVERITY: Severity = "warning"
FIXED_BY: FixedBy = "render"


def check(facts: Facts) -> Iterator[Diagnostic]:
    unnamed = facts.detail("results_unnamed")
    if facts.renders_calls and unnamed.outcome in ("threw", "dropped", "name-lost"):
        refused = "is refused: " if unnamed.outcome == "threw" else "loses something: "
        yield Diagnostic(
            f"A result without the tool's name, as OpenAI's clients send it, {refused}{unnamed.evidence}.",
            "Put the tool's name on every result; toolfmt's render does it for you.",
            unnamed.line,
        )
    several = facts.detail("results_several")
    if several.outcome in ("threw", "dropped", "misplaced"):
        refused = "are refused: " if several.outcome == "threw" else "do not come out right: "
        yield Diagnostic(
            f"The results of a turn with several calls {refused}{several.evidence}.",
            "Make one call a turn; toolfmt's render does it for you.",
            several.line,
        )
