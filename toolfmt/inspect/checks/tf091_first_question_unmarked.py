"""The first question of a conversation lacks the start marker that later questions have.

What it checks: a conversation with two questions, and the marker before each.

Why it matters: the template starts a question only after a response, or expects the system message to start the first.
Without a system message, the question does not start like those that the model was trained on.

Affected runtimes: every runtime that renders this template.

Example:

    {{ '<|user|>' if message.role == 'user' and not loop.first }}{{ message.content }}<|end|>

Fix: send a system message if the finding shows that the marker is then present. Or write the marker before the first
question in the template too.

    {{ '<|user|>' if message.role == 'user' }}{{ message.content }}<|end|>
"""

from __future__ import annotations

from collections.abc import Iterator

from toolfmt.inspect.checks.diagnostic import Diagnostic
from toolfmt.inspect.facts import Facts
from toolfmt.inspect.probe.conversations import FURTHER, REPLY, USER, reply, user
from toolfmt.inspect.probe.turn_markers import MARK, between, first_marker
from toolfmt.inspect.report.report import FixedBy, Severity

SEVERITY: Severity = "warning"
FIXED_BY: FixedBy = "request"

_CLOSES = ("</", "[/")


def check(facts: Facts) -> Iterator[Diagnostic]:
    renders = facts.renders
    if renders is None:
        return
    talk = [*reply(), {"role": "user", "content": FURTHER}]
    prompt = renders.text(talk)
    gaps = between(prompt, USER, REPLY, FURTHER)
    opening = MARK.findall(gaps[1])[-1:] if gaps else []
    if not opening or not gaps[1].rstrip().endswith(opening[0]) or opening[0].startswith(_CLOSES):
        return
    # A marker directly after a response may be its end marker.
    if opening[0] in prompt.partition(USER)[0] or opening[0] == first_marker(gaps[1]):
        return
    instructed = opening[0] in renders.text(user(system=True)).partition(USER)[0]
    write = f"write '{opening[0]}' before the first question too"
    yield Diagnostic(
        f"The first question lacks '{opening[0]}', which later questions start with"
        f"{', unless there is a system message' if instructed else ''}.",
        f"Send a system message with every request, or in the template {write}."
        if instructed
        else f"In the template {write}.",
        renders.line_at(talk, None, prompt.find(USER)),
        fixed_by=None if instructed else "template",
    )
