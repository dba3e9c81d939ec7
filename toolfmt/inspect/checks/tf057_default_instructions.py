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
        return "Check whether you want these sentences."
    if not facts.profile.takes_system:
        return "Check whether you want these sentences. No system message replaces them."
    if answer.outcome == "stays" and "without a system message, it also writes" in answer.words:
        return "Check whether you want these sentences. A system message replaces only the last one."
    if answer.outcome == "stays":
        return "Check whether you want these sentences. A system message does not replace them."
    return "Send your own system message, or check whether you want these sentences."
