"""Calls and results of earlier turns are lost or refused when the tools are not given again.

A request without tools that continues a conversation with calls (a summary, a last answer) then loses that part of
the conversation, or fails.

What to do: give the tools with every request of a conversation that holds calls. Without them toolfmt's `render` writes
calls and results into the text of messages.

Example: `{% if tools %}` around the part that renders calls.
"""

from __future__ import annotations

from collections.abc import Iterator

from toolfmt.errors import TemplateError
from toolfmt.inspect.checks.diagnostic import Diagnostic
from toolfmt.inspect.facts import Facts
from toolfmt.inspect.probe.conversations import user
from toolfmt.inspect.report.report import Answer, FixedBy, Severity

SEVERITY: Severity = "warning"
FIXED_BY: FixedBy = "render"


def check(facts: Facts) -> Iterator[Diagnostic]:
    answer = facts.detail("history_without_tools")
    if facts.renders_calls and answer.outcome in ("threw", "dropped") and not _refuses_words(facts, answer):
        what = "refused" if answer.outcome == "threw" else "lost"
        yield Diagnostic(
            f"A conversation with calls is {what} when no tools are given: {answer.evidence}.",
            "Give the tools with every request of a conversation that holds calls; without them toolfmt's render "
            "writes calls and results as text.",
            answer.line,
        )


def _refuses_words(facts: Facts, answer: Answer) -> bool:
    """Whether a plain question without tools is refused in the same words, which TF003 tells."""
    asked = None if facts.renders is None else facts.renders.render(user())
    return isinstance(asked, TemplateError) and answer.error is not None and answer.error.own_words == asked.own_words
