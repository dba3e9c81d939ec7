"""An empty list of tools is not the same as no tools.

The template asks whether `tools` is there, not whether it holds anything. A client that always sends `tools:
[]` makes it print an introduction to no tools at all, and the model calls tools that do not exist; some
templates throw.

What to do: leave `tools` out when the list is empty.

Example: `{% if tools is not none %}You may call these functions: {{ tools | tojson }}{% endif %}`.
"""

from __future__ import annotations

from collections.abc import Iterator

from toolfmt.errors import TemplateError
from toolfmt.inspect.checks.found import Found
from toolfmt.inspect.facts import Facts
from toolfmt.inspect.probe.conversations import user
from toolfmt.inspect.report import Severity

SEVERITY: Severity = "warning"


def check(facts: Facts) -> Iterator[Found]:
    if facts.renders is None or not facts.shows_tools:
        return
    without, empty = facts.renders.render(user()), facts.renders.render(user(), [])
    if isinstance(without, TemplateError) or without == empty:
        return
    what = f"fails: {empty}" if isinstance(empty, TemplateError) else "introduces tools all the same"
    yield Found(
        f"Given an empty list of tools the template {what}.",
        "Leave the tools out when there are none; toolfmt's render does it for you.",
        facts.capabilities["tools"].line,
    )
