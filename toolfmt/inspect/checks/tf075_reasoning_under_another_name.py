"""Reasoning of earlier turns is read under a name that servers and clients do not give it.

The template asks a message for `thought`, `reasoning` or `tool_plan`, and for nothing else. transformers hands a
template reasoning as `reasoning_content` and as `thinking`, whichever of these and `reasoning` it was given; a
conversation that holds it as `reasoning_content` loses it here without a word.

What to do: give it under the name that the template reads; toolfmt's `render` does so.

Example: `{% if message.thought %}<think>{{ message.thought }}</think>{% endif %}`.
"""

from __future__ import annotations

from collections.abc import Iterator

from toolfmt.inspect.checks.diagnostic import Diagnostic
from toolfmt.inspect.facts import Facts
from toolfmt.inspect.report.report import FixedBy, Severity

SEVERITY: Severity = "warning"
FIXED_BY: FixedBy = "render"


def check(facts: Facts) -> Iterator[Diagnostic]:
    name = facts.profile.reasoning_name
    if name:
        yield Diagnostic(
            f"Reasoning is rendered only from the key {name}; reasoning_content is dropped.",
            f"Send reasoning as {name}; `toolfmt render` does this.",
            facts.capabilities["reasoning"].line,
        )
