"""Detect which parts of a tool definition reach the prompt, by sentinels or by the effect of a change.

`definitions` is called once per inspection. A definition with every part is rendered, and the prompt searched for its
sentinels. Parts without a sentinel (a type, `required`) are tested by rendering two definitions that differ only in
that part. If the template raises on the whole definition, each part is tried alone, so that the answer names the part.
Nothing here raises or knows formats.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any, TypeAlias

from toolfmt._util.text_lists import listed
from toolfmt.errors import TemplateError
from toolfmt.inspect.facts import Facts
from toolfmt.inspect.probe.capabilities import threw
from toolfmt.inspect.probe.conversations import user
from toolfmt.inspect.probe.differences import first_change
from toolfmt.inspect.report.report import Answer
from toolfmt.inspect.report.wording import quote
from toolfmt.inspect.sections.definitions import forms
from toolfmt.inspect.sections.definitions.differences import SHOWN, distinguished, required_shown
from toolfmt.inspect.sections.definitions.probe import (
    ABOUT,
    KEY,
    KEY_ABOUT,
    NAME,
    DefinitionProbe,
    described_tool,
    present,
    text_parameter,
    words_around,
)
from toolfmt.inspect.sections.definitions.values import DEFAULTS, ENUM, ENUMS, HIGH, LOW

PARTS = (
    "name",
    "description",
    "parameter_names",
    "parameter_descriptions",
    "types",
    "required",
    "enum",
    "default",
    "nested_names",
    "nested_descriptions",
    "nested_types",
    "item_types",
    "any_of",
    "one_of",
    "references",
    "nullable",
    "limits",
    "pattern",
    "format",
    "additional_properties",
    "no_descriptions",
    "no_parameters",
    "several_tools",
    "without_wrapper",
    "strict",
    "non_ascii",
    "quoting",
)
"""The parts of a definition, in the order of the report."""

TYPES = ("string", "integer", "number", "boolean", "array", "object")

_DEFAULT, _PATTERN, _FORMAT = "Fz4fallback", "Gz5pattern", "hz6format"
_INNER, _INNER_ABOUT, _DEEP, _DEEP_ABOUT = "zqinner", "Iz7about", "zqdeep", "Jz8about"
_ITEM, _REFERRED, _INSIDE = "zqitem", "Rz9thing", "zqinside"
_SHOWN_TYPES = TYPES[:4]
_NULL = re.compile("null|none|optional", re.IGNORECASE)


def definitions(facts: Facts) -> dict[str, Answer]:
    """Return an answer for each of `PARTS`; empty if the template shows no tools."""
    if facts.renders is None or not facts.shows_tools:
        return {}
    plain = [described_tool({KEY: text_parameter()})]
    for messages in (user(), user(system=True)):
        prompt = facts.renders.render(messages, plain)
        if isinstance(prompt, str) and NAME in prompt:
            template = DefinitionProbe(facts.renders, messages)
            answers = {part: _elsewhere(template, part, ask(template, prompt)) for part, ask in _PROBES.items()}
            return {part: answers[part] for part in PARTS}
    return {}


# --- definitions


def _nested(inner: str = "object", deep: str = "string") -> dict[str, Any]:
    """Return a parameter with a property that has a property. The types of both can be set to compare prompts."""
    lowest = {"type": deep, "description": _DEEP_ABOUT}
    middle: dict[str, Any] = {"type": inner, "description": _INNER_ABOUT}
    if inner == "object":
        middle |= {"properties": {_DEEP: lowest}, "required": [_DEEP]}
    properties = {_INNER: middle}
    return {"type": "object", "description": KEY_ABOUT, "properties": properties, "required": [_INNER]}


def _of_type(name: str) -> dict[str, Any]:
    schema: dict[str, Any] = {"type": name, "description": KEY_ABOUT}
    if name == "array":
        schema["items"] = {"type": "string"}
    if name == "object":
        schema["properties"] = {_INNER: {"type": "string", "description": _INNER_ABOUT}}
    return schema


# --- parts that a word shows


_WORDED: dict[str, tuple[dict[str, Any], tuple[str, ...]]] = {
    "enum": (text_parameter(enum=list(ENUM)), ENUM),
    "default": (text_parameter(default=_DEFAULT), (_DEFAULT,)),
    "nested_names": (_nested(), (_INNER, _DEEP)),
    "nested_descriptions": (_nested(), (_INNER_ABOUT, _DEEP_ABOUT)),
    "limits": (text_parameter(type="integer", minimum=LOW, maximum=HIGH), (str(LOW), str(HIGH))),
    "pattern": (text_parameter(pattern=_PATTERN), (_PATTERN,)),
    "format": (text_parameter(format=_FORMAT), (_FORMAT,)),
}
"""For each part: the schema of a parameter that has it, and the sentinels that should be in the prompt."""


_Within: TypeAlias = Callable[[dict[str, Any]], dict[str, Any]]
_WITHIN: dict[str, _Within] = {
    "list items": lambda schema: {"type": "array", "items": schema},
    "properties of objects": lambda schema: {"type": "object", "properties": {_INNER: schema}},
}


def _worded_within(part: str, within: _Within) -> Callable[[DefinitionProbe, str], Answer]:
    def ask(template: DefinitionProbe, plain: str) -> Answer:
        schema, words = _WORDED[part]
        prompt = template.parameter(**within(schema))
        return threw(prompt) if isinstance(prompt, TemplateError) else present(prompt, words)

    return ask


def _worded(part: str) -> Callable[[DefinitionProbe, str], Answer]:
    """Return a probe for a part by its sentinels, in one definition with all parts if the template accepts that."""

    def ask(template: DefinitionProbe, plain: str) -> Answer:
        schema, words = _WORDED[part]
        prompt = template.show([described_tool({f"{KEY}_{name}": schema for name, (schema, _) in _WORDED.items()}, ())])
        if isinstance(prompt, TemplateError):
            prompt = template.parameter(**schema)
        return threw(prompt) if isinstance(prompt, TemplateError) else present(prompt, words)

    return ask


def _enum(template: DefinitionProbe, plain: str) -> Answer:
    """Test the allowed values of a string and, if these appear, those of other types."""
    answer = _worded("enum")(template, plain)
    if answer.answer != "yes":
        return answer
    lost = []
    for what, schema, values in ENUMS:
        prompt = template.parameter(description=KEY_ABOUT, **schema)
        if isinstance(prompt, TemplateError):
            if not isinstance(schema.get("type"), str):
                continue  # the part `nullable` reports rejected lists of types; a schema without a type is rare
            return threw(prompt, f"allowed values of {what}")
        if not all(str(value) in prompt for value in values):
            lost.append(what)
    if not lost:
        return answer
    whose = listed([lost[0], *(f"of {what}" for what in lost[1:])])
    return Answer("no", "values of {} are dropped; those of strings appear", answer.line, "in-part", (whose,))


def _default(template: DefinitionProbe, plain: str) -> Answer:
    """Test the default of a string; if it appears, whether every other default is accepted, also next to other keys."""
    answer = _worded("default")(template, plain)
    if answer.answer != "yes":
        return answer
    prompts = {what: template.parameter(description=KEY_ABOUT, **schema) for what, schema in DEFAULTS.items()}
    failed = {
        what: prompt
        for what, prompt in prompts.items()
        if isinstance(prompt, TemplateError) and _takes_without_default(template, DEFAULTS[what])
    }
    # What fails alone fails next to anything.
    reported = [what for what in failed if (alone := what.rpartition(" with ")[2]) == what or alone not in failed]
    return threw(failed[reported[0]], listed(reported)) if reported else answer


def _takes_without_default(template: DefinitionProbe, schema: dict[str, Any]) -> bool:
    others = {key: value for key, value in schema.items() if key != "default"}
    return isinstance(template.parameter(description=KEY_ABOUT, **others), str)


def _nested_descriptions(template: DefinitionProbe, plain: str) -> Answer:
    """Test descriptions of properties and, if these appear, those of list items."""
    answer = _worded("nested_descriptions")(template, plain)
    if answer.answer != "yes":
        return answer
    prompt = template.parameter(
        type="array", description=KEY_ABOUT, items={"type": "string", "description": _INNER_ABOUT}
    )
    if isinstance(prompt, str) and _INNER_ABOUT not in prompt:
        return replace(
            answer,
            answer="no",
            words="descriptions of list items are dropped; descriptions of properties appear: {}",
            outcome="in-part",
        )
    return answer


def _in_plain(word: str) -> Callable[[DefinitionProbe, str], Answer]:
    return lambda template, plain: present(plain, (word,))


def _references(template: DefinitionProbe, plain: str) -> Answer:
    inside = {"type": "object", "properties": {_INSIDE: {"type": "string"}}}
    schema = {"$ref": f"#/$defs/{_REFERRED}", "description": KEY_ABOUT}
    prompt = template.show([described_tool({KEY: schema}, more={"$defs": {_REFERRED: inside}})])
    if isinstance(prompt, TemplateError):
        return threw(prompt)
    if _INSIDE in prompt:
        return Answer("yes", "what `$ref` points to appears", excerpts=(words_around(prompt, (_INSIDE,)),))
    named = "the name stays, what it means is dropped" if _REFERRED in prompt else "it is not in the prompt"
    return Answer("no", named)


# --- parts that a change shows


def _types(template: DefinitionProbe, plain: str) -> Answer:
    """Test whether each type renders differently. A common type for all numbers (as in TypeScript) counts as shown."""
    prompts = {name: template.parameter(**_of_type(name)) for name in TYPES}
    failed = {name: prompt for name, prompt in prompts.items() if isinstance(prompt, TemplateError)}
    if failed:
        error = next(iter(failed.values()))
        return threw(error, f"a parameter of type {listed(failed)}")
    texts = {name: prompt for name, prompt in prompts.items() if isinstance(prompt, str)}
    groups = [[name for name in TYPES if texts[name] == text] for text in dict.fromkeys(texts.values())]
    same = [group for group in groups if len(group) > 1]
    message = "; ".join(f"{listed(group)} look the same" for group in same)
    shown = ", ".join(f"{name} as {{}}" for name in _SHOWN_TYPES)
    written = tuple(quote(_as(texts, name), 40) for name in _SHOWN_TYPES)
    if not same:
        return Answer("yes", f"every type is shown: {shown}", excerpts=written)
    if same == [["integer", "number"]]:
        return Answer("yes", f"{message}, every other type is shown: {shown}", excerpts=written)
    return Answer("no", message)


def _as(texts: dict[str, str], name: str) -> str:
    """Return how the type is written: the text that the prompt for another type does not contain."""
    other = next((texts[other] for other in ("string", "boolean") if texts[other] != texts[name]), "")
    return first_change(other, texts[name]).added


def _required(template: DefinitionProbe, plain: str) -> Answer:
    """Test whether moving a name in or out of `required` changes the prompt, for one of two parameters."""
    two = {f"{KEY}_{name}": text_parameter() for name in ("one", "two")}
    first, second = ([described_tool(two, (name,))] for name in two)
    prompts = template.show(first), template.show(second), template.show([described_tool(two, tuple(two))])
    return required_shown(*prompts)


def _nested_types(template: DefinitionProbe, plain: str) -> Answer:
    middle = template.parameter(**_nested("string"))
    return distinguished(template.parameter(**_nested()), template.parameter(**_nested(deep="integer")), middle)


def _item_types(template: DefinitionProbe, plain: str) -> Answer:
    """Test the types of items, and the properties of items that are objects."""
    item = {"type": "object", "properties": {_ITEM: {"type": "string", "description": _INNER_ABOUT}}}
    string, integer, objects = (
        template.parameter(type="array", description=KEY_ABOUT, items=items)
        for items in ({"type": "string"}, {"type": "integer"}, item)
    )
    answer = distinguished(string, integer, objects)
    if answer.answer == "yes" and isinstance(objects, str) and _ITEM not in objects:
        lost = "the properties of items that are objects are dropped; of other items"
        return replace(answer, answer="no", words=f"{lost} {answer.words}")
    return answer


def _alternatives(keyword: str, within: _Within = dict) -> Callable[[DefinitionProbe, str], Answer]:
    def ask(template: DefinitionProbe, plain: str) -> Answer:
        pairs = (("string", "integer"), ("boolean", "array"))
        schemas = [{keyword: [{"type": name} for name in pair], "description": KEY_ABOUT} for pair in pairs]
        return distinguished(*(template.parameter(**within(schema)) for schema in schemas))

    return ask


def _elsewhere(template: DefinitionProbe, part: str, answer: Answer) -> Answer:
    """Return the answer; if a parameter lacks the part, also test list items and properties of objects."""
    if answer.answer != "no" or answer.outcome or part not in _ANYWHERE:
        return answer
    shown = [where for where, within in _WITHIN.items() if _ANYWHERE[part](within)(template, "").answer == "yes"]
    if not shown:
        return answer
    return replace(answer, words=f"in a parameter: {answer.words}; in {listed(shown)}: shown", outcome="in-part")


def _nullable(template: DefinitionProbe, plain: str) -> Answer:
    answer = distinguished(plain, prompt := template.parameter(**text_parameter(type=["string", "null"])))
    if answer.answer == "yes" and isinstance(prompt, str) and not _NULL.search(first_change(plain, prompt).added):
        return replace(answer, answer="no", words=f"the type is lost: {answer.words.removeprefix(SHOWN)}")
    return answer


def _additional(template: DefinitionProbe, plain: str) -> Answer:
    keys: dict[str, Any] = {"additionalProperties": True, "title": KEY_ABOUT}
    objects = {key: template.parameter(type="object", description=KEY_ABOUT, **{key: keys[key]}) for key in keys}
    if isinstance(error := objects["additionalProperties"], TemplateError):
        failing = listed([f"`{key}`" for key, prompt in objects.items() if isinstance(prompt, TemplateError)], "or")
        return threw(error, f"an object without `properties` that has {failing}")
    closed = distinguished(
        plain, template.show([described_tool({KEY: text_parameter()}, more={"additionalProperties": False})])
    )
    if closed.answer != "no":
        return closed
    # Some templates write the type of additional properties, and nothing if none are allowed.
    texts, numbers = (
        template.parameter(type="object", additionalProperties={"type": kind}) for kind in ("string", "integer")
    )
    if not isinstance(texts, str) or texts == numbers:
        return closed
    # Gemma 4
    if texts == template.parameter(type="object", properties={"additionalProperties": {"type": "string"}}):
        what = "the `additionalProperties` of an object without `properties` is shown as a parameter of that name"
        return Answer("no", what, outcome="as-parameter")
    return Answer("yes", "the type of further properties is written, and not that there are none")


def _strict(template: DefinitionProbe, plain: str) -> Answer:
    tool = described_tool({KEY: text_parameter()})
    tool["function"]["strict"] = True
    return distinguished(plain, template.show([tool]))


_ANYWHERE: dict[str, Callable[[_Within], Callable[[DefinitionProbe, str], Answer]]] = {
    **{part: partial(_worded_within, part) for part in ("enum", "default", "limits", "pattern", "format")},
    "any_of": partial(_alternatives, "anyOf"),
    "one_of": partial(_alternatives, "oneOf"),
}
"""Parts that a template may show for list items or properties only."""
_PROBES: dict[str, Callable[[DefinitionProbe, str], Answer]] = {
    "name": _in_plain(NAME),
    "description": _in_plain(ABOUT),
    "parameter_names": _in_plain(KEY),
    "parameter_descriptions": _in_plain(KEY_ABOUT),
    **{part: _worded(part) for part in _WORDED},
    "enum": _enum,
    "nested_descriptions": _nested_descriptions,
    "default": _default,
    "types": _types,
    "required": _required,
    "nested_types": _nested_types,
    "item_types": _item_types,
    "any_of": _alternatives("anyOf"),
    "one_of": _alternatives("oneOf"),
    "references": _references,
    "nullable": _nullable,
    "additional_properties": _additional,
    "no_descriptions": forms.no_descriptions,
    "no_parameters": forms.no_parameters,
    "several_tools": forms.several,
    "without_wrapper": forms.without_wrapper,
    "strict": _strict,
    "non_ascii": forms.non_ascii,
    "quoting": forms.quoting,
}
