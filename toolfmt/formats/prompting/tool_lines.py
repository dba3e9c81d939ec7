"""Render tool definitions as compact lines for a model, without losing any part of a definition.

    - get_weather: Get the weather.
      - city (string, required): The city.
      - unit ("celsius" | "fahrenheit", default "celsius")

The line of a parameter contains its name, its type, whether it is required, the other keywords of its schema with
their values as JSON, and its description verbatim. The members of an object, or of the objects in a list, follow on
indented lines. Anything that cannot be rendered in this form is rendered as JSON.
"""

from __future__ import annotations

import json
import re
from collections.abc import Container, Iterator, Mapping
from typing import Any

from toolfmt.formats.values.schema_types import type_of

_PLAIN = re.compile(r"[\w.$/@+-]+")
_INDENT = "  "
_TYPE_ELSEWHERE = ("anyOf", "oneOf", "allOf", "$ref", "const")
"""Keywords that specify the type of a value if there is no `type`."""


def tool_lines(tool: Mapping[str, Any]) -> list[str]:
    """Return the lines that describe a tool.

    Args:
        tool: A definition in canonical form.
    """
    function = tool["function"]
    schema = function.get("parameters") or {}
    outer = {key: value for key, value in tool.items() if key not in ("type", "function")}
    others = {key: value for key, value in function.items() if key not in ("name", "description", "parameters")}
    keywords = f" ({', '.join(_keywords(outer | others))})" if outer or others else ""
    lines = [f"- {_name(function['name'])}{keywords}{_description(function)}"]
    return [*lines, *(_INDENT + line for line in parameter_lines(schema))]


def parameter_lines(schema: Mapping[str, Any], names: Container[str] | None = None) -> list[str]:
    """Return the lines that describe the parameters of a tool.

    Args:
        schema: The schema of the parameters.
        names: The parameters to describe. An empty string selects the keywords that apply to all parameters. The
            default is everything.
    """
    rest = _without(schema, "properties", "required", *(["type"] if schema.get("type") == "object" else []))
    if undeclared := _undeclared_required(schema):
        rest["required"] = undeclared
    chosen = {name: declared for name, declared in _properties(schema).items() if names is None or name in names}
    lines = list(_members({**schema, "properties": chosen}, ""))
    if rest and (names is None or "" in names):
        lines.insert(0, f"All parameters: {', '.join(_keywords(rest))}")
    return lines


def _members(schema: Mapping[str, Any], indent: str) -> Iterator[str]:
    """Yield the lines of an object's properties, each followed by the lines of its own members."""
    required = schema.get("required")
    for name, declared in _properties(schema).items():
        marked = ["required"] if isinstance(required, list) and name in required else []
        if not isinstance(declared, Mapping):
            yield f"{indent}- {_name(name)} ({', '.join([*marked, _json(declared)])})"
            continue
        kind, *others = _head(declared)
        facts = ", ".join(filter(None, [kind, *marked, *others]))
        yield f"{indent}- {_name(name)} ({facts}){_description(declared)}"
        items = declared.get("items")
        inner = items if _has_plain_object_items(declared) and isinstance(items, Mapping) else declared
        yield from _members(inner, indent + _INDENT)


def _head(schema: Mapping[str, Any]) -> list[str]:
    """Return the type of a value and the other keywords of its schema.

    The description and the members that get their own lines are left out.
    """
    rest = _without(schema, "description") if isinstance(schema.get("description"), str) else dict(schema)
    kind = _type(rest)
    if _properties(schema):
        names = _undeclared_required(schema)
        rest = _without(rest, "properties", "required") | ({"required": names} if names else {})
    if kind == "array" and _has_plain_object_items(schema):
        rest.pop("items")
        kind = "array of object"
    elif kind == "array" and (item_type := _sole_type(rest.get("items"))):
        rest.pop("items")
        kind = f"array of {item_type}"
    return [kind, *_keywords(rest)]


def _type(rest: dict[str, Any]) -> str:
    """Return the type and remove it from the schema; an empty string if other keywords specify it."""
    declared, choices, parts = rest.get("type"), rest.get("enum"), rest.get("anyOf")
    if isinstance(choices, list) and choices and (declared is None or [declared] == [*_kinds(choices)]):
        rest.pop("type", None)
        return _either([_json(choice) for choice in rest.pop("enum")])
    if isinstance(declared, str) and declared:
        return str(rest.pop("type"))
    if isinstance(declared, list) and declared and all(isinstance(name, str) for name in declared):
        return _either(rest.pop("type"))
    if declared is None and isinstance(parts, list) and parts and all(map(_sole_type, parts)):
        rest.pop("anyOf")
        return _either([_sole_type(part) for part in parts])
    return "" if any(key in rest for key in _TYPE_ELSEWHERE) else "any"


def _kinds(choices: list[Any]) -> set[str]:
    """Return the type that all of the values have, as a set. Empty if they have different types."""
    kinds = {type_of(choice) for choice in choices}
    if kinds == {"number"} and all(isinstance(choice, int) for choice in choices):
        kinds = {"integer"}
    return kinds if len(kinds) == 1 else set()


def _either(kinds: list[str]) -> str:
    return " | ".join(kinds)


def _sole_type(schema: Any) -> str:
    """Return the type of a schema that specifies nothing else, as text. Empty for any other schema."""
    if not isinstance(schema, Mapping) or not schema:
        return ""
    rest = dict(schema)
    kind = _type(rest)
    return "" if rest else f"({kind})" if " | " in kind else kind


def _has_plain_object_items(schema: Mapping[str, Any]) -> bool:
    """Return whether the schema is that of a list whose items are objects that specify only their members."""
    items = schema.get("items")
    if schema.get("type") != "array" or _properties(schema) or not isinstance(items, Mapping):
        return False
    plain = {*items} == {"type", "properties"} or {*items} == {"type", "properties", "required"}
    return plain and items["type"] == "object" and bool(_properties(items)) and not _undeclared_required(items)


def _properties(schema: Mapping[str, Any]) -> Mapping[str, Any]:
    properties = schema.get("properties")
    return properties if isinstance(properties, Mapping) else {}


def _undeclared_required(schema: Mapping[str, Any]) -> Any:
    """Return the part of `required` that names no declared property, usually empty. An invalid `required` is returned
    whole.
    """
    required, properties = schema.get("required"), _properties(schema)
    if not isinstance(required, list):
        return required
    return [name for name in required if not isinstance(name, str) or name not in properties]


def _without(schema: Mapping[str, Any], *keys: str) -> dict[str, Any]:
    return {key: value for key, value in schema.items() if key not in keys}


def _keywords(rest: Mapping[str, Any]) -> list[str]:
    return [f"{_name(str(key))} {_json(value)}" for key, value in rest.items()]


def _description(described: Mapping[str, Any]) -> str:
    description = described.get("description")
    return f": {description}" if isinstance(description, str) and description else ""


def _name(name: str) -> str:
    return name if _PLAIN.fullmatch(name) else _json(name)


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
