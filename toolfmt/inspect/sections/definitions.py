"""What of a tool's definition reaches the prompt, part by part: by words no template holds, or by what a change does.

`definitions` is called once an inspection. A definition with everything in it goes in, and is looked through for its
words; what cannot be told from a word (a type, `required`) is asked by rendering two definitions that differ in it
alone. Where the template throws on the whole, each part is tried alone, so that the answer names the part. Templates
that show no tools have nothing to look at. Nothing here raises or knows formats.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

from toolfmt._util.text_lists import listed
from toolfmt.errors import TemplateError
from toolfmt.inspect.facts import Facts
from toolfmt.inspect.probe.capabilities import threw
from toolfmt.inspect.probe.conversations import Message, tool_definition, user
from toolfmt.inspect.probe.differences import first_change
from toolfmt.inspect.probe.renders import Renders
from toolfmt.inspect.report.report import Answer
from toolfmt.inspect.report.wording import excerpt, quote
from toolfmt.inspect.sections.definition_values import DEFAULTS, ENUM, ENUMS, HIGH, LOW
from toolfmt.inspect.sections.escaping import NON_ASCII, QUOTED, how_quoted

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

_NAME, _ABOUT, _KEY, _KEY_ABOUT = "find_zqthing", "Dz1about", "zqplace", "Pz2about"
_DEFAULT, _PATTERN, _FORMAT = "Fz4fallback", "Gz5pattern", "hz6format"
_INNER, _INNER_ABOUT, _DEEP, _DEEP_ABOUT = "zqinner", "Iz7about", "zqdeep", "Jz8about"
_ITEM, _REFERRED, _INSIDE = "zqitem", "Rz9thing", "zqinside"
_SHOWN_TYPES = TYPES[:4]
_NO_TEXT = "no description is in the prompt, so none can break it"
_NULL = re.compile("null|none|optional", re.IGNORECASE)
_THREE = ("ask_zqone", "ask_zqtwo", "ask_zqthree")

Shown: TypeAlias = str | TemplateError


@dataclass(frozen=True)
class _Template:
    """The template with the question that its tools are shown beside."""

    renders: Renders
    messages: Sequence[Message]

    def show(self, tools: Sequence[Message]) -> Shown:
        return self.renders.render(self.messages, tools)

    def parameter(self, **schema: Any) -> Shown:
        """The prompt for a tool with one parameter of this schema."""
        return self.show([_tool({_KEY: schema})])


def definitions(facts: Facts) -> dict[str, Answer]:
    """An answer for each of `PARTS`; none where the template shows no tools."""
    if facts.renders is None or not facts.shows_tools:
        return {}
    plain = [_tool({_KEY: _text()})]
    for messages in (user(), user(system=True)):
        prompt = facts.renders.render(messages, plain)
        if isinstance(prompt, str) and _NAME in prompt:
            template = _Template(facts.renders, messages)
            answers = {part: ask(template, prompt) for part, ask in _ASKED.items()}
            return {part: answers[part] for part in PARTS}
    return {}


# --- definitions


def _text(**more: Any) -> dict[str, Any]:
    return {"type": "string", "description": _KEY_ABOUT, **more}


def _tool(
    properties: dict[str, Any],
    required: Sequence[str] = (_KEY,),
    *,
    name: str = _NAME,
    about: str = _ABOUT,
    more: Mapping[str, Any] | None = None,
) -> Message:
    """A tool; `more` goes into the schema of its parameters."""
    return tool_definition(name, about, properties, required, more)


def _nested(inner: str = "object", deep: str = "string") -> dict[str, Any]:
    """A parameter with a property that has a property; the types of both can be told apart by changing them."""
    lowest = {"type": deep, "description": _DEEP_ABOUT}
    middle: dict[str, Any] = {"type": inner, "description": _INNER_ABOUT}
    if inner == "object":
        middle |= {"properties": {_DEEP: lowest}, "required": [_DEEP]}
    properties = {_INNER: middle}
    return {"type": "object", "description": _KEY_ABOUT, "properties": properties, "required": [_INNER]}


def _of_type(name: str) -> dict[str, Any]:
    schema: dict[str, Any] = {"type": name, "description": _KEY_ABOUT}
    if name == "array":
        schema["items"] = {"type": "string"}
    if name == "object":
        schema["properties"] = {_INNER: {"type": "string", "description": _INNER_ABOUT}}
    return schema


# --- parts that a word shows


_WORDED: dict[str, tuple[dict[str, Any], tuple[str, ...]]] = {
    "enum": (_text(enum=list(ENUM)), ENUM),
    "default": (_text(default=_DEFAULT), (_DEFAULT,)),
    "nested_names": (_nested(), (_INNER, _DEEP)),
    "nested_descriptions": (_nested(), (_INNER_ABOUT, _DEEP_ABOUT)),
    "limits": (_text(type="integer", minimum=LOW, maximum=HIGH), (str(LOW), str(HIGH))),
    "pattern": (_text(pattern=_PATTERN), (_PATTERN,)),
    "format": (_text(format=_FORMAT), (_FORMAT,)),
}
"""For each part the schema of a parameter that has it, and the words of it that should be in the prompt."""


def _worded(part: str) -> Callable[[_Template, str], Answer]:
    """Asks for a part by its words, in one definition for all of them where the template takes that."""

    def ask(template: _Template, plain: str) -> Answer:
        schema, words = _WORDED[part]
        prompt = template.show([_tool({f"{_KEY}_{name}": schema for name, (schema, _) in _WORDED.items()}, ())])
        if isinstance(prompt, TemplateError):
            prompt = template.parameter(**schema)
        return threw(prompt) if isinstance(prompt, TemplateError) else _present(prompt, words)

    return ask


def _enum(template: _Template, plain: str) -> Answer:
    """The allowed values of a string, and if these appear those of other types."""
    answer = _worded("enum")(template, plain)
    if answer.answer != "yes":
        return answer
    lost = []
    for what, schema, values in ENUMS:
        prompt = template.parameter(description=_KEY_ABOUT, **schema)
        if isinstance(prompt, TemplateError):
            if not isinstance(schema.get("type"), str):
                continue  # the part `nullable` reports rejected lists of types; a schema without a type is rare
            return threw(prompt, f"allowed values of {what}")
        if not all(str(value) in prompt for value in values):
            lost.append(what)
    if not lost:
        return answer
    return Answer("no", "values of {} are dropped, strings appear", answer.line, "in-part", (listed(lost),))


def _default(template: _Template, plain: str) -> Answer:
    """The default of a string, and where it appears whether every other is taken, beside other keys as well."""
    answer = _worded("default")(template, plain)
    if answer.answer != "yes":
        return answer
    prompts = {what: template.parameter(description=_KEY_ABOUT, **schema) for what, schema in DEFAULTS.items()}
    failed = {
        what: prompt
        for what, prompt in prompts.items()
        if isinstance(prompt, TemplateError) and _takes_without_default(template, DEFAULTS[what])
    }
    # What fails alone fails next to anything.
    told = [what for what in failed if (alone := what.partition(" next to ")[0]) == what or alone not in failed]
    return threw(failed[told[0]], listed(told)) if told else answer


def _takes_without_default(template: _Template, schema: dict[str, Any]) -> bool:
    others = {key: value for key, value in schema.items() if key != "default"}
    return isinstance(template.parameter(description=_KEY_ABOUT, **others), str)


def _nested_descriptions(template: _Template, plain: str) -> Answer:
    """Descriptions of properties, then, if these appear, those of list items."""
    answer = _worded("nested_descriptions")(template, plain)
    if answer.answer != "yes":
        return answer
    prompt = template.parameter(
        type="array", description=_KEY_ABOUT, items={"type": "string", "description": _INNER_ABOUT}
    )
    if isinstance(prompt, str) and _INNER_ABOUT not in prompt:
        return replace(
            answer,
            answer="no",
            words="descriptions of list items are dropped; descriptions of properties appear: {}",
            outcome="in-part",
        )
    return answer


def _present(prompt: str, words: Iterable[str]) -> Answer:
    words = tuple(words)
    missing = [word for word in words if word not in prompt]
    if not missing:
        return Answer("yes", "it appears", excerpts=(_around(prompt, words),))
    if len(missing) == len(words):
        return Answer("no", "it is not in the prompt")
    shown = next(word for word in words if word in prompt)
    return Answer("no", "only a part of it is in the prompt", outcome="in-part", excerpts=(_around(prompt, (shown,)),))


def _in_plain(word: str) -> Callable[[_Template, str], Answer]:
    return lambda template, plain: _present(plain, (word,))


def _references(template: _Template, plain: str) -> Answer:
    inside = {"type": "object", "properties": {_INSIDE: {"type": "string"}}}
    schema = {"$ref": f"#/$defs/{_REFERRED}", "description": _KEY_ABOUT}
    prompt = template.show([_tool({_KEY: schema}, more={"$defs": {_REFERRED: inside}})])
    if isinstance(prompt, TemplateError):
        return threw(prompt)
    if _INSIDE in prompt:
        return Answer("yes", "what `$ref` means appears", excerpts=(_around(prompt, (_INSIDE,)),))
    named = "the name stays, what it means is dropped" if _REFERRED in prompt else "it is not in the prompt"
    return Answer("no", named)


# --- parts that a change shows


def _types(template: _Template, plain: str) -> Answer:
    """Whether each type makes another prompt; TypeScript's one type for all numbers is no loss of the others."""
    prompts = {name: template.parameter(**_of_type(name)) for name in TYPES}
    failed = {name: prompt for name, prompt in prompts.items() if isinstance(prompt, TemplateError)}
    if failed:
        error = next(iter(failed.values()))
        return threw(error, f"a parameter of type {listed(failed)}")
    texts = {name: prompt for name, prompt in prompts.items() if isinstance(prompt, str)}
    alike = [[name for name in TYPES if texts[name] == text] for text in dict.fromkeys(texts.values())]
    same = [group for group in alike if len(group) > 1]
    told = "; ".join(f"{listed(group)} look the same" for group in same)
    shown = ", ".join(f"{name} as {{}}" for name in _SHOWN_TYPES)
    written = tuple(quote(_as(texts, name), 40) for name in _SHOWN_TYPES)
    if not same:
        return Answer("yes", f"every type is shown: {shown}", excerpts=written)
    if same == [["integer", "number"]]:
        return Answer("yes", f"{told}, every other type is shown: {shown}", excerpts=written)
    return Answer("no", told)


def _as(texts: dict[str, str], name: str) -> str:
    """How the type is written: what stands there and not in the prompt of another type."""
    other = next((texts[other] for other in ("string", "boolean") if texts[other] != texts[name]), "")
    return first_change(other, texts[name]).added


def _required(template: _Template, plain: str) -> Answer:
    """Whether moving a name in or out of `required` changes the prompt, for one of two parameters."""
    two = {f"{_KEY}_{name}": _text() for name in ("one", "two")}
    first, second = ([_tool(two, (name,))] for name in two)
    return _told_apart(template.show(first), template.show(second), template.show([_tool(two, tuple(two))]))


def _told_apart(*prompts: Shown) -> Answer:
    """Whether all prompts differ from the first, with what the second makes of it."""
    texts = []
    for prompt in prompts:
        if isinstance(prompt, TemplateError):
            return threw(prompt)
        texts.append(prompt)
    if any(text == texts[0] for text in texts[1:]):
        return Answer("no", "the prompt is the same with another one")
    made = first_change(texts[0], texts[1])
    if not made.removed:
        return Answer("yes", "it adds {}", excerpts=(quote(made.added, 80),))
    if not made.added:
        return Answer("yes", "it shortens the prompt")
    return Answer("yes", "{} becomes {}", excerpts=(quote(made.removed, 60), quote(made.added, 60)))


def _nested_types(template: _Template, plain: str) -> Answer:
    middle = template.parameter(**_nested("string"))
    return _told_apart(template.parameter(**_nested()), template.parameter(**_nested(deep="integer")), middle)


def _item_types(template: _Template, plain: str) -> Answer:
    """Types of items, and what items that are objects hold."""
    item = {"type": "object", "properties": {_ITEM: {"type": "string", "description": _INNER_ABOUT}}}
    string, integer, objects = (
        template.parameter(type="array", description=_KEY_ABOUT, items=items)
        for items in ({"type": "string"}, {"type": "integer"}, item)
    )
    answer = _told_apart(string, integer, objects)
    if answer.answer == "yes" and isinstance(objects, str) and _ITEM not in objects:
        lost = "the properties of items that are objects are dropped; of other items"
        return replace(answer, answer="no", words=f"{lost} {answer.words}")
    return answer


def _alternatives(keyword: str) -> Callable[[_Template, str], Answer]:
    def ask(template: _Template, plain: str) -> Answer:
        pairs = (("string", "integer"), ("boolean", "array"))
        schemas = [{keyword: [{"type": name} for name in pair], "description": _KEY_ABOUT} for pair in pairs]
        return _told_apart(*(template.parameter(**schema) for schema in schemas))

    return ask


def _nullable(template: _Template, plain: str) -> Answer:
    answer = _told_apart(plain, prompt := template.parameter(**_text(type=["string", "null"])))
    if answer.answer == "yes" and isinstance(prompt, str) and not _NULL.search(first_change(plain, prompt).added):
        return replace(answer, answer="no", words=f"the type is lost: {answer.words}")
    return answer


def _additional(template: _Template, plain: str) -> Answer:
    open_object = template.parameter(type="object", description=_KEY_ABOUT, additionalProperties=True)
    if isinstance(open_object, TemplateError):
        return threw(open_object, "an object without `properties` that allows any")
    closed = _told_apart(plain, template.show([_tool({_KEY: _text()}, more={"additionalProperties": False})]))
    if closed.answer != "no":
        return closed
    # Some write the type of what may be added, and nothing where nothing may.
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


def _strict(template: _Template, plain: str) -> Answer:
    tool = _tool({_KEY: _text()})
    tool["function"]["strict"] = True
    return _told_apart(plain, template.show([tool]))


# --- the list of tools, and text


def _no_descriptions(template: _Template, plain: str) -> Answer:
    """A parameter, and a tool, that nobody described."""
    tool = _tool({_KEY: {"type": "string"}})
    mute = {"type": "function", "function": {"name": _NAME, "parameters": tool["function"]["parameters"]}}
    for given, what in ((tool, "a parameter"), (mute, "a tool")):
        prompt = template.show([given])
        if isinstance(prompt, TemplateError):
            return threw(prompt, f"{what} without a description")
        if _NAME not in prompt or (_KEY in plain and _KEY not in prompt):
            return Answer("no", f"{what} without a description is not in the prompt")
    return Answer("yes", "tools and parameters without a description are shown")


def _no_parameters(template: _Template, plain: str) -> Answer:
    """A tool without parameters: with an empty schema, and without any."""
    bare = _tool({}, ())
    without = {"type": "function", "function": {"name": _NAME, "description": _ABOUT}}
    for tool, how in ((bare, "without properties"), (without, "without the key `parameters`")):
        prompt = template.show([tool])
        if isinstance(prompt, TemplateError):
            return threw(prompt, f"a tool {how}")
        if _NAME not in prompt:
            return Answer("no", f"a tool {how} is not in the prompt")
    return Answer("yes", "such a tool is shown")


def _several(template: _Template, plain: str) -> Answer:
    about = [f"{_ABOUT}{number}" for number in range(3)]
    tools = [_tool({_KEY: _text()}, name=name, about=text) for name, text in zip(_THREE, about, strict=True)]
    prompt = template.show(tools)
    if isinstance(prompt, TemplateError):
        return threw(prompt)
    shown = about if _ABOUT in plain else list(_THREE)
    counts = [prompt.count(word) for word in shown]
    offsets = [prompt.find(word) for word in shown]
    if 0 in counts:
        return Answer("no", f"of three tools {3 - counts.count(0)} are in the prompt")
    if offsets != sorted(offsets):
        return Answer("no", "three tools appear in another order")
    alone = plain.count(_ABOUT if _ABOUT in plain else _NAME)
    if max(counts) > alone:
        return Answer("no", f"of three tools one appears {max(counts)} times, alone {alone}")
    return Answer("yes", f"three tools appear in order, each {'once' if alone == 1 else f'{alone} times'}")


def _without_wrapper(template: _Template, plain: str) -> Answer:
    prompt = template.show([_tool({_KEY: _text()})["function"]])
    if isinstance(prompt, TemplateError):
        return threw(prompt)
    lost = [word for word in (_NAME, _ABOUT, _KEY) if word in plain and word not in prompt]
    if lost:
        return Answer("no", "a definition without `function` around it is dropped, or parts of it are")
    return Answer("yes", "a definition without `function` around it is shown as well")


def _non_ascii(template: _Template, plain: str) -> Answer:
    prompt = template.show([_tool({_KEY: _text() | {"description": NON_ASCII}}, about=NON_ASCII)])
    if isinstance(prompt, TemplateError):
        return threw(prompt)
    if NON_ASCII in prompt:
        return Answer("yes", "it appears as it is", excerpts=(NON_ASCII,))
    at = prompt.find("\\u")
    if at >= 0:
        return Answer("no", "it is escaped", excerpts=(excerpt(prompt, at - 10, at + 30),))
    shown = _ABOUT in plain or _KEY_ABOUT in plain
    return Answer("no", "it is not in the prompt") if shown else Answer("yes", _NO_TEXT)


def _quoting(template: _Template, plain: str) -> Answer:
    """Quotes, a backslash and a newline, in the description of the tool and of its parameter."""
    first: Answer | None = None
    for word, what in ((_ABOUT, "a tool's description"), (_KEY_ABOUT, "a parameter's description")):
        if word not in plain:
            continue
        about, inner = (QUOTED, _KEY_ABOUT) if word == _ABOUT else (_ABOUT, QUOTED)
        prompt = template.show([_tool({_KEY: {"type": "string", "description": inner}}, about=about)])
        if isinstance(prompt, TemplateError):
            return threw(prompt, f"in {what}")
        how = how_quoted(prompt)
        if how.broken:
            return Answer("no", f"in {what} {how.what}", excerpts=(how.stretch,))
        first = first or Answer("yes", how.what, outcome="python" if how.by_python else "")
    return first or Answer("yes", _NO_TEXT)


_ASKED: dict[str, Callable[[_Template, str], Answer]] = {
    "name": _in_plain(_NAME),
    "description": _in_plain(_ABOUT),
    "parameter_names": _in_plain(_KEY),
    "parameter_descriptions": _in_plain(_KEY_ABOUT),
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
    "no_descriptions": _no_descriptions,
    "no_parameters": _no_parameters,
    "several_tools": _several,
    "without_wrapper": _without_wrapper,
    "strict": _strict,
    "non_ascii": _non_ascii,
    "quoting": _quoting,
}


# --- helpers


def _around(prompt: str, words: Sequence[str], width: int = 16) -> str:
    """The words in the prompt with a little of what is around them."""
    begin = prompt.find(words[0])
    end = max(begin, prompt.find(words[-1], begin)) + len(words[-1])
    return excerpt(prompt, begin - width, end + width, 100)
