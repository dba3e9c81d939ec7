"""The template does not show the model the tools that are given.

The request succeeds, the model never learns that there are tools, and answers in text. About half of all published
templates do this; it is the most frequent reason why "tool calling does not work". The verdict is then `prompt-only`:
described in the system prompt, the tools reach the model all the same. A report shows this finding only on request
(`--full`, `--select`), because the verdict states the same.

- `tools-not-rendered`: the template reads `tools` but does not render them, or only under unusual conditions: the
  branch is never reached, needs another shape, or raises.
- `tools-dropped`: the template never reads `tools`.

What to do: describe the tools in a system message; `toolfmt render` does so (strategy `prompt`) if the template does
not. A newer revision of the model's template may support tools.

Example: a template that loops over `messages` and never reads `tools`.
"""

from __future__ import annotations

from collections.abc import Iterator

from toolfmt.inspect.checks.diagnostic import Diagnostic, FindingOutcome
from toolfmt.inspect.checks.workarounds import describe_tools
from toolfmt.inspect.facts import Facts
from toolfmt.inspect.probe.capabilities import takes_questions
from toolfmt.inspect.probe.conversations import TOOL, TOOLS, user
from toolfmt.inspect.probe.renders import Renders
from toolfmt.templates import ChatTemplate

OUTCOMES = {
    "tools-not-rendered": FindingOutcome("note", replaces="TF011 tools-not-rendered", in_verdict=True),
    "tools-dropped": FindingOutcome("note", replaces="TF012 tools-dropped", in_verdict=True),
}


def check(facts: Facts) -> Iterator[Diagnostic]:
    yield from _not_rendered(facts)
    yield from _dropped(facts)


_GIVEN = ("messages", "tools", "add_generation_prompt", "documents")

# A message's key `tools`, which some templates read instead of the variable.
# A list in brackets (`in ["tools"]`) is none: a key stands right behind what it is a key of.
_KEY = r"""(?<=[\w\])])\[['"]tools['"]\]|\.tools\b|['"]tools['"]\s+in\b"""


def _reads_tools(template: ChatTemplate) -> bool:
    """Whether the template reads tools from anywhere: from its caller or from a message."""
    return "tools" in template.variables or template.line_of(_KEY) is not None


def _not_rendered(facts: Facts) -> Iterator[Diagnostic]:
    if facts.renders is None or facts.shows_tools or not _reads_tools(facts.renders.template):
        return
    answer = facts.capabilities["tools"]
    why = f"throws: {answer.evidence}" if answer.answer == "error" else "does not render them"
    if answer.answer == "error" and not takes_questions(facts.renders):
        return  # it takes no question, which TF003 tells
    uses = {use.name: use.line for use in facts.renders.template.variable_uses}
    asked = _asked_instead(facts.renders)
    if asked is not None:
        yield Diagnostic(
            f"The template shows `tools` only if the variable {asked} is passed too, which clients do not do.",
            f"In the template, test `tools` instead of {asked}. Until then, pass {asked} as well.",
            uses[asked],
            outcome="tools-not-rendered",
        )
        return
    yield Diagnostic(
        f"The template reads tools but {why}.",
        f"{describe_tools(facts)} In the template, print each of them (`{{{{ tool | tojson }}}}`).",
        answer.line or uses.get("tools") or facts.renders.template.line_of(r"\btools\b"),
        outcome="tools-not-rendered",
    )


def _asked_instead(renders: Renders) -> str | None:
    """A variable that the template asks before it shows the tools that it is given; None where there is none."""
    for use in renders.template.variable_uses:
        if "asked" in use.manners and use.name not in _GIVEN:
            if TOOL in renders.given({use.name: True}).text(user(), TOOLS):
                return use.name
    return None


def _dropped(facts: Facts) -> Iterator[Diagnostic]:
    if facts.renders is None or facts.shows_tools or _reads_tools(facts.renders.template):
        return
    yield Diagnostic(
        "The template drops the tools: they are not in the prompt.",
        describe_tools(facts),
        outcome="tools-dropped",
    )
