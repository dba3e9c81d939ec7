"""Parts of a tool's definition do not reach the prompt, so the model guesses them.

What it checks: a tool definition with descriptions, types, required parameters, allowed values, nested objects, `anyOf`
and `$ref`, and which of these parts are in the prompt.

Why it matters: the template writes its own signature instead of the definition. The model then cannot know which values
are allowed, which parameters are required, or what an object contains. The calls look right, but the tool rejects them.
Schemas from pydantic contain `anyOf` for optional parameters and `$ref` for models.

Affected runtimes: every runtime that renders this template.

Example:

    def {{ tool.function.name }}({{ tool.function.parameters.properties | join(', ') }})

for a parameter with `"enum": ["red", "green"]`. The prompt then shows only the parameter's name, not its values.

Fix: state what is lost in the tool's description (`one of: red, green`). `toolfmt render` does this for the parameters
of each request (`parameters-in-description`). If the template does not show descriptions either, `render` describes the
tools in the system prompt.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from toolfmt._util.text_lists import listed
from toolfmt.inspect.checks.diagnostic import Diagnostic
from toolfmt.inspect.checks.workarounds import describe_tools, shows_descriptions
from toolfmt.inspect.facts import Facts
from toolfmt.inspect.probe.conversations import PARAMETER_DESCRIPTION, TOOLS, user
from toolfmt.inspect.report.report import Answer, FixedBy, Severity

SEVERITY: Severity = "warning"
FIXED_BY: FixedBy = "render"

# What a model needs to write arguments that the tool accepts. Only the report's section lists the rest.
_CONST = "parameters with `const`"
_MATTERS = {
    "description": "the tool's description",
    "parameter_names": "the names of parameters",
    "parameter_descriptions": "the descriptions of parameters",
    "types": "types",
    "required": "which parameters are required",
    "enum": "the allowed values (`enum`)",
    "nested_names": "the properties of objects",
    "item_types": "the types of list items",
    "any_of": "the types in `anyOf`",
    "references": "what `$ref` points to",
}


def _listed(parts: Sequence[str]) -> str:
    """Return the parts as a list, with semicolons if one of them is a list itself."""
    return "; ".join(parts) if any(", " in part for part in parts) else listed(parts)


def _without_const(what: str, whose: str) -> Iterator[str]:
    """Yield what is lost of these schemas; `const`, which is the last of them, has no list of values."""
    others = whose.removesuffix(_CONST).removesuffix(" and of ")
    if others:
        first, separator, last = others.rpartition(", of ")
        yield f"{what} of {whose if others == whose else f'{first} and of {last}' if separator else others}"
    if others != whose:
        yield "the value of `const`"


def check(facts: Facts) -> Iterator[Diagnostic]:
    answers = facts.sections.definitions
    lost = [what for part, what in _MATTERS.items() if part in answers and answers[part].answer == "no"]
    for part in ("enum", "any_of"):
        if _MATTERS[part] in lost and answers[part].outcome == "in-part":
            whose = answers[part].excerpts[0] if answers[part].excerpts else "parameters"
            at = lost.index(_MATTERS[part])
            lost[at : at + 1] = _without_const(_MATTERS[part], whose)
    if "additional_properties" in answers and answers["additional_properties"].outcome == "as-parameter":
        lost.append(
            "the `additionalProperties` of an object without `properties`, which the prompt shows as a parameter named "
            "additionalProperties"
        )
    if lost:
        fix, fixed_by = _fix(facts)
        yield Diagnostic(
            f"The prompt does not contain these parts of a tool's definition: {_listed(lost)}",
            fix,
            _enum_line(facts, answers["enum"]) or _parameter_line(facts) or facts.capabilities["tools"].line,
            fixed_by=fixed_by,
        )


def _enum_line(facts: Facts, enum: Answer) -> int | None:
    """Return the line that mentions `enum` if the template shows some allowed values."""
    return facts.renders.template.line_of(r"\benum\b") if facts.renders and enum.outcome == "in-part" else None


def _parameter_line(facts: Facts) -> int | None:
    """Return the line that writes a parameter, inside a macro if there is one."""
    if facts.renders is None:
        return None
    written = facts.renders.text(user(), TOOLS).find(PARAMETER_DESCRIPTION)
    return facts.renders.line_at(user(), TOOLS, written, innermost=True) if written >= 0 else None


def _fix(facts: Facts) -> tuple[str, FixedBy]:
    """Return where to describe what is lost, and what then fixes the finding."""
    if shows_descriptions(facts):
        return "State them in the tool's description; `toolfmt render` does this.", "render"
    if facts.takes_prose:
        return describe_tools(facts), "render"
    return (
        "State them in a message: the template renders no descriptions and rejects questions without tools.",
        "request",
    )
