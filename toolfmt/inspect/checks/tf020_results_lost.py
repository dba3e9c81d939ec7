"""The result of a tool does not reach the prompt, or is rejected.

What it checks: a conversation with a call and its result (role `tool`), and whether the result is in the prompt. If the
template handles a string like a list of characters, the finding asks for a list of text parts instead.

Why it matters: the model has called a tool and never sees the result. It calls again, or invents the result.

Affected runtimes: every runtime that renders this template.

Example:

    {% for message in messages if message.role != 'tool' %}<|{{ message.role }}|>{{ message.content }}<|end|>
    {% endfor %}

Fix: send the result as a user message that names its call; `toolfmt render` does this.

    {% for message in messages %}<|{{ message.role }}|>{{ message.content }}<|end|>
    {% endfor %}
"""

from __future__ import annotations

from collections.abc import Iterator

from toolfmt.inspect.checks.diagnostic import Diagnostic
from toolfmt.inspect.facts import Facts
from toolfmt.inspect.report.report import FixedBy, Severity

SEVERITY: Severity = "warning"
FIXED_BY: FixedBy = "render"


def check(facts: Facts) -> Iterator[Diagnostic]:
    answer = facts.capabilities["tool_results"]
    if answer.answer == "yes" or not (facts.shows_tools or facts.renders_calls):
        return
    if answer.outcome == "spelled" and facts.detail("results_as_parts").answer == "yes":
        yield Diagnostic(
            f"A tool result given as a string is not rendered completely: {answer.evidence}.",
            "Send the result as a list of text parts; `toolfmt render` does this.",
            answer.line,
        )
        return
    what = f"is rejected: {answer.evidence}" if answer.answer == "error" else "is not in the prompt"
    yield Diagnostic(
        f"A tool result (role `tool`) {what}.",
        "Send the result as a user message that names its call; `toolfmt render` does this."
        + ("" if answer.answer == "error" else " In the template, print `message.content` of the role `tool`."),
        answer.line,
    )
