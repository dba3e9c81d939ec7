"""Some calls that the template renders do not read back as the calls that went in.

The format is known, but the template writes some values so that no parser can tell what they were: quotes are
not escaped, values vanish, an empty object prints nothing. Past calls with such values show the model
something that is no call.

What to do: avoid the values that are named in past calls, or mend the template.

Example: `{{ key }}='{{ value }}'` with the value `it's`.
"""

from __future__ import annotations

from collections.abc import Iterator

from toolfmt.inspect.checks.found import Found
from toolfmt.inspect.facts import Facts
from toolfmt.inspect.report import Severity

SEVERITY: Severity = "warning"


def check(facts: Facts) -> Iterator[Found]:
    best = facts.decided.read_back
    if best is None:
        return
    for trial in best.trials:
        if not trial.exact:
            what = "are refused" if trial.outcome == "refused" else f"do not read back as {best.format.name}"
            yield Found(
                f"Calls with {trial.kind} {what}: {trial.detail}.",
                "Keep such calls out of the history, or mend how the template writes arguments.",
                trial.line or facts.capabilities["tool_calls"].line,
            )
