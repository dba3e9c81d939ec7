"""Ids of calls have to be written in a form of their own: others are rejected, or cost the tool's name.

OpenAI's clients and servers number calls `call_` and 24 letters and digits. Mistral's templates refuse all but nine
letters and digits. Kimi's write the id where the tool's name belongs: with an ordinary id the model no longer sees
which tool it has called.

What to do: write ids in the form the template needs, on calls and on their results alike; toolfmt's `render`
does so.

Example: `<|tool_call_begin|>{{ tool_call.id }}<|tool_call_argument_begin|>`.
"""

from __future__ import annotations

from collections.abc import Iterator

from toolfmt.inspect.checks.diagnostic import Diagnostic
from toolfmt.inspect.facts import Facts
from toolfmt.inspect.report.report import FixedBy, Severity

SEVERITY: Severity = "warning"
FIXED_BY: FixedBy = "render"


_FORMS = {"function": "functions.NAME:N, counted through the conversation", "nine": "nine letters and digits"}


def check(facts: Facts) -> Iterator[Diagnostic]:
    answer = facts.detail("ids_ordinary")
    if answer.outcome not in ("threw", "name-lost"):
        return
    needed = facts.profile.ids
    what = "are rejected" if answer.outcome == "threw" else "cost the tool's name"
    yield Diagnostic(
        f"Call ids from OpenAI clients (call_…) {what}: {answer.evidence}.",
        f"Write ids as {_FORMS[needed]}; `toolfmt render` does this." if needed else "Omit the ids.",
        answer.line,
    )
