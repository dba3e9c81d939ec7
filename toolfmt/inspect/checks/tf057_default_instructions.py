"""The template writes sentences to the model that nobody gave it.

Mostly a default system message: who the model is, that it is helpful, a date of its knowledge. Without a system
message of your own the model follows that one; where it stays beside yours, it says more than you said.

What to do: give a system message where yours should stand in its place, and read what stays.

Example: `{% if messages[0].role != 'system' %}You are a helpful assistant.{% endif %}`.
"""

from __future__ import annotations

from collections.abc import Iterator

from toolfmt.inspect.checks.diagnostic import Diagnostic
from toolfmt.inspect.facts import Facts
from toolfmt.inspect.report.report import Answer, Severity

SEVERITY: Severity = "note"
ON_REQUEST = True


def check(facts: Facts) -> Iterator[Diagnostic]:
    answer = facts.sections.safety.get("no_instructions")
    if answer is None or answer.answer != "no" or answer.outcome == "in-branch":  # TF086 reports a branch
        return
    yield Diagnostic(f"{answer.evidence[0].upper()}{answer.evidence[1:]}.", _fix(facts, answer), answer.line)


def _fix(facts: Facts, answer: Answer) -> str:
    """A system message helps only where it is taken, and takes the place of these sentences."""
    if answer.outcome == "in-some-conversations":  # only those of a plain question were tried with a system message
        return "Make sure that these sentences are meant."
    if not facts.profile.takes_system:
        return "Make sure that these sentences are meant: no system message takes their place."
    if answer.outcome == "stays":
        return "Make sure that these sentences are meant: a system message does not take their place."
    return "Give a system message of your own, or make sure that these sentences are meant."
