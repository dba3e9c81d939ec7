"""Tool definitions: the shapes people write, one canonical shape out.

A tool definition is the OpenAI shape `{"type": "function", "function": {"name", "description", "parameters"}}`, or the
inner object alone, whose schema may also be called `input_schema` (Anthropic's Messages API) or `inputSchema` (the
Model Context Protocol); each a mapping, or an object that tells itself by `model_dump()` (pydantic). A function with
type hints, a class of pydantic or a dataclass may stand there too (`python_tools.py`).

An entry of a list of tools is a function if it has `function`, or a `name` and no `type` but "function" or "custom";
any other type is a tool that a server runs by itself (`{"type": "web_search_20250305", "name": "web_search"}`).

`canonical_tools` checks definitions, puts them into one shape and refuses what no prompt can hold. The caller's order
stays, of the tools and of everything in their parameters: a template shows the parameters as they were given. Only who
has them from an unordered source asks for sorting. `tool_schemas` is the parser's and the writer's door: a request that
a server has accepted is never refused there for a tool that no model calls or that is there twice.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterable, Mapping, Sequence
from types import FunctionType, MethodType
from typing import Any

from toolfmt._util.json_values import SCHEMA_LISTS, SCHEMA_MAPS, SCHEMAS, why_no_json
from toolfmt.errors import BadTools, RepeatedTool

# Key orders as tool definitions are usually printed (OpenAI function calling guide, JSON Schema core vocabulary).
_TOOL_KEYS = ("type", "function")
_FUNCTION_TYPES = ("function", "custom")
_FUNCTION_KEYS = ("name", "description", "parameters", "return", "strict")
_SCHEMA_KEYS = ("type", "title", "description", "enum", "const", "default", "properties", "required", "items")
_DEEPEST = 64
_SCHEMA_NAMES = ("parameters", "input_schema", "inputSchema")
"""What the schema of a tool's parameters is called; the first that is there counts and becomes `parameters`."""
_MAPPINGS = (dict, Mapping)
"""A dictionary is known at once; to ask an abstract class is a good part of what a parser costs to make."""
_TOLD = (*_MAPPINGS, type)
_PYTHON = (FunctionType, MethodType, type)


def canonical_tools(tools: object, *, sort_tools: bool = False, sort_properties: bool = False) -> list[dict[str, Any]]:
    """Tool definitions checked and in canonical form.

    Takes a list of definitions in any of the shapes. Returns new dictionaries in the OpenAI shape, in the order of the
    list: the keys of the definition itself in a fixed order (type, function; name, description, parameters, return,
    strict, then the others by name), its parameters as they were given. `sort_tools` sorts the tools by name;
    `sort_properties` gives one order to every schema, whatever its keys came in: the required parameters first (as
    `required` lists them), then by name. Raises `BadTools` naming the position and what is wrong with it, or that it is
    no function.
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
    """Whether everything in the definitions stands in the order that the caller gave it in.

    Takes the caller's list and what `canonical_tools` made of it. In which of the shapes a definition came says nothing
    of its order.
    """
    entries = [_mapping(entry) for entry in _listed(given)]
    return len(entries) == len(canonical) and all(map(_in_order, entries, canonical))


def _in_order(given: object, canonical: Mapping[str, Any]) -> bool:
    if not isinstance(given, _MAPPINGS):
        return True  # made of a function or a class
    function = _mapping(given.get("function", given))
    alone = function is given
    named = {("parameters" if key in _SCHEMA_NAMES else key): value for key, value in function.items()}
    kept = {key: value for key, value in named.items() if value is not None and not (alone and key == "type")}
    outside = alone or "type" not in given or list(given) == list(canonical)
    return outside and _same(kept, canonical["function"])


def _same(given: object, canonical: object) -> bool:
    """Whether two values are equal, the order of keys and the types of numbers included."""
    if isinstance(given, _MAPPINGS) and isinstance(canonical, _MAPPINGS):
        if list(given) != list(canonical):
            return False
        return all(_same(value, canonical[key]) for key, value in given.items())
    if isinstance(given, (list, tuple)) and isinstance(canonical, (list, tuple)):
        return len(given) == len(canonical) and all(map(_same, given, canonical))
    return type(given) is type(canonical) and given == canonical


def tool_schemas(tools: object) -> dict[str, dict[str, Any]]:
    """The schema of the parameters of each tool, by tool name, `{}` where a tool declares none; raises `BadTools`.

    Takes a list of definitions in any of the shapes. Entries that are no functions (`{"type": "web_search"}`, named or
    not) are passed over. Of two tools with one name the first counts; the warning `RepeatedTool` says so, and points at
    the line that handed the tools to toolfmt.
    """
    if isinstance(tools, CountingTools):
        return tools.schemas
    schemas: dict[str, dict[str, Any]] = {}
    positions: dict[str, int] = {}
    for position, listed in enumerate(_listed(tools)):
        tool = _entry(listed, position)
        if _other_type(tool) is not None:
            continue
        function = _function(tool, position)
        if (first := positions.setdefault(function["name"], position)) != position:
            said = f"tools[{position}]: {_repeated(function['name'], first)}; the first one counts"
            warnings.warn(said, RepeatedTool, stacklevel=_outside())
        else:
            schemas[function["name"]] = function.get("parameters") or {}
    return schemas


class CountingTools(list[dict[str, Any]]):
    """Plain definitions that have been checked; nobody changes them. With 40 tools the check was a third of what
    reading a short answer took (November 2026)."""

    def __init__(self, schemas: dict[str, dict[str, Any]]) -> None:
        super().__init__({"name": name, "parameters": schema} for name, schema in schemas.items())
        self.schemas = schemas


def counting_tools(tools: object) -> CountingTools | None:
    """Plain definitions that say the same to a parser: what is told of the tools is told once, they are checked once,
    and they can be sent to another process. None for None; raises `BadTools`."""
    if tools is None or isinstance(tools, CountingTools):
        return tools
    schemas = tool_schemas(tools)
    for name, schema in schemas.items():
        if why := why_no_json(schema, objects=True):
            raise BadTools(f"the tool {name!r}: {why} in its parameters; give what JSON holds")
    return CountingTools(schemas)


def parameter_order(schema: Mapping[str, Any]) -> list[str]:
    """The names of a tool's parameters in the order that a model sees: that of the definition in its prompt."""
    properties = schema.get("properties")
    return list(properties) if isinstance(properties, _MAPPINGS) else []


def _repeated(name: str, first: int) -> str:
    return f"tools[{first}] is called {name!r} too"


def _outside() -> int:
    """The stack level, for who calls this, of the first line outside the package."""
    level = 1
    frame = sys._getframe(1)
    while frame.f_globals.get("__name__", "").startswith("toolfmt.") and frame.f_back is not None:
        level, frame = level + 1, frame.f_back
    return level


def _entry(listed: Any, position: int) -> Any:
    """An entry of a list of tools as a mapping; a function or a class of Python's is made into one."""
    if isinstance(listed, _MAPPINGS):
        return listed
    if isinstance(listed, _PYTHON):
        from toolfmt.messages.python_tools import definition, is_python_tool

        if is_python_tool(listed):
            return definition(listed, position)
    return _mapping(listed)


def _mapping(value: Any) -> Any:
    """A definition as a mapping: an object that tells itself (pydantic's) is asked, what it leaves at None left out."""
    if isinstance(value, _TOLD):
        return value
    dump = getattr(value, "model_dump", None)
    if not callable(dump):
        return value
    return _without_nones(dump())


def _without_nones(told: Any) -> Any:
    if not isinstance(told, Mapping):
        return told
    said = {key: value for key, value in told.items() if value is not None}
    return said | {"function": _without_nones(said["function"])} if "function" in said else said


def _other_type(tool: object) -> str | None:
    """The type of an entry that declares no function: a tool that the server runs by itself."""
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
    if not isinstance(tool, _MAPPINGS):
        raise BadTools(f"tools[{position}]: a tool definition is {_object_not(tool)}")
    function = _mapping(tool.get("function", tool))
    if not isinstance(function, _MAPPINGS):
        raise BadTools(f'tools[{position}]: "function" must be {_object_not(function)}')
    inner = dict(function)
    if function is tool and inner.get("type") in _FUNCTION_TYPES:
        del inner["type"]
    name = inner.get("name")
    if not isinstance(name, str) or not name:
        raise BadTools(f'tools[{position}]: the tool has no "name"; a name is a string that is not empty')
    called = "parameters"
    if inner.get(called) is None:
        called = next((key for key in _SCHEMA_NAMES if inner.get(key) is not None), called)
    for key, kinds, wanted in (("description", str, "a string"), (called, _MAPPINGS, "a JSON Schema object")):
        if key not in inner:
            continue
        value = inner[key]
        if value is None:
            del inner[key]
        elif not isinstance(value, kinds):
            raise BadTools(f'tools[{position}] ({name}): "{key}" must be {wanted}, not {kind_of(value)}')
    if inner.get("strict", ...) is None:
        del inner["strict"]  # the Responses API wants the key where nothing is said
    if called != "parameters":
        inner["parameters"] = inner.pop(called)
    return inner


def _object_not(value: object) -> str:
    """What a definition is, and what stands there instead: in JSON's words for what JSON holds, else in Python's."""
    if isinstance(value, type):
        return f"a mapping or an object with model_dump: give an instance, not the class {value.__name__}"
    if value is None or isinstance(value, (list, str, int, float)):
        return f"an object, not {kind_of(value)}"
    return f"a mapping or an object with model_dump, not {kind_of(value)}"


def _checked_schema(schema: Any, position: int, sort: bool, depth: int = 0) -> Any:
    """The schema in dictionaries of its own, its keys as they are or in canonical order."""
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
    """The mapping with the keys of `first` in that order, then the others sorted."""
    keys = [key for key in first if key in mapping]
    return {str(key): mapping[key] for key in [*keys, *sorted(set(mapping) - set(keys), key=str)]}


def kind_of(value: object) -> str:
    """What a JSON value is, in words for an error message."""
    names = {
        dict: "an object",
        list: "a list",
        str: "a string",
        bool: "true or false",
        int: "a number",
        float: "a number",
    }
    return "null" if value is None else names.get(type(value), f"a {type(value).__name__}")
