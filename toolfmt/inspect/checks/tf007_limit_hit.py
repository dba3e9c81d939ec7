"""The template needs more CPU time, memory or output than an inspection allows.

What it checks: the whole inspection against limits, including the time to parse the rendered prompts. A normal template
stays far below them. A busy machine never causes this finding.

Why it matters: a chat template is a program that comes with the model. It cannot access files or the network, but it
can hang the process that renders it, or fill the memory.

Affected runtimes: every runtime that renders this template. Some environments compute the expression below when they
compile the template, even in a branch that is never reached.

Example:

    {{ 'a' * 10**10 }}

Fix: do not serve this template. Look at the line in the finding, and compare the template with the repository of the
original model. If you trust the template, `toolfmt inspect --trusted` runs it without limits.
"""

from __future__ import annotations

from collections.abc import Iterator

from toolfmt.errors import OF_THE_PROCESS
from toolfmt.inspect.checks.diagnostic import Diagnostic
from toolfmt.inspect.facts import Facts
from toolfmt.inspect.report.report import Severity

SEVERITY: Severity = "error"
PROTECTED = True


def check(facts: Facts) -> Iterator[Diagnostic]:
    failure = facts.profile.failure
    if failure is None or not failure.limit:
        return
    fix = "Do not serve this template: no legitimate template takes this much."
    if failure.limit == "crash":
        fix = "Do not serve this template before you know why; --trusted runs it without limits and shows the error."
    elif failure.limit in OF_THE_PROCESS and failure.line is None:
        fix = "Do not serve this template before you know what takes so long; --trusted runs it without limits."
    yield Diagnostic(f"{failure.message}.", fix, failure.line)
