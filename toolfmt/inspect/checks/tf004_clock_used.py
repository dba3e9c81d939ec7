"""The template asks the clock, so that the same request gives another prompt tomorrow.

The date stands near the beginning of the prompt. When it changes, everything behind it is computed again (the
prefix cache misses), and a test that compares prompts fails overnight.

What to do: give the renderer a fixed time, or pass the variable that the template reads instead of the clock
where it has one (often `date_string`). toolfmt's `render` takes the time as `now`, and shows
the present one where none is given.

Example: `Today's date: {{ strftime_now("%Y-%m-%d") }}`.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

from toolfmt.inspect.checks.found import Found
from toolfmt.inspect.conversations import TOOLS, user
from toolfmt.inspect.facts import Facts
from toolfmt.inspect.report import Severity

SEVERITY: Severity = "warning"

_ONE_DAY, _ANOTHER = datetime(2025, 1, 1, 12), datetime(2031, 11, 23, 4, 56, 7)


def check(facts: Facts) -> Iterator[Found]:
    renders = facts.renders
    if renders is None or not renders.template.uses_clock:
        return
    conversations = [(user(system=system), tools) for system in (False, True) for tools in (None, TOOLS)]
    changes = any(
        renders.render(messages, tools, now=_ONE_DAY) != renders.render(messages, tools, now=_ANOTHER)
        for messages, tools in conversations
    )
    how = "prints the date, so the same request gives another prompt on another day" if changes else "can ask the clock"
    yield Found(
        f"The template {how}.",
        "Render at a fixed time (in Python, Model.render takes one as now) or pass the date as a template variable.",
        renders.template.line_of(r"strftime_now\s*\("),
    )
