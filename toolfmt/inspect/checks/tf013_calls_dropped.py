"""The template describes tools, but a call in the history does not reach the prompt.

After the first call the conversation goes on without it: the model sees a result, or an empty turn of its
own, and not what it asked for. It repeats the call, or invents a reason for the result.

Or it takes a call only with `name` and `arguments` in the call itself, where clients have them under `function`:
`apply_chat_template` changes nothing about that, so that every such request fails or loses the call.

What to do: in the template, print `message.tool_calls`, and read `tool_call.function` where it is there. Until then
write the call into the content of the assistant turn, in the format that the model speaks; toolfmt's `render` does so,
and `toolfmt.write` gives the text.

Example: a template that prints `message.content` for every role and never reads `message.tool_calls`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from toolfmt.errors import TemplateError
from toolfmt.inspect.checks.diagnostic import Diagnostic
from toolfmt.inspect.facts import Facts
from toolfmt.inspect.probe.capabilities import written_at
from toolfmt.inspect.probe.conversations import REPLY, SINGLE, TOOLS, reply
from toolfmt.inspect.report.error_messages import thrown
from toolfmt.inspect.report.report import FixedBy, Severity

SEVERITY: Severity = "warning"
FIXED_BY: FixedBy = "render"


def check(facts: Facts) -> Iterator[Diagnostic]:
    if facts.renders_calls:
        yield from _unwrapped(facts)
    elif facts.shows_tools:
        answer = facts.capabilities["tool_calls"]
        what = f"rejects calls: {answer.evidence}" if answer.answer == "error" else "drops calls from the history"
        yield Diagnostic(
            f"The template describes tools but {what}.",
            "Write earlier calls into the content of the assistant message; `toolfmt render` does this. In the "
            "template, print each of `message.tool_calls`.",
            answer.line or (written_at(facts.renders, reply(), TOOLS, REPLY) if facts.renders else None),
        )


def _unwrapped(facts: Facts) -> Iterator[Diagnostic]:
    """Calls that appear only without the `function` around name and arguments."""
    renders, probed = facts.renders, facts.probed
    if renders is None or probed is None or probed.shape is None or probed.shape.wrapped:
        return
    ordinary = renders.calls(replace(probed.shape, wrapped=True), SINGLE, TOOLS)
    what = f"is rejected: {thrown(ordinary).sentence}" if isinstance(ordinary, TemplateError) else "is dropped"
    yield Diagnostic(
        "The template takes a call only with name and arguments in the call itself; as clients send it, under "
        f"`function`, it {what}.",
        "In the template, read name and arguments from `tool_call.function`, and the id from the call itself; "
        "`toolfmt render` removes the wrapper.",
        ordinary.line if isinstance(ordinary, TemplateError) else facts.capabilities["tool_calls"].line,
    )
