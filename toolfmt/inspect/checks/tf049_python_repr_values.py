"""Values appear in the prompt as Python prints them: `True`, `None`, `{'k': 1}`.

What it checks: calls and tool definitions with values that are not strings.

- `python-repr-in-calls`: in past calls. The model reads calls that are not JSON and learns to write such calls. A
  strict parser then rejects them, and a lenient parser has to guess whether `None` is a string.
- `python-repr-in-definitions`: in tool definitions. The model reads a schema that is not JSON: `<strict>True</strict>`,
  or a list of types in single quotes.

Why it matters: the template prints values without `tojson`, so they are not JSON, and the model copies them.

Affected runtimes: every runtime that renders this template. If the model writes such calls, toolfmt's parsers convert
the values by the tool's schema.

Example:

    {{ value }}

Fix: print values that are not strings with `tojson`. For calls, `toolfmt inspect --fix --output COPY` tries that in a
copy. In definitions, do not change it if the model was trained on it (Qwen3-Coder's template does this).

    {{ value if value is string else value | tojson }}
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

from toolfmt._util.text_lists import listed
from toolfmt.errors import CannotWrite
from toolfmt.formats import ToolCallFormat, write
from toolfmt.inspect.checks.diagnostic import Diagnostic, FindingOutcome
from toolfmt.inspect.checks.editing.edits import unless_string
from toolfmt.inspect.checks.editing.sites import Sites
from toolfmt.inspect.checks.editing.source import Edit
from toolfmt.inspect.checks.editing.template_fix import TemplateFix
from toolfmt.inspect.facts import Facts
from toolfmt.inspect.probe.conversations import ALL_TOOLS
from toolfmt.inspect.probe.turns.values import PYTHON, TRIED

OUTCOMES = {
    "python-repr-in-calls": FindingOutcome("note", replaces="TF049 values-printed-by-python"),
    "python-repr-in-definitions": FindingOutcome("note", replaces="TF074 definition-values-as-python"),
}


def check(facts: Facts) -> Iterator[Diagnostic]:
    yield from _in_calls(facts)
    yield from _in_definitions(facts)


def _values_as_json(sites: Sites) -> Iterator[Edit]:
    """Print values of a loop over pairs unchanged if they are strings, and with `tojson` if they are not."""
    names, handed = set(_loop_values(sites)), set(_parameters(sites))
    for access in sites.accesses:
        printed = sites.before(access).kind == "variable_begin" and sites.after(access).kind == "variable_end"
        is_value = access.plain and (access.key in names or (printed and access.key in handed))
        if is_value and not sites.is_tested(access) and not sites.is_assigned(access):
            end = sites.filtered(access, "string") or access.last
            if not sites.words[end].is_one("|", ".", "["):
                yield unless_string(sites, access, end, f"{access.text} | tojson")


def _loop_values(sites: Sites) -> Iterator[str]:
    """Yield the value names of loops over pairs, and names assigned from a value looked up by key."""
    for at in range(len(sites.words) - 5):
        loop = sites.words[at : at + 5]
        if loop[0].is_one("for") and loop[2].is_one(",") and loop[4].is_one("in"):
            yield loop[3].text
    for access in sites.accesses:
        keyed = sites.words[access.last - 2].kind == "name" and sites.words[access.last - 1].is_one("]")
        if keyed and (name := sites.assigned(access)):
            yield name


def _parameters(sites: Sites) -> Iterator[str]:
    """Yield the parameter names of macros."""
    for at, word in enumerate(sites.words[:-3]):
        if word.is_one("macro") and sites.words[at - 1].kind == "block_begin":
            end = sites.closed(at + 2)
            yield from (one.text for one in sites.words[at + 3 : end] if one.kind == "name")


FIX = TemplateFix(edits=_values_as_json, typed=True, outcomes=("python-repr-in-calls",))


def _in_calls(facts: Facts) -> Iterator[Diagnostic]:
    answer = facts.detail("values_as_json")
    if answer.outcome == "python" and not _is_python(facts.decided.format):
        yield Diagnostic(
            f"In earlier calls {answer.evidence}.",
            _fix(facts.decided.format),
            answer.line,
            outcome="python-repr-in-calls",
        )


def _fix(format: ToolCallFormat | None) -> str:
    """Return the fix. `tojson` would break objects in a format that has its own syntax for them."""
    if format is not None:
        try:
            written = "".join(write(format, TRIED[:1], ALL_TOOLS).split())
        except CannotWrite:
            written = ""
        if written and "".join(json.dumps(TRIED[0][1]["options"]).split()) not in written:
            return (
                "In the template, write true, false and null in lower case, and objects in the syntax of the "
                f"{format.name} format, not with `tojson`."
            )
    return "Write values that are not strings with tojson; `toolfmt inspect --fix` tries that in a copy."


def _is_python(format: ToolCallFormat | None) -> bool:
    """Whether the format itself writes values in Python syntax."""
    if format is None:
        return False
    try:
        return PYTHON.search(write(format, TRIED[:1], ALL_TOOLS)) is not None
    except CannotWrite:
        return False


_PARTS = {
    "nullable": "lists of types",
    "additional_properties": "true and false in `additionalProperties`",
    "strict": "`strict`",
}
_PYTHON = re.compile(r"\b(?:True|False|None)\b|\['")


def _in_definitions(facts: Facts) -> Iterator[Diagnostic]:
    answers = facts.sections.definitions
    # TF044 reports definitions that are printed as Python objects as a whole.
    if "quoting" not in answers or answers["quoting"].outcome == "python":
        return
    wrong = [
        part for name, part in _PARTS.items() if name in answers and any(map(_PYTHON.search, answers[name].excerpts))
    ]
    if wrong:
        yield Diagnostic(
            f"Tool definitions are rendered with Python's notation for {listed(wrong)}.",
            "Nothing to do if the model was trained on this. Otherwise print values other than strings with `tojson`.",
            outcome="python-repr-in-definitions",
        )
