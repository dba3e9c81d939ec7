"""The tools reach the prompt only if the conversation has a system message.

What it checks: a question with tools, with and without a system message.

Why it matters: the template renders tools in the branch of the role `system`. Most requests with tools start with a
question. The model then never learns that there are tools and responds with text, or the template rejects the request.

Affected runtimes: every runtime that renders this template.

Example:

    {% for message in messages %}
    {% if message.role == 'system' and tools %}{{ tools | tojson }}{% endif %}{{ message.content }}
    {% endfor %}

Fix: send a system message with the tools, even a short one. If there is none, `toolfmt render` describes the tools in
the system prompt, unless the template fails on requests without tools. In the template, print the tools outside this
branch.

    {% if tools %}{{ tools | tojson }}{% endif %}
    {% for message in messages %}{{ message.content }}{% endfor %}
"""

from __future__ import annotations

from collections.abc import Iterator

from toolfmt.errors import TemplateError
from toolfmt.inspect.checks.diagnostic import Diagnostic
from toolfmt.inspect.checks.workarounds import or_in_words
from toolfmt.inspect.facts import Facts
from toolfmt.inspect.probe.conversations import TOOLS, user
from toolfmt.inspect.report.report import FixedBy, Severity

SEVERITY: Severity = "warning"
FIXED_BY: FixedBy = "render"


def check(facts: Facts) -> Iterator[Diagnostic]:
    answer = facts.capabilities.get("tools")
    if facts.renders is None or answer is None or answer.answer != "yes" or answer.outcome != "beside-system":
        return
    what = "Tools are dropped if there is no system message: they are not in the prompt."
    if isinstance(facts.renders.render(user(), TOOLS), TemplateError):
        what = "A question with tools is rejected if there is no system message."
    fix, fixed_by = or_in_words(
        facts,
        "Send a system message with the tools",
        "; `toolfmt render` describes them in the system prompt if there is none",
    )
    yield Diagnostic(
        what,
        f"{fix} In the template, print them outside the branch for the role system.",
        answer.line,
        fixed_by=FIXED_BY if fixed_by == "prompt" else fixed_by,
    )
