"""Tool call ids must have a special form: other ids are rejected, or replace the tool's name.

What it checks: calls and results with ids as OpenAI clients send them (`call_` and 24 letters and digits).

Why it matters: Mistral's templates reject all ids except nine letters and digits, so the request fails. Kimi's
templates write the id at the position of the tool's name. With an ordinary id, the model no longer sees which tool it
called.

Affected runtimes: every runtime that passes ids from OpenAI clients and servers to the template.

Example:

    <|tool_call_begin|>{{ tool_call.id }}<|tool_call_argument_begin|>

Fix: write ids in the form that the template needs, both on calls and on their results; `toolfmt render` does this.
"""

from __future__ import annotations

from collections.abc import Iterator

from toolfmt.inspect.checks.diagnostic import Diagnostic
from toolfmt.inspect.facts import Facts
from toolfmt.inspect.report.report import FixedBy, Severity

SEVERITY: Severity = "warning"
FIXED_BY: FixedBy = "render"
FORMS = ("client-ids",)


_FORMS = {
    "function": "functions.NAME:N, where N counts the calls of the conversation from 0",
    "nine": "nine letters and digits",
}


def check(facts: Facts) -> Iterator[Diagnostic]:
    answer = facts.detail("ids_ordinary")
    if answer.outcome not in ("threw", "name-lost"):
        return
    needed = facts.profile.ids
    ids = "ids from OpenAI clients (call_…)"
    rejected = answer.outcome == "threw"
    yield Diagnostic(
        f"Call {ids} are rejected: {answer.evidence}." if rejected else f"With call {ids}, {answer.evidence}.",
        f"Write ids as {_FORMS[needed]}; `toolfmt render` does this." if needed else "Omit the ids.",
        answer.line,
    )
