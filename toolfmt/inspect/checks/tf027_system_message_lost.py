"""The system message is refused or dropped.

Instructions never reach the model, and neither do tools that are described in a system message.

What to do: put the instructions at the beginning of the first user message; toolfmt's `render` does so.

Example: `{{ raise_exception('System role not supported') }}`.
"""

from __future__ import annotations

from collections.abc import Iterator

from toolfmt.inspect.checks.diagnostic import Diagnostic
from toolfmt.inspect.checks.workarounds import give_instructions
from toolfmt.inspect.facts import Facts
from toolfmt.inspect.probe.capabilities import takes_questions
from toolfmt.inspect.report.report import FixedBy, Severity

SEVERITY: Severity = "warning"
FIXED_BY: FixedBy = "render"


def check(facts: Facts) -> Iterator[Diagnostic]:
    answer = facts.capabilities["system"]
    if facts.renders is None or facts.profile.takes_system or not takes_questions(facts.renders):
        return
    what = f"is refused: {answer.evidence}" if answer.answer == "error" else f"is lost: {answer.evidence}"
    yield Diagnostic(
        f"The system message {what}.",
        give_instructions(facts),
        answer.line,
    )
