"""The template reads the reasoning of earlier turns under a key that servers and clients do not use.

What it checks: past messages with `reasoning_content` and with other keys for reasoning.

Why it matters: the template reads `thought`, `reasoning` or `tool_plan` and no other key. A conversation with
`reasoning_content` silently loses its reasoning.

Affected runtimes: every runtime that passes reasoning under another key. transformers passes reasoning as
`reasoning_content` and as `thinking`, whichever of these and `reasoning` the request contains.

Example:

    {% if message.thought %}<think>{{ message.thought }}</think>{% endif %}

Fix: send the reasoning under the key that the template reads; `toolfmt render` does this.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

from toolfmt.inspect.checks.diagnostic import Diagnostic
from toolfmt.inspect.facts import Facts
from toolfmt.inspect.report.report import FixedBy, Severity
from toolfmt.inspect.runtimes.runtime_verdicts import concerned

_PASSED: tuple[Literal["reasoning", "thinking"], ...] = ("reasoning", "thinking")
SEVERITY: Severity = "warning"
FIXED_BY: FixedBy = "render"


def check(facts: Facts) -> Iterator[Diagnostic]:
    name = facts.profile.reasoning_name
    if name:
        passing = concerned(facts, (name,)) if name in _PASSED else ()
        yield Diagnostic(
            f"Reasoning is rendered only from the key {name}; reasoning_content is dropped.",
            f"Send reasoning as {name}; `toolfmt render` does this.",
            facts.capabilities["reasoning"].line,
            runtimes=tuple(one for one in concerned(facts) if one not in passing),
        )
