"""A system message in the middle of a conversation is refused or dropped, or the first one goes instead.

Agents remind the model of its rules there, or tell it of a change. This template takes a system message only at the
beginning, or only one.

What to do: put what it says into the first system message, or into the next user message; toolfmt's `render` does the
latter.

Example: `{{ raise_exception('System message must be at the beginning.') }}`.
"""

from __future__ import annotations

from collections.abc import Iterator

from toolfmt.inspect.checks.diagnostic import Diagnostic
from toolfmt.inspect.facts import Facts
from toolfmt.inspect.report.report import FixedBy, Severity

SEVERITY: Severity = "warning"
FIXED_BY: FixedBy = "render"


def check(facts: Facts) -> Iterator[Diagnostic]:
    answer = facts.detail("system_later")
    what = {
        "threw": f"is refused: {answer.evidence}",
        "dropped": "is dropped without a word",
        "misplaced": "takes the place of the first, which is lost",
    }.get(answer.outcome)
    if what is not None:
        yield Diagnostic(
            f"A system message after the first turn {what}.",
            "Put its text into the next user message; toolfmt's render does it for you.",
            answer.line,
        )
