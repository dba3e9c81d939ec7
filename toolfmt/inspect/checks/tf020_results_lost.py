"""The result of a tool does not reach the prompt, or is refused.

The model has called a tool and never sees what came back: it calls again, or makes the result up.

What to do: give the result as a user message that says which call it answers; toolfmt's `render` does so.

Example: a template that prints the roles `user` and `assistant` and skips every other.
"""

from __future__ import annotations

from collections.abc import Iterator

from toolfmt.inspect.checks.found import Found
from toolfmt.inspect.facts import Facts
from toolfmt.inspect.report import Severity

SEVERITY: Severity = "error"


def check(facts: Facts) -> Iterator[Found]:
    answer = facts.capabilities["tool_results"]
    if answer.answer == "yes" or not (facts.shows_tools or facts.renders_calls):
        return
    what = f"is refused: {answer.evidence}" if answer.answer == "error" else "is not in the prompt"
    yield Found(
        f"The result of a tool (role tool) {what}.",
        "Give the result as a user message that says which call it answers; toolfmt's render does it for you.",
        answer.line,
    )
