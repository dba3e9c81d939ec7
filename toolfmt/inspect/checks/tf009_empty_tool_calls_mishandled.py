"""An answer with `tool_calls` null or `[]` is rejected, or written like a turn with calls.

OpenAI's client library writes `"tool_calls": null` on every answer that is sent back as it came
(`message.model_dump()`), others write an empty list. The template asks only whether the key is there: it goes through
null as if it were a list, or writes the frame of calls around nothing. transformers 5 drops keys that are null before
it renders; other runtimes do not, and nobody drops an empty list.

What to do: leave the key out where there are no calls; toolfmt's `render` does so where the template needs it. In the
template, ask for the calls themselves.

Example: `{% if 'tool_calls' in message %}` or `{% if message.tool_calls is defined %}` instead of
`{% if message.tool_calls %}`.
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


def _calls_or_none(sites: Sites) -> Iterator[Edit]:
    """The calls themselves in place of the question whether there is such a key; an empty list where they are used."""
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
