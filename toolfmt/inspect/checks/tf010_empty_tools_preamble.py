"""An empty list of tools changes the prompt, or makes the template fail.

What it checks: a question with `tools: []`, compared with the same question without tools.

Why it matters: a client that always sends `tools: []` gets a prompt that introduces an empty list of tools, and the
model calls tools that do not exist. With some templates the request fails.

Affected runtimes: every runtime that passes an empty list to the template.

Example:

    {% if tools is not none %}You may call these functions: {{ tools | tojson }}{% endif %}

Fix: omit `tools` if the list is empty. In the template, test the list itself.

    {% if tools %}You may call these functions: {{ tools | tojson }}{% endif %}
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from toolfmt._util.text_lists import listed
from toolfmt.errors import TemplateError
from toolfmt.inspect.checks.diagnostic import Diagnostic
from toolfmt.inspect.checks.editing.edits import truth
from toolfmt.inspect.checks.editing.prelude import Clause
from toolfmt.inspect.checks.editing.sites import Sites
from toolfmt.inspect.checks.editing.source import Edit
from toolfmt.inspect.checks.editing.template_fix import TemplateFix, only
from toolfmt.inspect.facts import Facts
from toolfmt.inspect.probe import segments
from toolfmt.inspect.probe.conversations import USER, user
from toolfmt.inspect.probe.differences import common_prefix
from toolfmt.inspect.probe.renders import Renders, token_begin
from toolfmt.inspect.report.error_messages import thrown
from toolfmt.inspect.report.report import FixedBy, Severity
from toolfmt.inspect.report.wording import quote

SEVERITY: Severity = "warning"
FIXED_BY: FixedBy = "render"
FORMS = ("empty-tools",)


_CLAUSE = Clause("{%- set tools = tools or none %}\n", each_message=False)
"""Turn an empty list of tools into none."""


def _tools_or_none(sites: Sites) -> Iterator[Edit]:
    """Replace tests whether tools were passed with tests of the list itself."""
    return truth(sites, "tools")


FIX = TemplateFix(only("tools-empty"), _tools_or_none, _CLAUSE)


def check(facts: Facts) -> Iterator[Diagnostic]:
    if facts.renders is None or not facts.shows_tools:
        return
    without, empty = facts.renders.render(user()), facts.renders.render(user(), [])
    if isinstance(without, TemplateError) or without == empty:
        return
    yield _found(facts.renders, without, empty)


def _found(renders: Renders, without: str, empty: str | TemplateError) -> Diagnostic:
    fix = "Omit the tools if there are none; `toolfmt render` does this."
    if isinstance(empty, TemplateError):
        return Diagnostic(f"An empty list of tools makes the template fail: {thrown(empty).sentence}.", fix, empty.line)
    begin = token_begin(empty, common_prefix(without, empty))
    suffix_length = common_prefix(without[begin:][::-1], empty[begin:][::-1])
    added = empty[begin : len(empty) - suffix_length]
    first, second = partial(renders.fresh, user()), partial(renders.fresh, user(), [])
    line = renders.deciding_line(first, second, lambda prompt: prompt == without)
    line = line or renders.line_at(user(), [], begin)
    if not added.strip():
        gone = quote(without[begin : len(without) - suffix_length], 80)
        return Diagnostic(
            f"With an empty list of tools the template omits what it renders without tools: '{gone}'.", fix, line
        )
    kept = [text for text in without[begin : len(without) - suffix_length].splitlines() if text.strip()]
    shown = [empty[first:last] for first, last in segments.added(empty, without, [*kept, USER])] if kept else [added]
    what = listed([f"'{quote(text, 80)}'" for text in shown if text.strip()])
    what = f"With an empty list of tools the template adds: {what}."
    return Diagnostic(what, fix, line)
