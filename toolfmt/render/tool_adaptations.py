"""Adapt a tool definition of which a template does not show every part.

`toolfmt.render.attempts` calls `shown_tool`. The adaptations, the smallest change first, have the names that
`toolfmt.render.adaptations` lists. Each result is verified with `lost_parts`.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any
from weakref import WeakKeyDictionary

from toolfmt.errors import LimitHit, TemplateError
from toolfmt.formats.tool_lines import parameter_lines, tool_lines
from toolfmt.formats.typed import referred
from toolfmt.render.messages import Message
from toolfmt.render.tool_parts import Render, ToolPart, lost_parts, tool_parts
from toolfmt.templates import ChatTemplate
from toolfmt.tools import SCHEMA_LISTS, SCHEMA_MAPS, SCHEMAS

REFS_INLINED = "refs-inlined"
NULLABLE_REWRITTEN = "nullable-types-rewritten"
PARAMETERS_IN_DESCRIPTION = "parameters-in-description"

_MOST_KEPT = 512
"""Tools of a template of which it is known how they are shown."""
_MOST_SCHEMAS = 5_000
"""More schemas than a definition has with its references inlined, unless they multiply."""
_NULLABLE = "May be null."


@dataclass(frozen=True)
class ShownTool:
    """How a template shows a tool: with these adaptations (None: as it is), and without its lost parts."""

    adapted: Message | None = None
    adaptations: tuple[str, ...] = ()
    lost: tuple[str, ...] = ()


_shown: WeakKeyDictionary[ChatTemplate, dict[str, ShownTool]] = WeakKeyDictionary()


def shown_tool(template: ChatTemplate, given: str, tool: Message, renders: Sequence[Render]) -> ShownTool:
    """Return how the template shows every part of the tool, or which parts no adaptation shows.

    Each of `renders` renders one tool, in a conversation of its own. The one in which the fewest parts are lost counts.
    `given` describes what else they depend on: results are kept for the same template, text and tool.
    """
    known = _shown.setdefault(template, {})
    text = json.dumps(tool)
    key = f"{given}\n{text}"
    found = known.get(key)
    if found is None:
        tool = json.loads(text)  # the caller may change its own later
        found = _adapted(renders[0], tool)
        for render in renders[1:]:
            if found.lost:
                found = min(found, _adapted(render, tool), key=lambda one: len(one.lost))
        if len(known) >= _MOST_KEPT:
            known.clear()
        known[key] = found
    return found


def lost_in_lines(tool: Message) -> tuple[str, ...]:
    """Return what the description of a tool in the system prompt does not show: nothing, if `tool_lines` has no bug."""
    return _lost_in_lines(json.dumps(tool))


@lru_cache(maxsize=_MOST_KEPT)
def _lost_in_lines(tool: str) -> tuple[str, ...]:
    return tuple(part.label for part in lost_parts(_lines, json.loads(tool)))


def _lines(tool: Message) -> str:
    return "\n".join(tool_lines(tool))


def _adapted(render: Render, tool: Message) -> ShownTool:
    lost = _lost(render, tool)
    adapted, named = tool, list[str]()
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


def _parameters(parts: tuple[ToolPart, ...]) -> set[str | None]:
    return {part.parameter for part in parts}


def _with_parameters(tool: Message, change: Callable[[Mapping[str, Any]], Any]) -> Message:
    function = tool["function"]
    schema = function.get("parameters")
    return {**tool, "function": {**function, "parameters": change(schema)}} if schema else tool


def _described(render: Render, tool: Message, lost: tuple[ToolPart, ...]) -> Message | None:
    """The tool with the lines of each parameter of which a part is lost in its description; None if that is no help."""
    function = tool["function"]
    names = {part.parameter for part in lost if part.parameter is not None}
    if None in _parameters(lost):
        return None  # nor would it show what is added to its description
    lines = "\n".join(["Parameters:", *parameter_lines(function["parameters"], names)])
    before = function.get("description") or ""
    added = "" if lines in before else f"\n\n{lines}" if before else lines
    described = {"name": function["name"], "description": before + added}
    adapted = {**tool, "function": described | {key: value for key, value in function.items() if key not in described}}
    complete = _parameters(lost_parts(_lines, tool)).isdisjoint(names)
    return adapted if complete and _parameters(_lost(render, adapted)) <= names else None


def _lost(render: Render, tool: Message) -> tuple[ToolPart, ...]:
    """The parts that the rendering does not show: all of them if the template does not take the tool."""
    try:
        return lost_parts(render, tool)
    except LimitHit:
        raise
    except TemplateError:
        return tuple(tool_parts(tool["function"]))


# --- references


def _refs_inlined(root: Mapping[str, Any]) -> Any:
    """The schema with every `$ref` replaced by its target, except those that lead back to themselves."""
    count = 0

    def inlined(schema: Any) -> Any:
        nonlocal count
        count += 1
        reference = schema.get("$ref") if isinstance(schema, Mapping) else None
        if count > _MOST_SCHEMAS or not isinstance(reference, str):
            return _each_schema(schema, inlined) if count <= _MOST_SCHEMAS else schema
        target = referred(root, reference)
        if not isinstance(target, Mapping) or reference in _reached(root, target):
            return _each_schema(schema, inlined)
        return inlined({**target, **{key: value for key, value in schema.items() if key != "$ref"}})

    made = {key: value for key, value in root.items() if key not in _DEFINITIONS}
    made = inlined(made)
    if count > _MOST_SCHEMAS:
        return root
    return {**made, **{key: root[key] for key in _DEFINITIONS if key in root and any(_references(made))}}


def _reached(root: Mapping[str, Any], schema: Any) -> set[str]:
    """Every reference that a schema leads to."""
    found: set[str] = set()
    waiting = [schema]
    while waiting:
        for reference in _references(waiting.pop()):
            if reference not in found:
                found.add(reference)
                waiting.append(referred(root, reference))
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
    """The schema with each type that may also be null replaced by that type, and with a description of it."""
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
                return _with_nullable_note({**other, **{name: value for name, value in made.items() if name != key}})
    return made


def _with_nullable_note(schema: dict[str, Any]) -> dict[str, Any]:
    before = schema.get("description")
    return {**schema, "description": f"{before} {_NULLABLE}" if isinstance(before, str) and before else _NULLABLE}


# --- schemas


def _each_schema(schema: Any, change: Callable[[Any], Any]) -> Any:
    """A copy of the schema in which every schema directly inside it is changed."""
    if not isinstance(schema, Mapping):
        return schema
    made = dict(schema)
    for key, value in made.items():
        if key in SCHEMA_MAPS and isinstance(value, Mapping):
            made[key] = {name: change(inner) for name, inner in value.items()}
        elif key in (*SCHEMA_LISTS, *SCHEMAS):
            made[key] = [change(inner) for inner in value] if isinstance(value, list) else change(value)
    return made


_DEFINITIONS = ("$defs", "definitions")
_CHANGES: Mapping[str, Callable[[Mapping[str, Any]], Any]] = {
    REFS_INLINED: _refs_inlined,
    NULLABLE_REWRITTEN: _nullable_rewritten,
}
