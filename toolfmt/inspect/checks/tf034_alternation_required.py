"""Two consecutive messages of the same role are rejected or lost.

What it checks: two user messages in a row, two assistant messages in a row, and a user message directly after a tool
result.

Why it matters: the template requires that user and assistant alternate. Clients send two user messages in a row if a
request is canceled and repeated, or if context precedes the question. Or the user writes directly after a result.

Affected runtimes: every runtime that renders this template.

Example:

    {% if (message.role == 'user') != (loop.index0 % 2 == 0) %}
    {{ raise_exception('Conversation roles must alternate user/assistant/user/assistant/...') }}{% endif %}

Fix: join consecutive messages of one role, and send an empty response between a result and a user message; `toolfmt
render` does both.
"""

from __future__ import annotations

from collections.abc import Iterator

from toolfmt._util.text_lists import listed
from toolfmt.inspect.checks.diagnostic import Diagnostic
from toolfmt.inspect.facts import Facts
from toolfmt.inspect.report.report import FixedBy, Severity

SEVERITY: Severity = "warning"
FIXED_BY: FixedBy = "render"


_WHAT = {
    "users_in_a_row": "two user messages in a row",
    "assistants_in_a_row": "two responses in a row",
    "user_after_result": "a user message right after a result",
}


def check(facts: Facts) -> Iterator[Diagnostic]:
    answers = {name: facts.detail(name) for name in _WHAT if facts.detail(name).outcome in ("threw", "dropped")}
    if not answers:
        return
    first = next(iter(answers.values()))
    turns = listed((_WHAT[name] for name in answers), "or")
    yield Diagnostic(
        f"The template does not support {turns}: {first.evidence}.",
        _fix(set(answers)),
        first.line,
    )


def _fix(answers: set[str]) -> str:
    """Return what to do about the pairs of messages that the template does not accept."""
    join = "join consecutive messages of one role"
    insert = "send an empty response between a result and a user message"
    steps = [join if answers - {"user_after_result"} else "", insert if "user_after_result" in answers else ""]
    what = " and ".join(filter(None, steps))
    return f"{what[0].upper()}{what[1:]}; `toolfmt render` does this."
