"""The template takes more time, memory or room than an inspection gives it.

A chat template is a program that came with the model. It cannot reach files or the network, but it can be written to
hang, or to fill the memory, of whoever renders it: a server stops answering. No honest template comes near these
limits. Where it is the time of the whole inspection, what toolfmt takes to read the rendered prompts is a part of it.

What to do: do not serve this template. Look at the line that is named, and at what was changed against the repository
of the original model. `toolfmt inspect --trusted` runs it without limits.

Example: `{{ 'a' * 10**10 }}`, which some environments compute when they compile the template, in a dead branch as well.
"""

from __future__ import annotations

from collections.abc import Iterator

from toolfmt.errors import OF_THE_PROCESS
from toolfmt.inspect.checks.found import Found
from toolfmt.inspect.facts import Facts
from toolfmt.inspect.report import Severity

SEVERITY: Severity = "error"


def check(facts: Facts) -> Iterator[Found]:
    failure = facts.profile.failure
    if failure is None or not failure.limit:
        return
    fix = "Do not serve this template: it takes more than any honest one."
    if failure.limit == "crash":
        fix = "Do not serve this template before you know why; --trusted runs it without limits and shows the error."
    elif failure.limit in OF_THE_PROCESS and failure.line is None:
        fix = "Do not serve this template before you know what takes so long; --trusted runs it without limits."
    yield Found(f"{failure.message}.", fix, failure.line)
