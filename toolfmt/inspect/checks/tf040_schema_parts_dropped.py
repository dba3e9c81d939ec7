"""Parts of a tool's definition do not reach the prompt.

The template writes a signature of its own instead of the definition, and leaves parts out. The model then cannot know
which values are allowed, which parameters it must give, or what an object holds: it guesses, and the calls look right
but are rejected by the tool. Schemas that pydantic makes hold `anyOf` for optional parameters and `$ref` for models.

What to do: state in the tool's description what is lost (`one of: red, green`). `toolfmt render` does this for the
parameters of each request (`parameters-in-description`). If the template does not show descriptions either, `render`
describes the tools in the system prompt.

Example: a template that prints `def paint(color: str)` for a parameter with `"enum": ["red", "green"]`.
"""

from __future__ import annotations

from collections.abc import Iterator

from toolfmt._util.text_lists import listed
from toolfmt.inspect.checks.diagnostic import Diagnostic
from toolfmt.inspect.checks.workarounds import describe_tools, shows_descriptions
from toolfmt.inspect.facts import Facts
from toolfmt.inspect.probe.conversations import PARAMETER_DESCRIPTION, TOOLS, user
from toolfmt.inspect.report.report import Answer, FixedBy, Severity

SEVERITY: Severity = "warning"
FIXED_BY: FixedBy = "render"

# What a model needs in order to give arguments that the tool takes; the rest is told in the chapter only.
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


def check(facts: Facts) -> Iterator[Diagnostic]:
    answers = facts.sections.definitions
    lost = [what for part, what in _MATTERS.items() if part in answers and answers[part].answer == "no"]
    for part in ("enum", "any_of"):
        if _MATTERS[part] in lost and answers[part].outcome == "in-part":
            whose = answers[part].excerpts[0] if answers[part].excerpts else "parameters"
            lost[lost.index(_MATTERS[part])] = f"{_MATTERS[part]} of {whose}"
    if "additional_properties" in answers and answers["additional_properties"].outcome == "as-parameter":
        lost.append("the `additionalProperties` of an object without `properties`: it shows a parameter of that name")
    if lost:
        fix, fixed_by = _fix(facts)
        yield Diagnostic(
            f"The prompt does not contain these parts of a tool's definition: {listed(lost)}",
            fix,
            _enum_line(facts, answers["enum"]) or _parameter_line(facts) or facts.capabilities["tools"].line,
            fixed_by=fixed_by,
        )


def _enum_line(facts: Facts, enum: Answer) -> int | None:
    """The line that mentions `enum` if the template shows some allowed values."""
    return facts.renders.template.line_of(r"\benum\b") if facts.renders and enum.outcome == "in-part" else None


def _parameter_line(facts: Facts) -> int | None:
    """The line that writes a parameter, in a macro if there is one."""
    if facts.renders is None:
        return None
    written = facts.renders.text(user(), TOOLS).find(PARAMETER_DESCRIPTION)
    return facts.renders.line_at(user(), TOOLS, written, innermost=True) if written >= 0 else None


def _fix(facts: Facts) -> tuple[str, FixedBy]:
    """Where to state what is lost, and what fixes the finding then."""
    if shows_descriptions(facts):
        return "Put it into the tool's description; `toolfmt render` does this.", "render"
    if facts.takes_prose:
        return describe_tools(facts), "render"
    return (
        "Put it into a message: the template renders no descriptions and rejects questions without tools.",
        "request",
    )
