"""The same request, rendered again, gives another prompt.

Something in the template is random (`random`, `lipsum`), or it prints where an object lies in memory. No cache ever
fits, no test holds, and an address tells the model nothing.

What to do: take the random part out of the template, or print the value that was meant and not the object.

Example: `{{ message.items }}` where `{{ message.content }}` was meant prints `<built-in method items … at 0x7f…>`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from toolfmt.inspect.checks.diagnostic import Diagnostic
from toolfmt.inspect.facts import Facts
from toolfmt.inspect.probe.conversations import SINGLE, TOOLS, conversation, user
from toolfmt.inspect.probe.differences import common_prefix
from toolfmt.inspect.report.report import Severity
from toolfmt.inspect.report.turn_shape import TurnShape
from toolfmt.inspect.report.wording import quote

SEVERITY: Severity = "error"

_ADDRESS = re.compile(r"<[^<>\n]{1,200} at 0x[0-9a-f]{4,}>")
_RANDOM = r"\b(?:random|lipsum)\b"
# Two renders of one choice among three are the same one time in three.
_TIMES, _TIMES_IF_RANDOM = 2, 12


def check(facts: Facts) -> Iterator[Diagnostic]:
    renders = facts.renders
    if renders is None:
        return
    shape = facts.shape or TurnShape()
    times = _TIMES if renders.template.line_of(_RANDOM) is None else _TIMES_IF_RANDOM
    fix = "Take out of the template what is random, or print the value and not the object."
    for messages, tools in ((user(system=facts.profile.takes_system), TOOLS), (conversation(shape, SINGLE), TOOLS)):
        prompts = [renders.render(messages, tools), *(renders.fresh(messages, tools) for _ in range(times - 1))]
        one, *others = [prompt for prompt in prompts if isinstance(prompt, str)] or [""]
        address = _ADDRESS.search(one)
        if address is not None:
            line = renders.line_at(messages, tools, address.start())
            yield Diagnostic(f"The template prints where an object lies in memory: {quote(address[0])}.", fix, line)
            return
        other = next((other for other in others if other != one), None)
        if other is not None:
            offset = common_prefix(one, other)
            yield Diagnostic(
                "The same request rendered again gives another prompt: "
                f"'{quote(one[offset : offset + 60])}' becomes '{quote(other[offset : offset + 60])}'.",
                fix,
                renders.line_at(messages, tools, offset),
            )
            return
