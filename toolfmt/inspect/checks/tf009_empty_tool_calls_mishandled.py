"""An assistant message with `tool_calls` null or `[]` is rejected, or rendered like a turn with calls.

What it checks: assistant messages whose `tool_calls` is null or an empty list, compared with the same message without
the key.

Why it matters: OpenAI's client library writes `"tool_calls": null` on every message that is sent back as it was
received (`message.model_dump()`). Other clients write an empty list. A template that only tests whether the key exists
loops over null, or writes the start and end markers without a call between them.

Affected runtimes: every runtime that passes the key to the template. transformers 5 removes keys that are null before
it renders. Other runtimes do not, and none removes an empty list.

Example:

    {% if 'tool_calls' in message %}<calls>{% for call in message.tool_calls %}...{% endfor %}</calls>{% endif %}

`{% if message.tool_calls is defined %}` has the same problem.

Fix: omit the key from messages without calls; `toolfmt render` does this if the template needs it. In the template,
test the calls themselves.

    {% if message.tool_calls %}<calls>{% for call in message.tool_calls %}...{% endfor %}</calls>{% endif %}
"""

from __future__ import annotations

from collections.abc import Iterator

from toolfmt.inspect.checks.diagnostic import Diagnostic
from toolfmt.inspect.checks.editing.edits import or_empty, truth
from toolfmt.inspect.checks.editing.sites import Sites
from toolfmt.inspect.checks.editing.source import Edit
from toolfmt.inspect.checks.editing.template_fix import TemplateFix, only
from toolfmt.inspect.facts import Facts
from toolfmt.inspect.report.report import FixedBy, Severity

SEVERITY: Severity = "warning"
FIXED_BY: FixedBy = "render"
FORMS = ("empty-tool-calls",)


def _calls_or_none(sites: Sites) -> Iterator[Edit]:
    """Replace tests for the key with tests of the calls, and use an empty list if there are none."""
    yield from truth(sites, "tool_calls")
    yield from or_empty(sites, "tool_calls", "[]")


FIX = TemplateFix(only("calls-null", "calls-empty"), _calls_or_none)


def check(facts: Facts) -> Iterator[Diagnostic]:
    answer = facts.detail("calls_empty")
    if answer.outcome:
        yield Diagnostic(
            f"{answer.evidence[0].upper()}{answer.evidence[1:]}.",
            "Remove `tool_calls` from turns without calls; `toolfmt render` does this. In the template, write "
            "`{% if message.tool_calls %}`.",
            answer.line,
        )
