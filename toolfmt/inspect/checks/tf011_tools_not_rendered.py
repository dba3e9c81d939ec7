"""The template reads `tools`, but a tool that is given does not reach the prompt.

The source mentions tools, so that whoever looks into it believes they are supported. Rendering shows that
they are not, or not under the usual conditions: the branch is never reached, wants another shape, or throws.

What to do: describe the tools in a system message; toolfmt's `render` does so (strategy `prose`) where the
template does not.

Example: a template that shows tools only when the messages hold a role of its own.
"""

from __future__ import annotations

from collections.abc import Iterator

from toolfmt.inspect.checks.found import Found
from toolfmt.inspect.checks.instead import describe_tools
from toolfmt.inspect.facts import Facts
from toolfmt.inspect.report import Severity
from toolfmt.templates import ChatTemplate

SEVERITY: Severity = "error"

# A message's key `tools`, which some templates read instead of the variable.
# A list in brackets (`in ["tools"]`) is none: a key stands right behind what it is a key of.
_KEY = r"""(?<=[\w\])])\[['"]tools['"]\]|\.tools\b|['"]tools['"]\s+in\b"""


def reads_tools(template: ChatTemplate) -> bool:
    """Whether the template reads tools from anywhere: from its caller or from a message."""
    return "tools" in template.variables or template.line_of(_KEY) is not None


def check(facts: Facts) -> Iterator[Found]:
    if facts.renders is None or facts.shows_tools or not reads_tools(facts.renders.template):
        return
    answer = facts.capabilities["tools"]
    why = f"throws: {answer.evidence}" if answer.answer == "error" else "does not render them"
    yield Found(
        f"The template reads tools but {why}.",
        describe_tools(facts),
        answer.line or facts.renders.template.line_of(r"\btools\b"),
    )
