"""Reduce JSON Schemas to what llguidance enforces: `held_schema` returns what it enforces, or raises.

llguidance ignores what it does not support, partly without an error, and a grammar must not allow what the schema
forbids. So the schema is rebuilt from what is known to be enforced. Annotations are dropped, and every other keyword
that restricts a value raises. Contract as in llguidance 1.9: docs/json_schema.md, `IMPLEMENTED` in
parser/src/json/schema.rs, `lookup_format` in formats.rs, `is_known_keyword` in context_simple/draft.rs.
tests/grammars/test_llguidance_schemas.py verifies it: it tries values of each keyword and compares with jsonschema.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NoReturn

from toolfmt.errors import CannotConstrain

FORMATS = frozenset({"date-time", "time", "date", "duration", "email", "hostname", "ipv4", "ipv6", "uuid", "uri"})
"""Formats that are enforced for strings, although they are annotations in JSON Schema. Others are dropped."""
_TYPES = frozenset({"null", "boolean", "object", "array", "number", "string", "integer"})
_COUNTS = frozenset({"minItems", "maxItems", "minLength", "maxLength"})
_BOUNDS = frozenset({"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"})
_RESTRICTS = frozenset(
    {"oneOf", "not", "if", "then", "else", "dependencies", "dependentRequired", "dependentSchemas", "contains"}
    | {"minContains", "maxContains", "propertyNames", "uniqueItems", "unevaluatedItems", "unevaluatedProperties"}
    | {"$dynamicRef", "$recursiveRef", "disallow", "divisibleBy", "extends", "additionalItems", "patternProperties"}
    # Undeclared members may be written twice, and are then counted twice.
    | {"minProperties", "maxProperties"}
)
"""Keywords that restrict values and are not enforced, or not always."""
_MOST_EXACT = 2**53
"""Numbers are compared as floating-point numbers."""


def held_schema(schema: Any) -> dict[str, Any]:
    """Return an equivalent schema that llguidance enforces. It may be `True`, and refers only to its own `$defs`.

    Raises `CannotConstrain` with the keyword and its location.
    """
    held = _held(schema, "$")
    if held is False:
        _reject("$", "false", "no value fits it")
    return {} if held is True else held


def _held(schema: Any, where: str) -> Any:
    if isinstance(schema, bool):
        return schema
    if not isinstance(schema, Mapping):
        _reject(where, "schema", f"{json.dumps(schema)} is not a schema")
    held = {}
    for key, value in schema.items():
        if key in _HOLDERS:
            held[key] = _HOLDERS[key](key, value, where)
        elif key == "format" and value in FORMATS:
            held[key] = value
        elif key in _RESTRICTS:
            _reject(where, key, "it does not implement that, or not always")
    return held


def _reject(where: str, key: str, why: str) -> NoReturn:
    place = "at the top level of its schema" if where == "$" else f"at {where} of its schema"
    raise CannotConstrain(f"llguidance cannot enforce {key!r} ({place}): {why}")


def _each(key: str, value: Any, where: str) -> dict[str, Any]:
    if not isinstance(value, Mapping):
        _reject(where, key, f"{json.dumps(value)} is not an object of schemas")
    return {name: _held(inner, f"{where}.{key}.{name}") for name, inner in value.items()}


def _list(key: str, value: Any, where: str) -> list[Any]:
    if not isinstance(value, list) or not value:
        _reject(where, key, f"{json.dumps(value)} is not a list of schemas")
    return [_held(inner, f"{where}.{key}[{at}]") for at, inner in enumerate(value)]


def _one(key: str, value: Any, where: str) -> Any:
    return _held(value, f"{where}.{key}")


def _reference(key: str, value: Any, where: str) -> str:
    if not isinstance(value, str) or not re.fullmatch("#/[$]defs/[A-Za-z0-9_.-]+", value):
        _reject(where, key, f"{json.dumps(value)} is not a reference into its $defs")
    return value


def _type(key: str, value: Any, where: str) -> Any:
    for name in value if isinstance(value, list) else [value]:
        if name not in _TYPES:
            _reject(where, key, f"{json.dumps(name)} is not a JSON Schema type")
    return value


def _values(key: str, value: Any, where: str) -> Any:
    if key == "enum" and not (isinstance(value, list) and value):
        _reject(where, key, f"{json.dumps(value)} is not a list of values")
    for number in _numbers(value):
        _exact(key, number, where)
    return value


def _bound(key: str, value: Any, where: str) -> Any:
    if not isinstance(value, (int, float)) or isinstance(value, bool):
        _reject(where, key, f"{json.dumps(value)} is not a number")
    return _exact(key, value, where)


def _exact(key: str, number: int | float, where: str) -> int | float:
    if abs(number) > _MOST_EXACT:
        _reject(where, key, f"{number} is more than it compares exactly")
    return number


def _count(key: str, value: Any, where: str) -> int:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or value != int(value) or value < 0:
        _reject(where, key, f"{json.dumps(value)} is not a non-negative integer")
    return int(value)


def _names(key: str, value: Any, where: str) -> Any:
    if not isinstance(value, list) or not all(isinstance(name, str) for name in value):
        _reject(where, key, f"{json.dumps(value)} is not a list of names")
    return value


_ESCAPED = r"\\ (?: [dDwWsSnrtfv] | [!-/:;=?@\[-`{-~] | x[0-9a-fA-F]{2} | u[0-9a-fA-F]{4} )"
_OUTSIDE = re.compile(rf"(?xs) {_ESCAPED} | (?P<class> \[ \^? \]? ) | \( (?: \?: | (?!\?) ) | [^\\\[(]")
_INSIDE = re.compile(rf"(?xs) {_ESCAPED} | (?P<end> \] ) | (?! && | -- | ~~ ) [^\\\[]")


def _pattern(key: str, value: Any, where: str) -> str:
    """Return an expression that means the same in JSON Schema and Rust: without lookaround and nested classes."""
    if not isinstance(value, str):
        _reject(where, key, f"{json.dumps(value)} is not a string")
    at, inside = 0, False
    while at < len(value):
        found = (_INSIDE if inside else _OUTSIDE).match(value, at)
        if found is None or found.group() in ("[]", "[^]"):
            _reject(where, key, f"it does not know {value[at : at + 3]!r} in {value!r}, or interprets it differently")
        inside = not found["end"] if inside else bool(found["class"])
        at = found.end()
    return value


def _numbers(value: Any) -> Iterator[int | float]:
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        yield value
    elif isinstance(value, (list, dict)):
        for inner in value.values() if isinstance(value, dict) else value:
            yield from _numbers(inner)


_HOLDERS: Mapping[str, Callable[[str, Any, str], Any]] = {
    "type": _type,
    "enum": _values,
    "const": _values,
    "pattern": _pattern,
    "allOf": _list,
    "anyOf": _list,
    "prefixItems": _list,
    "$ref": _reference,
    "$defs": _each,
    "properties": _each,
    "items": _one,
    "additionalProperties": _one,
    "required": _names,
    **dict.fromkeys(_COUNTS, _count),
    **dict.fromkeys(_BOUNDS, _bound),
}
