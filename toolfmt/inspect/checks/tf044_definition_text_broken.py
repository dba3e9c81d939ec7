"""Definitions do not come out as JSON: quotes or newlines in a description break them, or Python wrote them.

The template writes descriptions as they are between quotes, or behind `//`, without escaping. A description of several
lines, or with a quoted word, ends the string or the comment too early: the JSON cannot be read any more, and what
follows looks like something else.

Or the template prints the object itself instead of `tojson` of it: then it is Python's text, with single quotes, `True`
and `None`, which no JSON that the model has seen looks like.

What to do: print the tools with `tojson`, unless the model was trained on this. Until then write descriptions on one
line and without quotes, or describe the tools in a system message (in toolfmt, strategy `prompt`).

Example: `"description": "{{ tool.description }}"` instead of `"description": {{ tool.description | tojson }}`.
"""

from __future__ import annotations

from collections.abc import Iterator

from toolfmt.inspect.checks.diagnostic import Diagnostic
from toolfmt.inspect.checks.workarounds import or_in_words
from toolfmt.inspect.facts import Facts
from toolfmt.inspect.probe.conversations import TOOL, TOOLS, user
from toolfmt.inspect.report.report import FixedBy, Severity
from toolfmt.inspect.report.wording import around

SEVERITY: Severity = "warning"
WHY_NOT_FIXED = "the model may have been trained on definitions that are written so"
FIXED_BY: FixedBy = "prompt"


def check(facts: Facts) -> Iterator[Diagnostic]:
    answers = facts.sections.definitions
    quoting, letters = answers.get("quoting"), answers.get("non_ascii")
    line = facts.capabilities["tools"].line
    if quoting is not None and quoting.answer == "no":
        change = "Write descriptions on one line and without quotes"
        fix, fixed_by = or_in_words(facts, change, ", or use `toolfmt render --strategy prompt`")
        yield Diagnostic(
            f"Descriptions are not escaped: {quoting.evidence}",
            fix,
            line,
            fixed_by=fixed_by,
        )
    if quoting is not None and quoting.outcome == "python":
        yield Diagnostic(
            "Definitions are printed as Python objects (single quotes, True, None), not as JSON: "
            f"{around(_with_a_tool(facts), TOOL)}.",
            "In the template, print each tool with `tojson` (`{{ tool | tojson }}`), unless the model was trained on "
            "this.",
            line,
            "note",
        )
    if letters is not None and letters.answer == "no":
        yield Diagnostic(
            f"Non-ASCII letters in a definition are changed: {letters.evidence}",
            "Nothing to do if the model understands escapes; they cost more tokens.",
            line,
            "note",
        )


def _with_a_tool(facts: Facts) -> str:
    """A prompt with a tool."""
    assert facts.renders is not None
    plain = facts.renders.text(user(), TOOLS)
    return plain if TOOL in plain else facts.renders.text(user(system=True), TOOLS)
