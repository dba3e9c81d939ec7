"""The template writes instructions into the prompt that do not come from the request.

What it checks: the prompt of a question without a system message, and whether its sentences remain if a system message
is sent. A report lists only its code, in the row `minor`.

Why it matters: usually this is a default system message: who the model is, that it is helpful, or the date of its
knowledge. Without a system message of your own, the model follows the default. If the default remains next to yours, it
adds to your instructions.

Affected runtimes: every runtime that renders this template.

Example:

    {% if messages[0].role != 'system' %}You are a helpful assistant.{% endif %}

Fix: send your own system message to replace the default, and read what remains.
"""

from __future__ import annotations

from collections.abc import Iterator

from toolfmt.inspect.checks.diagnostic import Diagnostic
from toolfmt.inspect.facts import Facts
from toolfmt.inspect.report.report import Answer, Severity

SEVERITY: Severity = "note"
ON_REQUEST = True
PROTECTED = True


def check(facts: Facts) -> Iterator[Diagnostic]:
    answer = facts.sections.safety.get("no_instructions")
    if answer is None or answer.answer != "no" or answer.outcome == "in-branch":  # TF086 reports a branch
        return
    yield Diagnostic(f"{answer.evidence[0].upper()}{answer.evidence[1:]}.", _fix(facts, answer), answer.line)


def _fix(facts: Facts, answer: Answer) -> str:
    """Return what to do. A system message helps only if it is accepted and replaces these sentences."""
    if answer.outcome == "in-some-conversations":  # only a plain question was tested with a system message
        return "Check whether you want these sentences."
    if not facts.profile.takes_system:
        return "Check whether you want these sentences. No system message replaces them."
    if answer.outcome == "stays" and "without a system message, it also writes" in answer.words:
        return "Check whether you want these sentences. A system message replaces only the last one."
    if answer.outcome == "stays":
        return "Check whether you want these sentences. A system message does not replace them."
    return "Send your own system message, or check whether you want these sentences."
