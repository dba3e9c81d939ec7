"""The template takes more CPU time, memory or output than an inspection allows.

A chat template is a program that comes with the model. It cannot reach files or the network, but it can be written to
hang whoever renders it, or to fill the memory. A normal template stays far below the limits. The limits apply to the
whole inspection, which includes reading the rendered prompts. A busy machine never causes this finding.

What to do: do not serve this template. Look at the line in the finding, and at what changed against the repository of
the original model. If you trust the template, `toolfmt inspect --trusted` runs it without limits.

Example: `{{ 'a' * 10**10 }}`, which some environments compute when they compile the template, in a dead branch as well.
"""

from __future__ import annotations

from collections.abc import Iterator

from toolfmt.errors import OF_THE_PROCESS
from toolfmt.inspect.checks.diagnostic import Diagnostic
from toolfmt.inspect.facts import Facts
from toolfmt.inspect.report.report import Severity

SEVERITY: Severity = "error"


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
