"""The template does not show the tools to the model, so the model responds with text instead of a call.

What it checks: a request with tools, and whether the tools are in the prompt. The verdict, `prompt-only`, already
states it, so a report lists only the code, in the row `minor`. `--full` and `--select` show the finding.

- `tools-not-rendered`: the template reads `tools` but does not render them, or only under unusual conditions. The
  branch is never reached, needs another form of definition, or raises.
- `tools-dropped`: the template never reads `tools`.

Why it matters: the request succeeds, but the model never learns that there are tools. About half of all published
templates do this. It is the most frequent reason why "tool calling does not work".

Affected runtimes: every runtime that renders this template.

Example:

    {% for message in messages %}<|{{ message.role }}|>{{ message.content }}<|end|>{% endfor %}

Fix: describe the tools in the system prompt, which reaches the model with any template; `toolfmt render` does this
(strategy `prompt`) if the template does not render tools. A newer revision of the model's template may support tools.

    {% if tools %}<tools>{{ tools | tojson }}</tools>{% endif %}
    {% for message in messages %}<|{{ message.role }}|>{{ message.content }}<|end|>{% endfor %}
"""

from __future__ import annotations

from collections.abc import Iterator

from toolfmt.inspect.checks.diagnostic import Diagnostic, FindingOutcome
from toolfmt.inspect.checks.workarounds import describe_tools
from toolfmt.inspect.facts import Facts
from toolfmt.inspect.probe.conversations import TOOL, TOOLS, user
from toolfmt.inspect.probe.renders import Renders, takes_questions
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
# A list in brackets (`in ["tools"]`) is not a key: a key follows its object directly.
_KEY = r"""(?<=[\w\])])\[['"]tools['"]\]|\.tools\b|['"]tools['"]\s+in\b"""


def _reads_tools(template: ChatTemplate) -> bool:
    """Whether the template reads tools from the variable `tools` or from a message."""
    return "tools" in template.variables or template.line_of(_KEY) is not None


def _not_rendered(facts: Facts) -> Iterator[Diagnostic]:
    if facts.renders is None or facts.shows_tools or not _reads_tools(facts.renders.template):
        return
    if any(variable.takes_tools for variable in facts.sections.variables):
        return  # it renders tools that are passed elsewhere, which TF042 reports
    answer = facts.capabilities["tools"]
    why = f"throws: {answer.evidence}" if answer.answer == "error" else "does not render them"
    if answer.answer == "error" and not takes_questions(facts.renders):
        return  # the template rejects a question, which TF003 reports
    uses = {use.name: use.line for use in facts.renders.template.variable_uses}
    variable = _required_variable(facts.renders)
    if variable is not None:
        yield Diagnostic(
            f"The template shows `tools` only if the variable {variable} is passed too, which clients do not do.",
            f"In the template, test `tools` instead of {variable}. Until then, pass {variable} as well.",
            uses[variable],
            outcome="tools-not-rendered",
        )
        return
    yield Diagnostic(
        f"The template reads tools but {why}.",
        f"{describe_tools(facts)} In the template, print each of them (`{{{{ tool | tojson }}}}`).",
        answer.line or uses.get("tools") or facts.renders.template.line_of(r"\btools\b"),
        outcome="tools-not-rendered",
    )


def _required_variable(renders: Renders) -> str | None:
    """Return a variable that must be set before the template shows `tools`, or None."""
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
