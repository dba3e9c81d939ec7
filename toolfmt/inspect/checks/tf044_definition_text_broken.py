"""Tool definitions in the prompt are not valid JSON: a description is not escaped, or Python's repr is printed.

What it checks: a tool whose description contains quotes and newlines, a tool with non-ASCII letters, and whether the
definition is printed as a Python object.

Why it matters: the template writes descriptions between quotes or after `//` without escaping. A description with
several lines, or with a quoted word, ends the string or the comment too early. The JSON is then invalid, and what
follows looks like something else. A printed Python object has single quotes, `True` and `None`, unlike any JSON that
the model has seen. Escaped non-ASCII letters cost more tokens.

Affected runtimes: every runtime that renders this template.

Example:

    "description": "{{ tool.description }}"

Fix: print the tools with `tojson`, unless the model was trained on this. Until then, write descriptions on one line and
without quotes, or describe the tools in a system message (in toolfmt, strategy `prompt`).

    "description": {{ tool.description | tojson }}
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
    """Return a prompt with a tool."""
    assert facts.renders is not None
    plain = facts.renders.text(user(), TOOLS)
    return plain if TOOL in plain else facts.renders.text(user(system=True), TOOLS)
