"""The template describes tools, but a call in the history does not reach the prompt.

What it checks: a conversation with a tool call, and whether the call is in the prompt. The check also reports a
template that accepts a call only if `name` and `arguments` are in the call itself. Clients send them under `function`.

Why it matters: after the first call, the model sees a result or an empty turn of its own, but not the call. It repeats
the call, or invents a reason for the result. With a template that does not read `function`, every request with such a
call fails or loses the call.

Affected runtimes: every runtime that renders this template. `apply_chat_template` of transformers does not move `name`
and `arguments` out of `function`.

Example:

    {% for message in messages %}<|{{ message.role }}|>{{ message.content }}<|end|>{% endfor %}

Fix: in the template, print `message.tool_calls`, and read `tool_call.function` if the call has it. Until then, write
the call into the content of the assistant message, in the format of the model. `toolfmt render` does this, and
`toolfmt.write` returns the string.

    {% for message in messages %}<|{{ message.role }}|>{{ message.content or '' }}
    {% for call in message.tool_calls or [] %}
    {% set arguments = call.function.arguments %}
    <tool_call>{"name": "{{ call.function.name }}",
    "arguments": {{ arguments if arguments is string else arguments | tojson }}}</tool_call>
    {% endfor %}<|end|>{% endfor %}
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
        if answer.outcome == "text-changed":
            what = f"renders calls without the tool's own name: {answer.excerpts[0]}"
        yield Diagnostic(
            f"The template describes tools but {what}.",
            "Write earlier calls into the content of the assistant message; `toolfmt render` does this. In the "
            "template, print each of `message.tool_calls`.",
            answer.line or (written_at(facts.renders, reply(), TOOLS, REPLY) if facts.renders else None),
        )


def _unwrapped(facts: Facts) -> Iterator[Diagnostic]:
    """Report calls that are rendered only without the `function` around name and arguments."""
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
