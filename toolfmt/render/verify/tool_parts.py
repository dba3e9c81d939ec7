"""Find the parts of a tool definition that the template leaves out when it renders this tool alone.

`tool_coverage.py` checks whether a finished prompt shows the tools.

The parts that count are the tool's name and description, and in its schema at every depth: parameter names,
descriptions, types, enum and const values, `required` entries, branches of `anyOf`, `oneOf` and `allOf`, and `$ref`s.
Other keywords (`default`, `minimum`, `pattern`, …) do not count.

A rendering that contains the definition as JSON shows every part. For any other, names, descriptions and values are
replaced by sentinel words, and the two renderings must match except for these words. A template that shows the word but
leaves out the real name (`description`, `type`) breaks the match. Types, `required` entries, branches, references and
values that are neither text nor a number have no sentinel. If one of them is changed or removed, the rendering must
change.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from toolfmt._util.json_values import SCHEMA_LISTS, SCHEMA_MAPS, SCHEMAS
from toolfmt.errors import LimitHit, TemplateError
from toolfmt.formats.values.schema_types import type_of
from toolfmt.render.request.messages import Message
from toolfmt.render.verify.sentinel_request import (
    RequestSpan,
    SentinelRequest,
    aligned,
    free_number,
    spellings_of,
    words_in,
)
from toolfmt.render.verify.tool_coverage import BETWEEN_WORDS

Render: TypeAlias = Callable[[Message], str]
"""Renders one tool. Raises `TemplateError` if the template rejects it."""
_Path: TypeAlias = tuple[str | int, ...]
_Kind = Literal["tool", "parameter", "description", "value", "constant", "type", "required", "branch", "reference"]

PARAMETERS = ("parameters",)
_WORDED = ("tool", "parameter", "description", "value")
"""The kinds that a sentinel word can replace."""
_BRANCHES = ("anyOf", "oneOf", "allOf")
_MOST_BY_EFFECT = 40
"""Parts that are checked one at a time. In a larger definition, the first and last of similar parts are checked."""
_MOST_ALONE = 400
"""Maximum number of parts that are checked one at a time, with a rendering for each. Further parts count as lost."""
_DEEPEST = 64
_REMOVED = object()


@dataclass(frozen=True)
class ToolPart:
    """One part of a tool definition.

    `path` leads to it in the function object, for a parameter to its schema. `parameter` is the top-level parameter it
    belongs to: "" for a part of the schema outside of all parameters, None for the tool's own name and description.
    """

    kind: _Kind
    path: _Path
    text: str
    parameter: str | None
    label: str
    """The part's name in error messages."""
    number: bool = False


def lost_parts(render: Render, tool: Message) -> tuple[ToolPart, ...]:
    """Return the parts of the tool that its rendering does not show.

    `render` renders a tool in canonical form, always in the same conversation. Raises what `render` raises for `tool`.
    """
    prompt = render(tool)
    function = tool["function"]
    parts = list(tool_parts(function))
    if _holds(prompt, function):
        return ()
    if _holds(prompt, function.get("parameters")):
        parts = [part for part in parts if part.path[:1] != PARAMETERS]
    shown = _shown_as_words(render, tool, prompt, [part for part in parts if part.kind in _WORDED])
    others = [part for part in parts if part.kind not in _WORDED]
    shown |= _shown_by_effect(render, tool, prompt, others)
    return tuple(part for part in parts if part not in shown)


# --- the parts


def tool_parts(function: Mapping[str, Any]) -> Iterator[ToolPart]:
    """Yield the parts of a definition that count."""
    yield ToolPart("tool", ("name",), function["name"], None, "its name")
    description = function.get("description")
    if isinstance(description, str) and description.strip():
        yield ToolPart("description", ("description",), description, None, "its description")
    yield from _schema_parts(function.get("parameters"), PARAMETERS, "", "")


def _schema_parts(schema: Any, path: _Path, parameter: str, called: str) -> Iterator[ToolPart]:
    """Yield the parts of a schema. `called` is its label in messages, "" for the parameters as a whole."""
    if not isinstance(schema, Mapping) or len(path) > 2 * _DEEPEST:
        return
    of = f" of {called}" if called else ""
    for key, value in schema.items():
        at = (*path, key)
        if key == "description" and isinstance(value, str) and value.strip():
            yield ToolPart("description", at, value, parameter, f"the description{of}")
        elif key == "type" and not (path == PARAMETERS and value == "object"):
            yield from _type_parts(schema, at, parameter, of)
        elif key in ("enum", "const"):
            yield from _value_parts(value, at, parameter, of)
        elif key == "required" and isinstance(value, list):
            for index, name in enumerate(value):
                if isinstance(name, str):
                    owner = name if path == PARAMETERS and name in _mapping(schema.get("properties")) else parameter
                    yield ToolPart(
                        "required", (*at, index), name, owner, f"the required entry of {_named(called, name)}"
                    )
        elif key == "$ref" and isinstance(value, str):
            yield ToolPart("reference", at, value, parameter, f"the $ref{of}")
        elif key in SCHEMA_MAPS:
            for name, inner in _mapping(value).items():
                owner = name if key == "properties" and path == PARAMETERS else parameter
                label = _named(called, name) if key == "properties" else f"{key}.{name}"
                if key == "properties":
                    yield ToolPart("parameter", (*at, name), name, owner, label)
                yield from _schema_parts(inner, (*at, name), owner, label)
        elif key in (*SCHEMA_LISTS, *SCHEMAS):
            for index, inner in enumerate(value if isinstance(value, list) else [value]):
                below = (*at, index) if isinstance(value, list) else at
                step = f"{key}[{index}]" if isinstance(value, list) else key
                label = f"{called}[]" if key == "items" and called else f"{called}.{step}" if called else step
                if key in _BRANCHES:
                    yield ToolPart("branch", below, "", parameter, f"the branch {step}{of}")
                yield from _schema_parts(inner, below, parameter, label)


def _type_parts(schema: Mapping[str, Any], at: _Path, parameter: str, of: str) -> Iterator[ToolPart]:
    """Yield the types of a schema, except one that the values of its enum or const imply."""
    declared = schema["type"]
    enum = schema.get("enum")
    values = [*(enum if isinstance(enum, list) else ()), *([schema["const"]] if "const" in schema else ())]
    if isinstance(declared, str):
        kinds = {"integer" if type(value) is int else type_of(value) for value in values}
        if kinds != {declared}:
            yield ToolPart("type", at, declared, parameter, f"the type{of}")
    elif isinstance(declared, list):
        for index, kind in enumerate(declared):
            if isinstance(kind, str):
                yield ToolPart("type", (*at, index), kind, parameter, f"the type {kind}{of}")


def _value_parts(value: Any, at: _Path, parameter: str, of: str) -> Iterator[ToolPart]:
    """Yield the values of an enum or a const. One that no sentinel can replace (null, a list, …) is a constant."""
    listed = at[-1] == "enum"
    for index, one in enumerate(value if listed and isinstance(value, list) else () if listed else [value]):
        path = (*at, index) if listed else at
        written = json.dumps(one, ensure_ascii=False)
        label = f"the value {written}{of}"
        if isinstance(one, str) and one.strip():
            yield ToolPart("value", path, one, parameter, label)
        elif isinstance(one, (int, float)) and not isinstance(one, bool):
            yield ToolPart("value", path, written, parameter, label, number=True)
        else:
            yield ToolPart("constant", path, written, parameter, label)


def _named(called: str, name: str) -> str:
    return f"{called}.{name}" if called else f"the parameter {name}"


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


# --- a rendering that holds JSON


def _holds(prompt: str, value: Any) -> bool:
    """Return whether the prompt holds the object as JSON or as Python prints it."""
    if not value:
        return False
    return repr(value) in prompt or any(found == value for found in _json_objects(prompt))


def _json_objects(text: str) -> Iterator[Mapping[str, Any]]:
    """Yield every JSON object in the text, with the objects inside it."""
    decoder = json.JSONDecoder()
    at = text.find("{")
    while at >= 0:
        try:
            found, end = decoder.raw_decode(text, at)
        except (ValueError, RecursionError):
            end = at + 1
        else:
            yield from _objects_in(found)
        at = text.find("{", end)


def _objects_in(value: Any) -> Iterator[Mapping[str, Any]]:
    if isinstance(value, dict):
        yield value
    for inner in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from _objects_in(inner)


# --- sentinel words


def _shown_as_words(render: Render, tool: Message, prompt: str, parts: Sequence[ToolPart]) -> set[ToolPart]:
    """Return the parts whose sentinel word appears in the rendering exactly where the real text appears."""
    # Templates sort parameters, so the words must sort as the names do.
    ordered = sorted(parts, key=lambda part: (part.kind != "parameter", part.text.lower(), part.text))
    begin = free_number(prompt)
    twin = _twin(ordered, begin)
    twin_prompt = _tried(render, _with_words(tool, ordered, begin))
    if twin_prompt is not None and aligned(prompt, twin_prompt, twin) is not None:
        found = {number for _, _, number in words_in(twin_prompt, twin)}
        return {part for number, part in enumerate(ordered) if number in found}
    return {part for part in parts[:_MOST_ALONE] if _shown_alone(render, tool, prompt, part, begin)}


def _shown_alone(render: Render, tool: Message, prompt: str, part: ToolPart, begin: int) -> bool:
    """Return whether replacing only this part with a sentinel changes nothing else in the rendering.

    The comparison ignores the order of the characters, because a new name changes the order of sorted parameters.
    """
    twin = _twin([part], begin)
    twin_prompt = _tried(render, _with_words(tool, [part], begin))
    if twin_prompt is None or not (words := words_in(twin_prompt, twin)):
        return False
    for spelled in spellings_of(twin.pieces[0]):
        restored = twin_prompt
        for start, end, _ in reversed(words):
            restored = restored[:start] + spelled + restored[end:]
        if _same_characters(prompt, restored, part):
            return True
    return False


def _same_characters(one: str, other: str, part: ToolPart) -> bool:
    if part.kind == "description":  # may be broken into other lines
        one, other = (re.sub(BETWEEN_WORDS, "", text) for text in (one, other))
    return len(one) == len(other) and sorted(one) == sorted(other)


def _twin(parts: Iterable[ToolPart], begin: int) -> SentinelRequest:
    """Return the sentinel request of `parts` (`toolfmt.render.verify.sentinel_request`), with words only in a tool."""
    return SentinelRequest([], None, [_piece(part) for part in parts], begin=begin)


def _piece(part: ToolPart) -> RequestSpan:
    if part.kind == "description":
        return RequestSpan("definition", -1, _bare(part))
    # `tool_lines` prints an unusual name as a JSON string, but not the word instead.
    quoted = json.dumps(part.text, ensure_ascii=False) if part.kind in ("tool", "parameter") else ""
    return RequestSpan("name", -1, _bare(part), number=part.number, written=quoted)


def _with_words(tool: Message, parts: Iterable[ToolPart], begin: int) -> Message:
    """Return the tool with a sentinel word instead of each part. `required` gets the word of a parameter too."""
    words: dict[_Path, Any] = {}
    names: dict[_Path, str] = {}
    for number, part in enumerate(parts, begin):
        if part.kind == "parameter":
            names[part.path] = f"Zq{number:05}z"
        elif part.number:
            sentinel = int(f"97531{number:05}08642")
            words[part.path] = sentinel + 0.5 if isinstance(json.loads(part.text), float) else sentinel
        else:
            words[part.path] = part.text.replace(_bare(part), f"Zq{number:05}z", 1)
    return {**tool, "function": _changed(tool["function"], words, names)}


def _bare(part: ToolPart) -> str:
    """Return the text that a word replaces. Templates trim text, and end a description with a period."""
    if part.kind in ("tool", "parameter"):
        return part.text
    bare = part.text.strip()
    return (bare.rstrip(".!?") or bare) if part.kind == "description" else bare


# --- parts that no word shows


def _shown_by_effect(render: Render, tool: Message, prompt: str, parts: Sequence[ToolPart]) -> set[ToolPart]:
    """Return the parts whose change changes the rendering.

    Templates write the parameters in a loop. In a large definition, the first and the last of the parts that look the
    same to the template therefore represent all of them.
    """
    groups: dict[object, list[ToolPart]] = {}
    for number, part in enumerate(parts):
        alone = len(parts) <= _MOST_BY_EFFECT
        groups.setdefault(number if alone else _kind_of_part(tool["function"], part), []).append(part)
    shown: set[ToolPart] = set()
    for group in list(groups.values())[:_MOST_ALONE]:
        if all(_changes(render, tool, prompt, part) for part in dict.fromkeys((group[0], group[-1]))):
            shown.update(group)
    return shown


def _kind_of_part(function: Mapping[str, Any], part: ToolPart) -> object:
    """Return what parts have in common that a template treats in the same way: all but names and positions."""
    inside: Any = function
    path: list[str] = []
    for step in part.path[:-1]:
        path.append(step if isinstance(step, str) and path[-1:] != ["properties"] else "")
        inside = inside[step]
    keys = tuple(inside) if isinstance(inside, Mapping) else len(inside)
    text = "" if part.kind == "required" else part.text
    return part.kind, tuple(path), keys if part.kind != "required" else 0, text


def _changes(render: Render, tool: Message, prompt: str, part: ToolPart) -> bool:
    """Return whether the rendering changes with this part, and does not show it as a parameter that is not there."""
    if part.path[-2:] == ("additionalProperties", "type") and _is_written_as_parameter(render, tool, prompt, part):
        return False
    for other in _others(part):
        changed = _tried(render, {**tool, "function": _changed(tool["function"], {part.path: other}, {})})
        if changed is not None:
            return changed != prompt
    return False


def _is_written_as_parameter(render: Render, tool: Message, prompt: str, part: ToolPart) -> bool:
    """Return whether an object without `properties` is rendered as if it had one named `additionalProperties`.

    Gemma 4's template does that: it takes every key of such a schema that it does not know for a property.
    """
    path = part.path[:-2]
    schema: Any = tool["function"]
    for step in path:
        schema = schema[step]
    moved = {"additionalProperties": schema["additionalProperties"]}
    other = {key: value for key, value in schema.items() if key not in moved} | {"properties": moved}
    return _tried(render, {**tool, "function": _changed(tool["function"], {path: other}, {})}) == prompt


def _others(part: ToolPart) -> tuple[Any, ...]:
    """Return replacements for the part. The second one is for templates that reject the first."""
    if part.kind == "reference":
        return ("#/$defs/Zq0z",)
    if part.kind == "type" and isinstance(part.path[-1], str):
        return ("integer", "boolean") if part.text == "string" else ("string", "boolean")
    return (_REMOVED,)


def _changed(
    value: Any, values: Mapping[_Path, Any], names: Mapping[_Path, str] | None = None, path: _Path = ()
) -> Any:
    """Return a copy of a definition with these values and property names, each at its path."""
    names = names or {}
    if path in values:
        return values[path]
    if isinstance(value, Mapping):
        inner = {key: _changed(one, values, names, (*path, key)) for key, one in value.items()}
        return {names.get((*path, key), key): one for key, one in inner.items() if one is not _REMOVED}
    if isinstance(value, list):
        if path[-1] == "required":
            value = [names.get((*path[:-1], "properties", one), one) if isinstance(one, str) else one for one in value]
        listed = (_changed(one, values, names, (*path, at)) for at, one in enumerate(value))
        return [one for one in listed if one is not _REMOVED]
    return value


def _tried(render: Render, tool: Message) -> str | None:
    """Return the rendering, or None if the template rejects the tool."""
    try:
        return render(tool)
    except LimitHit:
        raise
    except TemplateError:
        return None
