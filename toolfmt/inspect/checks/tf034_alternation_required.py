"""Two turns of the same role in a row are rejected or lost.

Clients send two user messages in a row when a request is cancelled and asked again, when a context is put before the
question, or when the user speaks right after a result. This template wants user and assistant in turns.

What to do: join neighbouring messages of one role into one before rendering; toolfmt's `render` does so, and puts an
empty answer between a result and the user.

Example: `{{ raise_exception('Conversation roles must alternate user/assistant/user/assistant/...') }}`.
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
    "assistants_in_a_row": "two answers in a row",
    "user_after_result": "a user message right after a result",
}


def check(facts: Facts) -> Iterator[Diagnostic]:
    answers = {name: facts.detail(name) for name in _WHAT if facts.detail(name).outcome in ("threw", "dropped")}
    if not answers:
        return
    first = next(iter(answers.values()))
    turns = listed(_WHAT[name] for name in answers)
    yield Diagnostic(
        f"The template does not support {turns}: {first.evidence}.",
        _fix(set(answers)),
        first.line,
    )


def _fix(answers: set[str]) -> str:
    """What to do for the pairs of messages that the template does not take."""
    join = "join consecutive messages of one role"
    insert = "send an empty response between a result and a user message"
    steps = [join if answers - {"user_after_result"} else "", insert if "user_after_result" in answers else ""]
    what = " and ".join(filter(None, steps))
    return f"{what[0].upper()}{what[1:]}; `toolfmt render` does this."
