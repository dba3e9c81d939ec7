"""The tools are in the prompt of a question, and no longer there once a tool has answered.

The template describes the tools beside the last question, and only where that is the last turn of all. With the first
result the model no longer knows what it may call.

What to do: describe the tools in a system message; toolfmt's `render` does so where the prompt would lose them.

Example: `{% if loop.last and tools %}{{ tools | tojson }}{% endif %}` in the branch of the role `user`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from toolfmt.inspect.checks.diagnostic import Diagnostic
from toolfmt.inspect.checks.workarounds import describe_tools
from toolfmt.inspect.facts import Facts
from toolfmt.inspect.probe.conversations import DESCRIPTION, RESULT, SINGLE, TOOLS, conversation, user
from toolfmt.inspect.report.report import FixedBy, Severity

SEVERITY: Severity = "warning"
FIXED_BY: FixedBy = "render"


def check(facts: Facts) -> Iterator[Diagnostic]:
    """By the description of a tool: its name stands in the call as well."""
    asking, answer = facts.asking, facts.capabilities["tools"]
    if asking is None or answer.answer != "yes" or asking.answered is None:
        return
    system = answer.outcome == "beside-system" or asking.answered.system
    if DESCRIPTION not in asking.renders.text(user(system=system), TOOLS):
        return
    history = conversation(replace(asking.answered, follows="result", system=system), SINGLE)
    prompt = asking.renders.text(history, TOOLS)
    if RESULT in prompt and DESCRIPTION not in prompt:
        what = "The tools are lost once the result of a call is the last turn."
        yield Diagnostic(what, describe_tools(facts), answer.line)
