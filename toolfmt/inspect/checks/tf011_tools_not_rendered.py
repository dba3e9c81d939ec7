"""The template reads `tools`, but a tool that is given does not reach the prompt.

The verdict is then `prompt-only`; this finding shows why. The source mentions tools, so a reader expects that they are
supported. Rendering shows that they are not, or not under the usual conditions: the branch is never reached, needs
another shape, or raises.

What to do: describe the tools in a system message; toolfmt's `render` does so (strategy `prompt`) where the
template does not.

Example: a template that shows tools only when the messages hold a role of its own.
"""

from __future__ import annotations

from collections.abc import Iterator

from toolfmt.inspect.checks.diagnostic import Diagnostic
from toolfmt.inspect.checks.workarounds import describe_tools
from toolfmt.inspect.facts import Facts
from toolfmt.inspect.probe.capabilities import takes_questions
from toolfmt.inspect.probe.conversations import TOOL, TOOLS, user
from toolfmt.inspect.probe.renders import Renders
from toolfmt.inspect.report.report import Severity
from toolfmt.templates import ChatTemplate

SEVERITY: Severity = "note"

_GIVEN = ("messages", "tools", "add_generation_prompt", "documents")

# A message's key `tools`, which some templates read instead of the variable.
# A list in brackets (`in ["tools"]`) is none: a key stands right behind what it is a key of.
_KEY = r"""(?<=[\w\])])\[['"]tools['"]\]|\.tools\b|['"]tools['"]\s+in\b"""


def reads_tools(template: ChatTemplate) -> bool:
    """Whether the template reads tools from anywhere: from its caller or from a message."""
    return "tools" in template.variables or template.line_of(_KEY) is not None


def check(facts: Facts) -> Iterator[Diagnostic]:
    if facts.renders is None or facts.shows_tools or not reads_tools(facts.renders.template):
        return
    answer = facts.capabilities["tools"]
    why = f"throws: {answer.evidence}" if answer.answer == "error" else "does not render them"
    if answer.answer == "error" and not takes_questions(facts.renders):
        return  # it takes no question, which TF003 tells
    uses = {use.name: use.line for use in facts.renders.template.variable_uses}
    asked = _asked_instead(facts.renders)
    if asked is not None:
        yield Diagnostic(
            f"The template shows `tools` only where the variable {asked} is given as well, which clients do not do.",
            f"In the template, ask for `tools` in place of {asked}; until then give {asked} as well.",
            uses[asked],
        )
        return
    yield Diagnostic(
        f"The template reads tools but {why}.",
        f"{describe_tools(facts)} In the template, print each of them (`{{{{ tool | tojson }}}}`).",
        answer.line or uses.get("tools") or facts.renders.template.line_of(r"\btools\b"),
    )


def _asked_instead(renders: Renders) -> str | None:
    """A variable that the template asks before it shows the tools that it is given; None where there is none."""
    for use in renders.template.variable_uses:
        if "asked" in use.manners and use.name not in _GIVEN:
            if TOOL in renders.given({use.name: True}).text(user(), TOOLS):
                return use.name
    return None
