"""The system message is in the prompt of a question, and no longer there once a tool has answered.

The template writes the system message beside the last question, and only where that is the last turn of all. With the
first result the model goes on without its instructions.

What to do: put the instructions at the beginning of the first user message; toolfmt's `render` does so where the prompt
would lose them.

Example: `{% if loop.last and system_message is defined %}{{ system_message + message.content }}{% endif %}`.
"""

from __future__ import annotations

from collections.abc import Iterator

from toolfmt.inspect.checks.diagnostic import Diagnostic
from toolfmt.inspect.checks.workarounds import give_instructions
from toolfmt.inspect.facts import Facts
from toolfmt.inspect.report.report import FixedBy, Severity

SEVERITY: Severity = "warning"
FIXED_BY: FixedBy = "render"


def check(facts: Facts) -> Iterator[Diagnostic]:
    answer = facts.capabilities["system"]
    if answer.outcome == "lost-later":
        yield Diagnostic(
            "The system message is lost once the result of a call is the last turn.",
            give_instructions(facts),
            answer.line,
        )
