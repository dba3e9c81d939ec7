"""A tool's definition makes the template throw.

The template takes simple tools, and fails on an ordinary part of another one. Which tools a request carries decides
whether it succeeds: it works in the test and fails on the day a tool with that part is added.

What to do: change the definition as told, leave that part out, or describe the tools in a system message. toolfmt's
`render` first adapts a definition that the template rejects (`refs-inlined`, `nullable-types-rewritten`) and lists what
is then lost in the tool's description. If that does not help, it describes the tools in the system prompt.

Example: a template that joins a parameter's `type` to text, and fails where that is `["string", "null"]`.
"""

from __future__ import annotations

from collections.abc import Iterator

from toolfmt._util.text_lists import listed
from toolfmt.inspect.checks.diagnostic import Diagnostic
from toolfmt.inspect.checks.workarounds import or_in_words
from toolfmt.inspect.facts import Facts
from toolfmt.inspect.report.report import Answer, FixedBy, Severity

SEVERITY: Severity = "warning"
FIXED_BY: FixedBy = "render"

_WHAT = {
    "types": "a parameter's type",
    "required": "`required`",
    "enum": "`enum`",
    "default": "`default`",
    "nested_names": "objects in objects",
    "nested_descriptions": "objects in objects",
    "nested_types": "objects in objects",
    "item_types": "lists",
    "any_of": "`anyOf`",
    "one_of": "`oneOf`",
    "references": "`$ref`",
    "nullable": 'a list of types (`["string", "null"]`)',
    "limits": "`minimum` and `maximum`",
    "pattern": "`pattern`",
    "format": "`format`",
    "additional_properties": "`additionalProperties`",
    "several_tools": "several tools",
    "strict": "`strict`",
    "non_ascii": "other than English letters",
    "quoting": "quotes or newlines in a description",
}
_LEFT_OUT = {"no_descriptions", "no_parameters"}
_GIVE = {
    "a parameter without a description": "Add to every parameter a `description`",
    "a tool without a description": "Give every tool a `description`",
    "a tool without properties": "Give every tool a parameter",
    "a tool without the key `parameters`": (
        'Give every tool `parameters`, `{"type": "object", "properties": {}}` if it has none'
    ),
}
"""What to do where the template fails on a tool that leaves something out, by the words of the answer that says so."""


def check(facts: Facts) -> Iterator[Diagnostic]:
    refused: dict[tuple[str, str], list[str]] = {}
    first: dict[tuple[str, str], Answer] = {}
    for part, answer in facts.sections.definitions.items():
        if answer.error is not None and (part in _WHAT or part in _LEFT_OUT):
            # What a tool may leave out is told by itself: it is a matter of its own, and easily given.
            alike = answer.words if part in _LEFT_OUT else "", answer.error.in_words or answer.error.own_words
            named = refused.setdefault(alike, [])
            what = (answer.words or _WHAT[part]) if part in _WHAT else ""
            named += [what] if what and what not in named else []
            first.setdefault(alike, answer)
    for alike, named in refused.items():
        error = first[alike].error
        assert error is not None
        change = _GIVE.get(first[alike].words, "Change the definition")
        fix, fixed_by = or_in_words(
            facts, change, "; `toolfmt render` adapts the definition or describes the tools in the system prompt"
        )
        yield Diagnostic(
            f"The template fails on {listed(named) or first[alike].words}: {error.clause}",
            fix,
            first[alike].line,
            fixed_by=None if fixed_by == "prompt" else fixed_by,
        )
