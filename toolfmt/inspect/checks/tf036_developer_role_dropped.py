"""A message of the role `developer` is dropped, refused, or written as an answer of the model.

Newer OpenAI clients send their instructions under that role instead of `system`. This template does not know it,
or takes every role but those it names for the assistant: the model reads the instructions as its own words.

What to do: send the message under the role `system`, or, where that is lost as well, at the beginning of the first
user message.

Example: a template that prints the roles it knows and skips every other.
"""

from __future__ import annotations

from collections.abc import Iterator

from toolfmt.inspect.checks.diagnostic import Diagnostic
from toolfmt.inspect.checks.workarounds import give_instructions
from toolfmt.inspect.facts import Facts
from toolfmt.inspect.report.report import Severity

SEVERITY: Severity = "note"


def check(facts: Facts) -> Iterator[Diagnostic]:
    answer = facts.detail("developer")
    if answer.outcome in ("threw", "dropped"):
        what = "refused" if answer.outcome == "threw" else "dropped without a word"
        # Not where a message of the role system is lost as well.
        instead = (
            "Send it under the role system; toolfmt's render does it for you."
            if facts.profile.takes_system
            else give_instructions(facts)
        )
        yield Diagnostic(f"A message of the role developer is {what}.", instead, answer.line)
    if answer.outcome == "as-answer":
        instead = (
            "under the role system" if facts.profile.takes_system else "at the beginning of the first user message"
        )
        what = "A message of the role developer is written as an answer of the model."
        yield Diagnostic(what, f"Send the instructions {instead}.", answer.line)
