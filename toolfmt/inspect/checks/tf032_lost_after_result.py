"""Calls or tools are in the prompt at first, but missing in a later request of the same conversation.

What it checks: a conversation with calls and results, rendered without tools, and the tool descriptions in the prompt
after a tool result.

- `history-needs-tools`: calls and results of earlier turns are lost or rejected if the tools are not sent again. A
  request without tools that continues such a conversation (a summary, a last response) loses that part, or fails.
- `tools-lost-after-result`: the template describes the tools only next to the last question. With the first tool result
  the model no longer knows which tools it may call.

Why it matters: the model continues without its earlier calls and results, or without its tools.

Affected runtimes: every runtime that renders this template.

Example:

    {% if tools %}{% for call in message.tool_calls %}{{ call | tojson }}{% endfor %}{% endif %}

Fix: send the tools with every request of a conversation that contains calls. Without them, `toolfmt render` writes
calls and results into the text of messages. If the tools are lost after a result, describe them in a system message;
`toolfmt render` does this.

    {% for call in message.tool_calls or [] %}{{ call | tojson }}{% endfor %}
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from toolfmt.errors import TemplateError
from toolfmt.inspect.checks.diagnostic import Diagnostic, FindingOutcome
from toolfmt.inspect.checks.workarounds import describe_tools
from toolfmt.inspect.facts import Facts
from toolfmt.inspect.probe.conversations import DESCRIPTION, RESULT, SINGLE, TOOLS, conversation, user
from toolfmt.inspect.report.report import Answer

OUTCOMES = {
    "history-needs-tools": FindingOutcome("warning", "render", replaces="TF032 history-needs-tools"),
    "tools-lost-after-result": FindingOutcome("warning", "render", replaces="TF077 tools-lost-later"),
}


def check(facts: Facts) -> Iterator[Diagnostic]:
    yield from _history_needs_tools(facts)
    yield from _tools_lost(facts)


def _history_needs_tools(facts: Facts) -> Iterator[Diagnostic]:
    answer = facts.detail("history_without_tools")
    if facts.renders_calls and answer.outcome in ("threw", "dropped") and not _rejects_question(facts, answer):
        what = "rejected" if answer.outcome == "threw" else "lost"
        yield Diagnostic(
            f"A conversation with calls is {what} if no tools are sent: {answer.evidence}.",
            "Send the tools with every request of a conversation with calls; without them `toolfmt render` "
            "writes calls and results as text.",
            answer.line,
            outcome="history-needs-tools",
        )


def _rejects_question(facts: Facts, answer: Answer) -> bool:
    """Whether a plain question without tools is rejected with the same error, which TF003 reports."""
    prompt = None if facts.renders is None else facts.renders.render(user())
    return (
        isinstance(prompt, TemplateError)
        and answer.error is not None
        and answer.error.engine_message == prompt.engine_message
    )


def _tools_lost(facts: Facts) -> Iterator[Diagnostic]:
    """Report lost tools. Searches for a tool's description, because its name is in the call too."""
    probe, answer = facts.turn_probe, facts.capabilities["tools"]
    if probe is None or answer.answer != "yes" or probe.answered is None:
        return
    system = answer.outcome == "beside-system" or probe.answered.system
    if DESCRIPTION not in probe.renders.text(user(system=system), TOOLS):
        return
    history = conversation(replace(probe.answered, follows="result", system=system), SINGLE)
    prompt = probe.renders.text(history, TOOLS)
    if RESULT in prompt and DESCRIPTION not in prompt:
        what = "The tools are dropped after a tool result."
        yield Diagnostic(
            what,
            describe_tools(facts),
            answer.line,
            outcome="tools-lost-after-result",
        )
