"""Check tool definitions and convert them to one canonical form.

A tool definition is in OpenAI's format `{"type": "function", "function": {"name", "description", "parameters"}}`, or
the inner object alone, whose schema may also be called `input_schema` (Anthropic's Messages API) or `inputSchema`
(Model Context Protocol). Each is a mapping, or an object with `model_dump()` (pydantic). It can also be a function with
type hints, a pydantic class or a dataclass (`python_tools.py`).

An entry of a list of tools is a function if it has `function`, or a `name` and no `type` except "function" or "custom".
Any other type is a tool that a server runs itself (`{"type": "web_search_20250305", "name": "web_search"}`).

`canonical_tools` checks definitions, converts them, and rejects what a prompt cannot contain. It keeps the caller's
order of tools and parameters, because templates show them in that order. Sorting is an option for definitions from an
unordered source. Parsers and writers use `tool_schemas`. It is more lenient, because a server may already have accepted
the request: it accepts tools that a model cannot call, and duplicates.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterable, Mapping, Sequence
from types import FunctionType, MethodType
from typing import Any

from toolfmt._util.json_values import SCHEMA_LISTS, SCHEMA_MAPS, SCHEMAS, why_no_json
from toolfmt.errors import BadTools, RepeatedTool

# Key orders in which tool definitions are usually printed (OpenAI function calling guide, JSON Schema core vocabulary).
_TOOL_KEYS = ("type", "function")
_FUNCTION_TYPES = ("function", "custom")
_FUNCTION_KEYS = ("name", "description", "parameters", "return", "strict")
_SCHEMA_KEYS = ("type", "title", "description", "enum", "const", "default", "properties", "required", "items")
_DEEPEST = 64
_SCHEMA_NAMES = ("parameters", "input_schema", "inputSchema")
"""Keys for the schema of a tool's parameters. The first one present is used and becomes `parameters`."""
_MAPPINGS = (dict, Mapping)
"""The check for dict is fast; that for an abstract class is a large part of the cost of creating a parser."""
_PLAIN_TYPES = (*_MAPPINGS, type)
_PYTHON = (FunctionType, MethodType, type)


def canonical_tools(tools: object, *, sort_tools: bool = False, sort_properties: bool = False) -> list[dict[str, Any]]:
    """Return checked tool definitions in canonical form, as new dictionaries in OpenAI's format.

    Takes a list of definitions in any supported format and keeps its order. The definition's own keys get a fixed order
    (type, function; name, description, parameters, return, strict, then the others by name). Its parameters keep their
    order. `sort_tools` sorts the tools by name. `sort_properties` gives every schema a fixed order: the required
    parameters first (as `required` lists them), then by name.

    Raises `BadTools` with the position and the problem, or that the entry is not a function.
    """
    canonical: list[dict[str, Any]] = []
    positions: dict[str, int] = {}
    for position, listed in enumerate(_listed(tools)):
        tool = _entry(listed, position)
        if (kind := _other_type(tool)) is not None:
            raise BadTools(f"tools[{position}]: a tool of type {kind!r} is not a function; leave it out")
        function = _function(tool, position)
        if (first := positions.setdefault(function["name"], position)) != position:
            raise BadTools(f"tools[{position}]: {_repeated(function['name'], first)}; tool names must differ")
        ordered = _ordered(function, _FUNCTION_KEYS)
        if "parameters" in ordered:
            ordered["parameters"] = _checked_schema(ordered["parameters"], position, sort_properties)
        outer = {key: value for key, value in tool.items() if key not in _TOOL_KEYS} if "function" in tool else {}
        canonical.append({"type": "function", "function": ordered} | _ordered(outer, ()))
        if why := why_no_json(canonical[-1]):
            raise BadTools(f"tools[{position}]: {why}, which no prompt can hold; give what JSON holds")
    return sorted(canonical, key=lambda tool: tool["function"]["name"]) if sort_tools else canonical


def same_order(given: object, canonical: Sequence[Mapping[str, Any]]) -> bool:
    """Return whether the definitions have the caller's order everywhere.

    Takes the caller's list and the result of `canonical_tools`. The input format of a definition does not affect the
    order.
    """
    entries = [_mapping(entry) for entry in _listed(given)]
    return len(entries) == len(canonical) and all(map(_in_order, entries, canonical))


def _in_order(given: object, canonical: Mapping[str, Any]) -> bool:
    if not isinstance(given, _MAPPINGS):
        return True  # made from a function or a class
    function = _mapping(given.get("function", given))
    alone = function is given
    named = {("parameters" if key in _SCHEMA_NAMES else key): value for key, value in function.items()}
    kept = {key: value for key, value in named.items() if value is not None and not (alone and key == "type")}
    outside = alone or "type" not in given or list(given) == list(canonical)
    return outside and _same(kept, canonical["function"])


def _same(given: object, canonical: object) -> bool:
    """Return whether two values are equal, including the order of keys and the types of numbers."""
    if isinstance(given, _MAPPINGS) and isinstance(canonical, _MAPPINGS):
        if list(given) != list(canonical):
            return False
        return all(_same(value, canonical[key]) for key, value in given.items())
    if isinstance(given, (list, tuple)) and isinstance(canonical, (list, tuple)):
        return len(given) == len(canonical) and all(map(_same, given, canonical))
    return type(given) is type(canonical) and given == canonical


def tool_schemas(tools: object) -> dict[str, dict[str, Any]]:
    """Return the parameter schema of each tool by name, `{}` if a tool has no parameters.

    Takes a list of definitions in any supported format. Entries that are not functions (`{"type": "web_search"}`, with
    or without a name) are skipped. Of two tools with the same name, the first one counts; a `RepeatedTool` warning
    points at the line that passed the tools to toolfmt. Raises `BadTools`.
    """
    if isinstance(tools, CountingTools):
        return tools.schemas
    schemas: dict[str, dict[str, Any]] = {}
    positions: dict[str, int] = {}
    for position, tool in enumerate(_listed(tools)):
        if not (isinstance(tool, dict) and "function" in tool):
            tool = _entry(tool, position)
            if _other_type(tool) is not None:
                continue
        function, name, called = _checked_function(tool, position)
        if (first := positions.setdefault(name, position)) != position:
            message = f"tools[{position}]: {_repeated(name, first)}; the first one counts"
            warnings.warn(message, RepeatedTool, stacklevel=_outside())
        else:
            schemas[name] = function.get(called) or {}
    return schemas


class CountingTools(list[dict[str, Any]]):
    """Plain definitions that have been checked and are not changed any more.

    With 40 tools, the check was a third of the time to parse a short output (November 2026).
    """

    def __init__(self, schemas: dict[str, dict[str, Any]]) -> None:
        super().__init__({"name": name, "parameters": schema} for name, schema in schemas.items())
        self.schemas = schemas


def counting_tools(tools: object) -> CountingTools | None:
    """Return equivalent plain definitions for parsers, checked once and with warnings issued once.

    They can be sent to another process. Return None for None. Raises `BadTools`.
    """
    if tools is None or isinstance(tools, CountingTools):
        return tools
    schemas = tool_schemas(tools)
    for name, schema in schemas.items():
        if why := why_no_json(schema, objects=True):
            raise BadTools(f"the tool {name!r}: {why} in its parameters; give what JSON holds")
    return CountingTools(schemas)


def parameter_order(schema: Mapping[str, Any]) -> list[str]:
    """Return the names of a tool's parameters in the order of the definition in its prompt."""
    properties = schema.get("properties")
    return list(properties) if isinstance(properties, _MAPPINGS) else []


def _repeated(name: str, first: int) -> str:
    return f"tools[{first}] is called {name!r} too"


def _outside() -> int:
    """Return the stack level, seen from the caller, of the first line outside the package."""
    level = 1
    frame = sys._getframe(1)
    while frame.f_globals.get("__name__", "").startswith("toolfmt.") and frame.f_back is not None:
        level, frame = level + 1, frame.f_back
    return level


def _entry(listed: Any, position: int) -> Any:
    """Return an entry of a list of tools as a mapping. A Python function or class is converted."""
    if isinstance(listed, _MAPPINGS):
        return listed
    if isinstance(listed, _PYTHON):
        from toolfmt.messages.python_tools import definition, is_python_tool

        if is_python_tool(listed):
            return definition(listed, position)
    return _mapping(listed)


def _mapping(value: Any) -> Any:
    """Return a definition as a mapping. An object with `model_dump()` is dumped without values that are None."""
    if isinstance(value, _PLAIN_TYPES):
        return value
    dump = getattr(value, "model_dump", None)
    if not callable(dump):
        return value
    return _without_nones(dump())


def _without_nones(given: Any) -> Any:
    if not isinstance(given, Mapping):
        return given
    kept = {key: value for key, value in given.items() if value is not None}
    return kept | {"function": _without_nones(kept["function"])} if "function" in kept else kept


def _other_type(tool: object) -> str | None:
    """Return the type of an entry that is not a function: a tool that the server runs itself."""
    if not isinstance(tool, _MAPPINGS) or "function" in tool:
        return None
    kind = tool.get("type")
    of_functions = _FUNCTION_TYPES if "name" in tool else _FUNCTION_TYPES[:1]
    return kind if isinstance(kind, str) and kind not in of_functions else None


def _listed(tools: object) -> Iterable[Any]:
    if isinstance(tools, list):
        return tools
    if isinstance(tools, (str, bytes, Mapping)) or not isinstance(tools, Iterable):
        raise BadTools(f"tools must be a list of tool definitions, not {kind_of(tools)}")
    return tools


def _function(tool: object, position: int) -> dict[str, Any]:
    """Return a copy of a checked definition, with the schema as `parameters` and without values that are None."""
    function, _, called = _checked_function(tool, position)
    inner = dict(function)
    if function is tool and inner.get("type") in _FUNCTION_TYPES:
        del inner["type"]
    for key in ("description", called, "strict"):  # the Responses API requires `strict` even if there is no value
        if inner.get(key, ...) is None:
            del inner[key]
    if called != "parameters":
        inner["parameters"] = inner.pop(called)
    return inner


def _checked_function(tool: object, position: int) -> tuple[Mapping[str, Any], str, str]:
    """Return a checked definition, its name, and the key of its schema."""
    if not isinstance(tool, _MAPPINGS):
        raise BadTools(f"tools[{position}]: a tool definition is {_object_not(tool)}")
    function = _mapping(tool.get("function", tool))
    if not isinstance(function, _MAPPINGS):
        raise BadTools(f'tools[{position}]: "function" must be {_object_not(function)}')
    name = function.get("name")
    if not isinstance(name, str) or not name:
        raise BadTools(f'tools[{position}]: the tool has no "name"; a name is a string that is not empty')
    called, description = "parameters", function.get("description")
    schema = function.get(called)
    if schema is None:
        called = next((key for key in _SCHEMA_NAMES if function.get(key) is not None), called)
        schema = function.get(called)
    if description is not None and not isinstance(description, str):
        raise BadTools(f'tools[{position}] ({name}): "description" must be a string, not {kind_of(description)}')
    if schema is not None and not isinstance(schema, _MAPPINGS):
        raise BadTools(f'tools[{position}] ({name}): "{called}" must be a JSON Schema object, not {kind_of(schema)}')
    return function, name, called


def _object_not(value: object) -> str:
    """Return what a definition must be and what it is instead, in JSON's terms if possible, else in Python's."""
    if isinstance(value, type):
        return f"a mapping or an object with model_dump: give an instance, not the class {value.__name__}"
    if value is None or isinstance(value, (list, str, int, float)):
        return f"an object, not {kind_of(value)}"
    return f"a mapping or an object with model_dump, not {kind_of(value)}"


def _checked_schema(schema: Any, position: int, sort: bool, depth: int = 0) -> Any:
    """Return a copy of the schema, with its keys as they are or in canonical order."""
    if depth > _DEEPEST:
        raise BadTools(f"tools[{position}]: the parameters are nested more than {_DEEPEST} deep")
    if not isinstance(schema, _MAPPINGS):
        return schema
    checked = _ordered(schema, _SCHEMA_KEYS) if sort else dict(schema)
    for key, value in checked.items():
        if key in SCHEMA_MAPS and isinstance(value, _MAPPINGS):
            if not all(isinstance(name, str) for name in value):
                raise BadTools(f'tools[{position}]: the names in "{key}" must be strings')
            named = _ordered(value, _required(schema) if key == "properties" else ()) if sort else value
            checked[key] = {name: _checked_schema(part, position, sort, depth + 1) for name, part in named.items()}
        elif key in SCHEMA_LISTS and isinstance(value, list):
            checked[key] = [_checked_schema(part, position, sort, depth + 1) for part in value]
        elif key in SCHEMAS:
            checked[key] = _checked_schema(value, position, sort, depth + 1)
    return checked


def _required(schema: Mapping[str, Any]) -> list[str]:
    required = schema.get("required")
    return [name for name in required if isinstance(name, str)] if isinstance(required, list) else []


def _ordered(mapping: Mapping[Any, Any], first: Sequence[str]) -> dict[str, Any]:
    """Return the mapping with the keys of `first` in that order, then the others sorted."""
    keys = [key for key in first if key in mapping]
    return {str(key): mapping[key] for key in [*keys, *sorted(set(mapping) - set(keys), key=str)]}


def kind_of(value: object) -> str:
    """Return the kind of a JSON value for error messages."""
    names = {
        dict: "an object",
        list: "a list",
        str: "a string",
        bool: "true or false",
        int: "a number",
        float: "a number",
    }
    return "null" if value is None else names.get(type(value), f"a {type(value).__name__}")
