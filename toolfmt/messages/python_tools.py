"""Create tool definitions from Python functions with type hints, pydantic classes and dataclasses.

`toolfmt.messages.tools` calls it only if a list of tools contains one. pydantic creates the schema and is imported on
first use. A parameter's description comes from its hint (`Annotated[str, Field(description="…")]`) or from the
docstring in Google, NumPy or Sphinx style. Definitions are cached as long as their function or class exists.
"""

from __future__ import annotations

import dataclasses
import inspect
import re
from collections.abc import Callable, Mapping
from functools import cache
from types import FunctionType, MethodType
from typing import Any, get_type_hints
from weakref import WeakKeyDictionary

from toolfmt._util.json_values import SCHEMA_LISTS, SCHEMA_MAPS, SCHEMAS
from toolfmt.errors import BadTools

_INSTALL = "pip install pydantic docstring_parser"
_FIRST_KEYS = ("type", "description")
# How a docstring of each style continues if there is no empty line first.
_SECTION = re.compile(r"\s*(?::\w[^:]*:|@param\b|[A-Z]\w*(?: \w+)?:\s*$|-{3,}\s*$)")
_KEYS: dict[str, dict[str, Any]] = {"int": {"pattern": "^(0|-?[1-9][0-9]*)$"}, "bool": {"enum": ["true", "false"]}}
_NO_KEYS = ("float", "decimal", "complex", "timedelta", "datetime", "time")
_VARIADIC = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
_made: WeakKeyDictionary[Any, dict[bool, dict[str, Any]]] = WeakKeyDictionary()


def is_python_tool(value: object) -> bool:
    """Return whether a definition can be created from this: a function, bound method, dataclass or pydantic class."""
    if isinstance(value, type):
        return dataclasses.is_dataclass(value) or callable(getattr(value, "model_json_schema", None))
    return isinstance(value, (FunctionType, MethodType))


def definition(value: Any, position: int) -> dict[str, Any]:
    """Return the tool definition as one mapping with name, description and parameters.

    Takes an object that `is_python_tool` accepts, and its position in the list. The name is that of the function or
    class. The description is the first paragraph of its docstring. Raises `BadTools` for parameters that a call cannot
    name, for hints without a JSON Schema, and if pydantic is not installed.
    """
    bound = isinstance(value, MethodType)
    known = _made.setdefault(value.__func__ if bound else value, {})
    if bound not in known:
        where = f"tools[{position}] ({value.__name__})"
        docstring = _docstring(value)
        description = _first_paragraph(docstring)
        known[bound] = {
            "name": value.__name__,
            **({"description": description} if description else {}),
            "parameters": _schema(value, docstring, where),
        }
    return known[bound]


def _schema(value: Any, docstring: str, where: str) -> dict[str, Any]:
    """Return the parameters' schema from pydantic, without pydantic's own additions."""
    if not isinstance(value, type):
        _check_parameters(value, where)
    made = _maker(where)(value)
    named: dict[str, Any] = made.pop("$defs", {})
    if "$ref" in made:
        made = dict(named[_referred(made)])
    if isinstance(value, type):
        made.pop("description", None)
        _without_title(made, value.__name__)
    else:
        made.pop("additionalProperties", None)
    for name, part in named.items():
        _without_title(part, name)
    _describe(made.get("properties", {}), docstring, where)
    try:
        inlined: dict[str, Any] = _inlined(made, named, ())
    except RecursionError:
        inlined = _inlined({**made, "$defs": named}, {}, ())
    return inlined


def _maker(where: str) -> Callable[[Any], dict[str, Any]]:
    """Return what creates the schema. Raises `BadTools` with a one-line message if that fails."""
    try:
        adapter, generator = _pydantic()
    except ImportError:
        raise BadTools(f"{where}: making a tool from Python requires pydantic: {_INSTALL}") from None

    def make(value: Any) -> dict[str, Any]:
        try:
            inspected = value if isinstance(value, type) else placeholder_function(value)
            schema: dict[str, Any] = adapter(inspected).json_schema(schema_generator=generator)
        except Exception as error:  # noqa: BLE001  hints are evaluated, which may raise anything
            why = str(error).split("\n")[0].partition(". Set `arbitrary_types_allowed")[0]
            raise BadTools(f"{where}: its type hints give no JSON Schema: {why or type(error).__name__}") from None
        return schema

    return make


@cache
def _pydantic() -> tuple[Any, Any]:
    from pydantic import TypeAdapter
    from pydantic.json_schema import GenerateJsonSchema

    class Generator(GenerateJsonSchema):
        """Omits generated titles, and defaults that JSON cannot represent."""

        ignored_warning_kinds = GenerateJsonSchema.ignored_warning_kinds | {"non-serializable-default"}

        def dict_schema(self, schema: Any) -> Any:
            """Return the schema of a dict. JSON keys are strings, so key types with several string forms raise."""
            made: dict[str, Any] = super().dict_schema(schema)
            kind = schema.get("keys_schema", {}).get("type")
            if kind in _KEYS:
                made["propertyNames"] = {**made.get("propertyNames", {}), **_KEYS[kind]}
            elif kind in _NO_KEYS:
                raise TypeError(f"keys of type {kind} can be written in many ways; make them str")
            return made

        def field_title_should_be_set(self, schema: Any) -> bool:
            return False

    return TypeAdapter, Generator


def placeholder_function(function: Any) -> Any:
    """Return a function for pydantic to inspect instead of the original.

    pydantic resolves names in hints in the module with the function's module name, which may not be where it was
    defined. If called, the stand-in returns its arguments.
    """

    def placeholder(**arguments: Any) -> dict[str, Any]:
        return arguments

    placeholder.__annotations__ = get_type_hints(function, include_extras=True)
    placeholder.__signature__ = inspect.signature(function)  # type: ignore[attr-defined]
    return placeholder


def _check_parameters(function: Any, where: str) -> None:
    if function.__name__ == "<lambda>":
        raise BadTools(f"{where}: a lambda has no name to be called by; define a function")
    for name, parameter in inspect.signature(function).parameters.items():
        if parameter.kind in _VARIADIC:
            stars = "*" if parameter.kind is inspect.Parameter.VAR_POSITIONAL else "**"
            raise BadTools(f"{where}: {stars}{name} has no schema; name each parameter")
        if parameter.kind is inspect.Parameter.POSITIONAL_ONLY:
            raise BadTools(f"{where}: {name} is positional only, and a call names its arguments; remove the /")
        if name == "self" and "." in function.__qualname__ and parameter.annotation is parameter.empty:
            raise BadTools(f"{where}: a method without its object; give it of an instance")


def _without_title(schema: dict[str, Any], name: str) -> None:
    if schema.get("title") == name:
        del schema["title"]


def _referred(schema: Mapping[str, Any]) -> str:
    return str(schema.get("$ref", "")).removeprefix("#/$defs/")


def _inlined(schema: Any, named: Mapping[str, Any], inside: tuple[str, ...]) -> Any:
    """Return the schema with references replaced. Raises `RecursionError` if a part contains itself."""
    if not isinstance(schema, dict):
        return schema
    name = _referred(schema)
    if name in named:
        if name in inside:
            raise RecursionError
        own = {key: value for key, value in schema.items() if key != "$ref"}
        return _inlined({**named[name], **own}, named, (*inside, name))
    first = [key for key in _FIRST_KEYS if key in schema]
    found = {key: schema[key] for key in [*first, *(key for key in schema if key not in first)]}
    for key, value in found.items():
        if key in SCHEMA_MAPS and isinstance(value, dict):
            found[key] = {name: _inlined(part, named, inside) for name, part in value.items()}
        elif key in SCHEMA_LISTS and isinstance(value, list):
            found[key] = [_inlined(part, named, inside) for part in value]
        elif key in SCHEMAS:
            found[key] = _inlined(value, named, inside)
    return found


def _docstring(value: Any) -> str:
    """Return the dedented docstring, but not one that a dataclass generates or a class inherits."""
    docstring = value.__dict__.get("__doc__") if isinstance(value, type) else value.__doc__
    if not isinstance(docstring, str) or (isinstance(value, type) and docstring.startswith(f"{value.__name__}(")):
        return ""
    return inspect.cleandoc(docstring)


def _first_paragraph(docstring: str) -> str:
    lines = []
    for line in docstring.splitlines():
        if not line.strip() or _SECTION.match(line):
            break
        lines.append(line.strip())
    return " ".join(lines)


def _describe(properties: dict[str, Any], docstring: str, where: str) -> None:
    """Add descriptions from the docstring to the parameters without one."""
    if not properties or "\n" not in docstring:
        return
    try:
        from docstring_parser import ParseError, parse
    except ImportError:
        raise BadTools(f"{where}: reading the docstring requires docstring_parser: {_INSTALL}") from None
    try:
        described = {part.arg_name: part.description or "" for part in parse(docstring).params}
    except ParseError:
        return
    for name, part in properties.items():
        if described.get(name) and "description" not in part:
            part["description"] = " ".join(described[name].split())
