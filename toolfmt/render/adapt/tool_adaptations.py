"""Adapt a tool definition if a template rejects it or does not show every part of it.

`toolfmt.render.attempts` calls `shown_tool`, which tries the adaptations in order, the smallest change first.
`toolfmt.render.adapt.adaptations` lists their names. `lost_parts` verifies each result.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any
from weakref import WeakKeyDictionary

from toolfmt._util.json_values import SCHEMA_LISTS, SCHEMA_MAPS, SCHEMAS
from toolfmt.errors import LimitHit, TemplateError
from toolfmt.formats.prompting.tool_lines import parameter_lines, tool_lines
from toolfmt.formats.values.schema_types import resolve_reference
from toolfmt.inspect.probe.differences import common_prefix
from toolfmt.render.request.messages import Message
from toolfmt.render.verify.tool_parts import Render, ToolPart, lost_parts, tool_parts
from toolfmt.templates import ChatTemplate

PARAMETERS_ADDED = "parameters-added"
DESCRIPTIONS_ADDED = "descriptions-added"
REFS_INLINED = "refs-inlined"
NULLABLE_REWRITTEN = "nullable-types-rewritten"
PARAMETERS_IN_DESCRIPTION = "parameters-in-description"

_MOST_KEPT = 4096
"""Maximum number of cached results per template."""
_MOST_SCHEMAS = 5_000
"""Maximum number of schemas after inlining; stops exponential growth."""
_NULLABLE = "May be null."


@dataclass(frozen=True)
class ShownTool:
    """Result for one tool: the adapted definition (None if unchanged), the adaptations, and the lost parts."""

    adapted: Message | None = None
    adaptations: tuple[str, ...] = ()
    lost: tuple[str, ...] = ()
    text: str = field(default="", compare=False, repr=False)
    """What the template writes for this tool but not for another one. Empty if unknown."""


_shown: WeakKeyDictionary[ChatTemplate, dict[str, ShownTool]] = WeakKeyDictionary()


def shown_tool(template: ChatTemplate, given: str, tool: Message, renders: Sequence[Render]) -> ShownTool:
    """Return how the tool must be adapted so that the template shows every part, or which parts are lost.

    Each of `renders` renders one tool in its own conversation. The result is that of the conversation with the fewest
    lost parts. `given` describes what else they depend on. Results are cached by template, `given` and tool.
    """
    known = _shown.setdefault(template, {})
    text = json.dumps(tool)
    key = f"{given}\n{text}"
    found = known.get(key)
    if found is None:
        tool = json.loads(text)  # the caller may change its definition later
        found = _in_conversation(renders[0], tool)
        for render in renders[1:]:
            if found.lost:
                found = min(found, _in_conversation(render, tool), key=lambda one: len(one.lost))
        if len(known) >= _MOST_KEPT:
            known.clear()
        known[key] = found
    return found


def other_tool(number: int) -> Message:
    """Return a tool that has nothing in common with the tools of a request."""
    parameter = {"type": "string", "description": "Zq other parameter"}
    parameters = {"type": "object", "properties": {"zq_other": parameter}, "required": ["zq_other"]}
    function = {"name": f"zq_other_tool_{number}", "description": "Zq other description", "parameters": parameters}
    return {"type": "function", "function": function}


def _in_conversation(render: Render, tool: Message) -> ShownTool:
    found = adapted_tool(render, tool)
    return replace(found, text=_own_text(render, found.adapted or tool))


def _own_text(render: Render, tool: Message) -> str:
    """Return what the template writes for this tool and not for another one, or "" if it rejects one of them."""
    try:
        prompt, other = render(tool), render(other_tool(0))
    except LimitHit:
        raise
    except TemplateError:
        return ""
    begin = common_prefix(prompt, other)
    end = common_prefix(prompt[begin:][::-1], other[begin:][::-1])
    return prompt[begin : len(prompt) - end]


def lost_in_lines(tool: Message) -> tuple[str, ...]:
    """Return the parts that the description in the system prompt lacks. Only a bug in `tool_lines` loses a part."""
    return _lost_in_lines(json.dumps(tool))


@lru_cache(maxsize=_MOST_KEPT)
def _lost_in_lines(tool: str) -> tuple[str, ...]:
    return tuple(part.label for part in lost_parts(_lines, json.loads(tool)))


def _lines(tool: Message) -> str:
    return "\n".join(tool_lines(tool))


def adapted_tool(render: Render, tool: Message) -> ShownTool:
    """Return how `render` shows every part of the tool, or which parts no adaptation shows."""
    adapted, named, lost = _accepted(render, tool)
    for name, change in _CHANGES.items():
        if not lost:
            break
        changed = _with_parameters(adapted, change)
        if changed == adapted:
            continue
        still_lost = _lost(render, changed)
        if _parameters(still_lost) < _parameters(lost):
            adapted, lost = changed, still_lost
            named.append(name)
    if lost:
        described = _described(render, adapted, lost)
        if described is None:
            return ShownTool(lost=tuple(part.label for part in lost))
        named += [PARAMETERS_IN_DESCRIPTION] if described != adapted else []
        adapted = described
    return ShownTool(adapted, tuple(named)) if named else ShownTool()


def _accepted(render: Render, tool: Message) -> tuple[Message, list[str], tuple[ToolPart, ...]]:
    """Return the tool with the fewest additions that the template renders it with, their names, and the lost parts.

    If no additions help, return the tool as it is.
    """
    lost = _lost(render, tool)
    for names, change in _ADDITIONS:
        if not _name_lost(lost):  # it is lost if the template rejects the tool
            break
        added = {**tool, "function": change(tool["function"])}
        still_lost = lost if added == tool else _lost(render, added)
        if not _name_lost(still_lost):
            return added, [*names], still_lost
    return tool, [], lost


def _name_lost(lost: tuple[ToolPart, ...]) -> bool:
    return any(part.kind == "tool" for part in lost)


def _parameters(parts: tuple[ToolPart, ...]) -> set[str | None]:
    return {part.parameter for part in parts}


def _with_parameters(tool: Message, change: Callable[[Mapping[str, Any]], Any]) -> Message:
    function = tool["function"]
    schema = function.get("parameters")
    return {**tool, "function": {**function, "parameters": change(schema)}} if schema else tool


def _described(render: Render, tool: Message, lost: tuple[ToolPart, ...]) -> Message | None:
    """Return the tool with each incomplete parameter listed in its description, or None if that does not help."""
    function = tool["function"]
    names = {part.parameter for part in lost if part.parameter is not None}
    if None in _parameters(lost):
        return None  # the template would not show the extended description either
    lines = "\n".join(["Parameters:", *parameter_lines(function["parameters"], names)])
    before = function.get("description") or ""
    added = "" if lines in before else f"\n\n{lines}" if before else lines
    described = {"name": function["name"], "description": before + added}
    adapted = {**tool, "function": described | {key: value for key, value in function.items() if key not in described}}
    complete = _parameters(lost_parts(_lines, tool)).isdisjoint(names)
    return adapted if complete and _parameters(_lost(render, adapted)) <= names else None


def _lost(render: Render, tool: Message) -> tuple[ToolPart, ...]:
    """Return the parts that the rendering does not show: all parts if the template rejects the tool."""
    try:
        return lost_parts(render, tool)
    except LimitHit:
        raise
    except TemplateError:
        return tuple(tool_parts(tool["function"]))


# --- what a template may need


def _with_schema(function: Mapping[str, Any]) -> dict[str, Any]:
    """The function with an object schema that has `properties`."""
    return {**function, "parameters": {"type": "object", "properties": {}} | (function.get("parameters") or {})}


def _with_description(schema: Mapping[str, Any]) -> dict[str, Any]:
    return {"description": "", **schema} | {"description": schema.get("description") or ""}


def _with_descriptions(function: Mapping[str, Any]) -> dict[str, Any]:
    """The function with a description of itself and of each parameter at every depth, empty if it has none."""

    def described(schema: Any) -> Any:
        made = _each_schema(schema, described)
        properties = made.get("properties") if isinstance(made, Mapping) else None
        if not isinstance(properties, Mapping):
            return made
        named = {name: _with_description(one) if isinstance(one, Mapping) else one for name, one in properties.items()}
        return {**made, "properties": named}

    made = _with_description(function)
    return {**made, "parameters": described(made["parameters"])} if "parameters" in made else made


# --- references


def _refs_inlined(root: Mapping[str, Any]) -> Any:
    """Return the schema with every `$ref` replaced by its target, except recursive ones."""
    count = 0

    def inlined(schema: Any) -> Any:
        nonlocal count
        count += 1
        reference = schema.get("$ref") if isinstance(schema, Mapping) else None
        if count > _MOST_SCHEMAS or not isinstance(reference, str):
            return _each_schema(schema, inlined) if count <= _MOST_SCHEMAS else schema
        target = resolve_reference(root, reference)
        if not isinstance(target, Mapping) or reference in _reached(root, target):
            return _each_schema(schema, inlined)
        return inlined(_both({key: value for key, value in schema.items() if key != "$ref"}, target))

    made = {key: value for key, value in root.items() if key not in _DEFINITIONS}
    made = inlined(made)
    if count > _MOST_SCHEMAS:
        return root
    return {**made, **{key: root[key] for key in _DEFINITIONS if key in root and any(_references(made))}}


def _reached(root: Mapping[str, Any], schema: Any) -> set[str]:
    """Return every reference that is reachable from a schema."""
    found: set[str] = set()
    waiting = [schema]
    while waiting:
        for reference in _references(waiting.pop()):
            if reference not in found:
                found.add(reference)
                waiting.append(resolve_reference(root, reference))
    return found


def _references(schema: Any) -> Iterator[str]:
    if isinstance(schema, Mapping):
        if isinstance(schema.get("$ref"), str):
            yield schema["$ref"]
        for inner in schema.values():
            yield from _references(inner)
    elif isinstance(schema, list):
        for inner in schema:
            yield from _references(inner)


# --- types that allow null


def _nullable_rewritten(schema: Any) -> Any:
    """Return the schema with each nullable type replaced by the type, and a note in its description."""
    if not isinstance(schema, Mapping):
        return schema
    made: dict[str, Any] = _each_schema(schema, _nullable_rewritten)
    kinds = made.get("type")
    if isinstance(kinds, list) and len(kinds) == 2 and "null" in kinds:
        made["type"] = next((kind for kind in kinds if kind != "null"), "null")
        if isinstance(made.get("enum"), list):
            made["enum"] = [value for value in made["enum"] if value is not None]
        return _with_nullable_note(made)
    for key in ("anyOf", "oneOf"):
        branches = made.get(key)
        if isinstance(branches, list) and len(branches) == 2 and {"type": "null"} in branches:
            other = next((branch for branch in branches if branch != {"type": "null"}), None)
            if isinstance(other, Mapping):
                return _with_nullable_note(_both({name: value for name, value in made.items() if name != key}, other))
    return made


def _with_nullable_note(schema: dict[str, Any]) -> dict[str, Any]:
    before = schema.get("description")
    return {**schema, "description": f"{before} {_NULLABLE}" if isinstance(before, str) and before else _NULLABLE}


# --- schemas


def _both(own: Mapping[str, Any], other: Mapping[str, Any]) -> dict[str, Any]:
    """Return one schema for a value to which both apply. It has both descriptions and every keyword of both."""
    ours, theirs = own.get("description", ""), other.get("description", "")
    if isinstance(ours, str) and isinstance(theirs, str) and (ours or theirs):
        joined = " ".join(dict.fromkeys(filter(None, (ours, theirs))))
        own = {**own, "description": joined}
        other = {key: value for key, value in other.items() if key != "description"}
    if all(own.get(key, value) == value for key, value in other.items()):
        return {**other, **own}
    return {"allOf": [own, other]} if "allOf" in own else {**own, "allOf": [other]}


def _each_schema(schema: Any, change: Callable[[Any], Any]) -> Any:
    """Return a copy of the schema with `change` applied to every schema directly inside it."""
    if not isinstance(schema, Mapping):
        return schema
    made = dict(schema)
    for key, value in made.items():
        if key in SCHEMA_MAPS and isinstance(value, Mapping):
            made[key] = {name: change(inner) for name, inner in value.items()}
        elif key in (*SCHEMA_LISTS, *SCHEMAS):
            made[key] = [change(inner) for inner in value] if isinstance(value, list) else change(value)
    return made


_ADDITIONS: Sequence[tuple[tuple[str, ...], Callable[[Mapping[str, Any]], dict[str, Any]]]] = (
    ((PARAMETERS_ADDED,), _with_schema),
    ((DESCRIPTIONS_ADDED,), _with_description),
    ((DESCRIPTIONS_ADDED,), _with_descriptions),
    ((PARAMETERS_ADDED, DESCRIPTIONS_ADDED), lambda function: _with_descriptions(_with_schema(function))),
)
"""What to add to a function that a template rejects, the least first."""
_DEFINITIONS = ("$defs", "definitions")
_CHANGES: Mapping[str, Callable[[Mapping[str, Any]], Any]] = {
    REFS_INLINED: _refs_inlined,
    NULLABLE_REWRITTEN: _nullable_rewritten,
}
