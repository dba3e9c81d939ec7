"""A turn with a call and `content: null` is refused, or loses its call.

OpenAI clients send `content: null` on turns that only call tools. This template joins the content to text
without looking. Or it takes null, and fails where there is no content at all: transformers 5 leaves keys out that are
null before it renders.

What to do: send an empty string instead of null; toolfmt's `render` does so where the template needs it.

Example: `{{ '<|im_start|>assistant' + message.content }}` with `content: null`.
"""

from __future__ import annotations

from collections.abc import Iterator

from toolfmt.inspect.checks.diagnostic import Diagnostic
from toolfmt.inspect.facts import Facts
from toolfmt.inspect.report.report import Answer, FixedBy, Severity

SEVERITY: Severity = "warning"
FIXED_BY: FixedBy = "render"


def check(facts: Facts) -> Iterator[Diagnostic]:
    null, absent = facts.capabilities["content_null"], facts.detail("content_absent")
    answer = absent if null.answer == "yes" else null
    if facts.renders_calls and answer.outcome in ("threw", "dropped"):
        given = "content null" if answer is null else "no content, as transformers 5 hands on null,"
        what = "is refused" if answer.outcome == "threw" else "loses its call"
        yield Diagnostic(f"A turn with a call and {given} {what}: {answer.evidence}.", _fix(facts, answer), answer.line)


def _fix(facts: Facts, answer: Answer) -> str:
    """What to send instead; how to mend the template is told where an empty text comes out right."""
    beside = facts.detail("text_beside_call").outcome
    if facts.yes("content_empty"):
        refuses = answer.error is not None and answer.error.kind == "refused"
        mend = "" if refuses else " In the template, write `message.content or ''`."
        return f"Send an empty string instead of null; toolfmt's render does it for you.{mend}"
    if facts.yes("content_null"):
        return (
            "Keep the key with null, where the runtime leaves it there; or render with toolfmt, which keeps the call."
        )
    if beside in ("call-dropped", "threw"):
        return "Render with toolfmt, which keeps the call."
    done = "; toolfmt's render does it for you" if beside == "dropped" else ""
    return f"Send a word of text instead of null{done}."
