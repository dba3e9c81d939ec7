"""The template fails on an ordinary part of a tool's definition.

What it checks: tool definitions with one part at a time (such as `enum`, `anyOf`, `$ref` or a list of types), and
definitions that leave something out.

Why it matters: the tools of a request decide whether it succeeds. The request works in the test and fails as soon as a
tool with that part is added.

Affected runtimes: every runtime that renders this template.

Example:

    {{ 'type: ' + parameter.type }}

for a parameter with `"type": ["string", "null"]`.

Fix: change the definition as the finding describes, leave that part out, or describe the tools in a system message.
`toolfmt render` first adapts a definition that the template rejects (`refs-inlined`, `nullable-types-rewritten`) and
lists what is lost in the tool's description. If that does not help, it describes the tools in the system prompt.

    {{ 'type: ' ~ parameter.type | tojson }}
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
        'Give every tool `parameters`; use `{"type": "object", "properties": {}}` for a tool without any'
    ),
}
"""What to do if the template fails on a tool that leaves something out, by the words of the answer."""


def check(facts: Facts) -> Iterator[Diagnostic]:
    rejected: dict[tuple[str, str], list[str]] = {}
    first: dict[tuple[str, str], Answer] = {}
    for part, answer in facts.sections.definitions.items():
        if answer.error is not None and (part in _WHAT or part in _LEFT_OUT):
            # Parts that a tool may leave out are reported separately: they have a simple fix.
            group = answer.words if part in _LEFT_OUT else "", answer.error.explanation or answer.error.engine_message
            named = rejected.setdefault(group, [])
            what = (answer.words or _WHAT[part]) if part in _WHAT else ""
            named += [what] if what and what not in named else []
            first.setdefault(group, answer)
    for group, named in rejected.items():
        error = first[group].error
        assert error is not None
        change = _GIVE.get(first[group].words, "Change the definition")
        fix, fixed_by = or_in_words(
            facts, change, "; `toolfmt render` adapts the definition or describes the tools in the system prompt"
        )
        yield Diagnostic(
            f"The template fails on {listed(named) or first[group].words}: {error.clause}",
            fix,
            first[group].line,
            fixed_by=None if fixed_by == "prompt" else fixed_by,
        )
