"""The tools reach the prompt only where the conversation has a system message.

The template writes them in the branch of the role `system`. Most requests with tools begin with a question: of those
the model never learns that there are tools, and answers in words; or the template refuses them.

What to do: give a system message with the tools, be it a short one; toolfmt's `render` describes them in words where
there is none.

Example: `{% if message.role == "system" %}{{ message.content }}{{ tools | tojson }}{% endif %}`, and nothing else that
reads `tools`.
"""

from __future__ import annotations

from collections.abc import Iterator

from toolfmt.errors import TemplateError
from toolfmt.inspect.checks.diagnostic import Diagnostic
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
    yield Diagnostic(
        what,
        "Send a system message with the tools; `toolfmt render` describes them in the system prompt if there is none. "
        "In the template, print them outside the branch for the role system.",
        answer.line,
    )
