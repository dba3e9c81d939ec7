"""Tool definitions as lines for a model to read: nothing of a definition is lost, and little is spent on brackets.

    - get_weather: Get the weather.
      - city (string, required): The city.
      - unit ("celsius" | "fahrenheit", default "celsius")

A parameter is its name, its type, whether it is required, whatever else its schema says (the keyword and its value as
JSON), and its description, word for word. The members of objects and of the objects in a list stand below. What has no
such form stands there as JSON.
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
    """The lines that describe a tool; takes a definition in canonical form."""
    function = tool["function"]
    schema = function.get("parameters") or {}
    outer = {key: value for key, value in tool.items() if key not in ("type", "function")}
    others = {key: value for key, value in function.items() if key not in ("name", "description", "parameters")}
    said = f" ({', '.join(_keywords(outer | others))})" if outer or others else ""
    lines = [f"- {_name(function['name'])}{said}{_description(function)}"]
    return [*lines, *(_INDENT + line for line in parameter_lines(schema))]


def parameter_lines(schema: Mapping[str, Any], names: Container[str] | None = None) -> list[str]:
    """The lines that describe the parameters of a tool, or those of these names; "" is what holds for all of them."""
    rest = _without(schema, "properties", "required", *(["type"] if schema.get("type") == "object" else []))
    if unknown := _names_of_nothing(schema):
        rest["required"] = unknown
    chosen = {name: declared for name, declared in _properties(schema).items() if names is None or name in names}
    lines = list(_members({**schema, "properties": chosen}, ""))
    if rest and (names is None or "" in names):
        lines.insert(0, f"All parameters: {', '.join(_keywords(rest))}")
    return lines


def _members(schema: Mapping[str, Any], indent: str) -> Iterator[str]:
    """The properties of an object, each with its own members below it."""
    required = schema.get("required")
    for name, declared in _properties(schema).items():
        wanted = ["required"] if isinstance(required, list) and name in required else []
        if not isinstance(declared, Mapping):
            yield f"{indent}- {_name(name)} ({', '.join([*wanted, _json(declared)])})"
            continue
        kind, *others = _head(declared)
        facts = ", ".join(filter(None, [kind, *wanted, *others]))
        yield f"{indent}- {_name(name)} ({facts}){_description(declared)}"
        items = declared.get("items")
        inner = items if _opens(declared) and isinstance(items, Mapping) else declared
        yield from _members(inner, indent + _INDENT)


def _head(schema: Mapping[str, Any]) -> list[str]:
    """The type of a value, then whatever else its schema says but for its description and what stands below it."""
    rest = _without(schema, "description") if isinstance(schema.get("description"), str) else dict(schema)
    kind = _type(rest)
    if _properties(schema):
        names = _names_of_nothing(schema)
        rest = _without(rest, "properties", "required") | ({"required": names} if names else {})
    if kind == "array" and _opens(schema):
        rest.pop("items")
        kind = "array of object"
    elif kind == "array" and (alone := _alone(rest.get("items"))):
        rest.pop("items")
        kind = f"array of {alone}"
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
    if declared is None and isinstance(parts, list) and parts and all(map(_alone, parts)):
        rest.pop("anyOf")
        return _either([_alone(part) for part in parts])
    return "" if any(key in rest for key in _TYPE_ELSEWHERE) else "any"


def _kinds(choices: list[Any]) -> set[str]:
    """The types that all of the values have."""
    kinds = {type_of(choice) for choice in choices}
    if kinds == {"number"} and all(isinstance(choice, int) for choice in choices):
        kinds = {"integer"}
    return kinds if len(kinds) == 1 else set()


def _either(kinds: list[str]) -> str:
    return " | ".join(kinds)


def _alone(schema: Any) -> str:
    """The type of a schema that says nothing else, in words; empty for any other."""
    if not isinstance(schema, Mapping) or not schema:
        return ""
    rest = dict(schema)
    kind = _type(rest)
    return "" if rest else f"({kind})" if " | " in kind else kind


def _opens(schema: Mapping[str, Any]) -> bool:
    """Whether the items of a list are objects that say no more than their members."""
    items = schema.get("items")
    if schema.get("type") != "array" or _properties(schema) or not isinstance(items, Mapping):
        return False
    said = {*items} == {"type", "properties"} or {*items} == {"type", "properties", "required"}
    return said and items["type"] == "object" and bool(_properties(items)) and not _names_of_nothing(items)


def _properties(schema: Mapping[str, Any]) -> Mapping[str, Any]:
    properties = schema.get("properties")
    return properties if isinstance(properties, Mapping) else {}


def _names_of_nothing(schema: Mapping[str, Any]) -> Any:
    """What `required` says that does not stand beside a property; nothing mostly."""
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
