"""Get the types of a parameter from a tool's JSON Schema, and convert raw text to a value of these types.

Only the schema decides the type. For a string parameter, the text is the value, whatever it looks like. For any other
type, the text is parsed as JSON or as a Python literal. Text that is neither becomes a string, because the schema types
arguments but does not validate them. Without a schema, text is parsed as JSON if it is valid JSON without whitespace
around it, and is a string otherwise.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NoReturn, TypeAlias

from toolfmt.formats.scanner.scanner import Malformed
from toolfmt.formats.values.syntaxes import LITERAL
from toolfmt.formats.values.value_reader import unique_value

Types: TypeAlias = frozenset[str] | None
"""JSON Schema type names. None if the types are unknown."""

STRING = frozenset({"string"})
_MOST_DIGITS = 4300
"""Maximum number of digits that Python's `json.loads` accepts in an integer. Clients parse the arguments with it."""
_LONG_INTEGERS = re.compile(rf'"(?>(?:[^"\\]|\\.)*)"|((?<![\w.])[0-9]{{{_MOST_DIGITS + 1},}}(?![0-9.eE]))')
_LEADING_ZEROS = re.compile(r"(-?)0+([0-9]+(?:\.[0-9]+)?)")
_BOOLEANS = ("true", "false")
_MOST_PARTS = 500
_INDEX = re.compile(r"[0-9]{1,9}")
"""An index of a list in a reference. The number of digits is limited, because Python does not convert any length."""
_DEEPEST = 50
"""Maximum nesting of unions and references. A part that is nested deeper has no known types."""
# Python names of types, which many schemas contain. The parsers of vLLM and SGLang accept the same names.
TYPE_ALIASES = {
    "int": "integer", "long": "integer", "float": "number", "double": "number",
    "str": "string", "text": "string", "enum": "string", "bool": "boolean", "list": "array", "tuple": "array",
    "dict": "object", "map": "object", "none": "null",
}  # fmt: skip
_KNOWN = frozenset({"string", "number", "integer", "boolean", "object", "array", "null"})
_ALONE = {name: frozenset({name}) for name in _KNOWN}


def parameter_types(schema: Mapping[str, Any], parameter: str, *path: str) -> Types:
    """Return the types that a schema allows for a parameter, or for a part of its value.

    Args:
        schema: The schema of a tool's parameters.
        parameter: The name of the parameter.
        path: The keys that lead to the part. An empty key leads to the items of a list.
    """
    properties = schema.get("properties")
    if not isinstance(properties, (dict, Mapping)) or parameter not in properties:
        return None
    found: Any = properties[parameter]
    if not path and isinstance(found, dict) and "nullable" not in found and isinstance(found.get("type"), str):
        plain = _ALONE.get(found["type"])
        if plain is not None:
            return plain
    resolver = _TypeResolver(schema)
    for key in path:
        found = resolver.member(found, key)
    return resolver.types(found)


class _TypeResolver:
    """Finds the types in one untrusted schema. Depth and number of parts are limited, and circular references end."""

    def __init__(self, root: Mapping[str, Any]) -> None:
        self._root = root
        self._left = _MOST_PARTS
        self._deep = 0
        self._following: set[str] = set()

    def types(self, schema: Any) -> Types:
        types: Types = self._part(schema, self._own)
        return types | {"null"} if types is not None and schema.get("nullable") is True else types

    def member(self, schema: Any, key: str) -> Any:
        """Return the schema of the member with this key, or of the items of a list for an empty key. None if there is
        none.
        """
        return self._part(schema, lambda schema: self._member(schema, key))

    def _part(self, schema: Any, look: Callable[[Mapping[str, Any]], Any]) -> Any:
        """Return what `look` returns for a part of the schema. None if it is not an object or a limit is reached."""
        self._left -= 1
        if not isinstance(schema, Mapping) or self._left < 0 or self._deep == _DEEPEST:
            return None
        self._deep += 1
        found = look(schema)
        self._deep -= 1
        return found

    def _member(self, schema: Mapping[str, Any], key: str) -> Any:
        properties = schema.get("properties")
        if key and isinstance(properties, Mapping) and key in properties:
            return properties[key]
        rest = schema.get("additionalProperties" if key else "items")
        if isinstance(rest, Mapping):
            return rest
        if isinstance(schema.get("$ref"), str):
            return self._follow_once(schema["$ref"], lambda found: self.member(found, key))
        parts = [part for union in ("anyOf", "oneOf", "allOf") for part in _list(schema.get(union))]
        return next((found for part in parts if (found := self.member(part, key)) is not None), None)

    def _own(self, schema: Mapping[str, Any]) -> Types:
        declared = schema.get("type")
        if declared is not None:
            names = [declared] if isinstance(declared, str) else declared if isinstance(declared, list) else []
            found = frozenset(TYPE_ALIASES.get(str(name).lower(), str(name).lower()) for name in names)
            return found if found and found <= _KNOWN else None
        if "const" in schema:
            return frozenset({type_of(schema["const"])})
        if isinstance(schema.get("enum"), list) and schema["enum"]:
            return frozenset(map(type_of, schema["enum"]))
        for key in ("anyOf", "oneOf"):
            if isinstance(schema.get(key), list) and schema[key]:
                return _union(self.types(part) for part in schema[key])
        if isinstance(schema.get("allOf"), list):
            known = [types for part in schema["allOf"] if (types := self.types(part)) is not None]
            return frozenset[str].intersection(*known) or None if known else None
        if isinstance(schema.get("$ref"), str):
            return self._types_of_reference(schema["$ref"])
        return frozenset({"object"}) if "properties" in schema else frozenset({"array"}) if "items" in schema else None

    def _types_of_reference(self, reference: str) -> Types:
        """Return the types of the target of a reference. References to other documents are not followed."""
        types: Types = self._follow_once(reference, self.types)
        return types

    def _follow_once(self, reference: str, look: Callable[[Any], Any]) -> Any:
        """Return what `look` returns for the target of a reference. None if the reference is already being followed."""
        if reference in self._following:
            return None
        self._following.add(reference)
        found = look(resolve_reference(self._root, reference))
        self._following.discard(reference)
        return found


def resolve_reference(root: Mapping[str, Any], reference: str) -> Any:
    """Return the target of a reference in a schema. None if it does not exist or is in another document."""
    from urllib.parse import unquote  # imported here, because it loads modules that take as long as an engine

    found: Any = root if reference == "#" or reference.startswith("#/") else None
    for part in unquote(reference).split("/")[1:]:
        key = part.replace("~1", "/").replace("~0", "~")
        if isinstance(found, list) and _INDEX.fullmatch(key) and int(key) < len(found):
            found = found[int(key)]
        else:
            found = found.get(key) if isinstance(found, Mapping) else None
    return found


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _union(parts: Iterable[Types]) -> Types:
    union: set[str] = set()
    for types in parts:
        if types is None:
            return None
        union.update(types)
    return frozenset(union)


def type_of(value: Any) -> str:
    """Return the JSON Schema type of a JSON value, `number` for every number."""
    if value is None or isinstance(value, bool):
        return "null" if value is None else "boolean"
    kinds: list[tuple[type, str]] = [(str, "string"), (dict, "object"), (list, "array")]
    return next((name for kind, name in kinds if isinstance(value, kind)), "number")


_FIRST = {"{": "object", "[": "array", '"': "string", "t": "boolean", "f": "boolean", "n": "null"}


def json_type(text: str) -> str:
    """Return the type of JSON text, by its first character."""
    return _FIRST.get(text.lstrip()[:1], "number")


def may_be_literal(types: Types, first: str) -> bool:
    """Return whether raw text with this first character can be a value other than a string, given these types."""
    if types is None:
        return first in _FIRST or first == "-" or (first.isascii() and first.isdigit())
    digits = "-0123456789"
    kinds = {"object": "{", "array": "[", "number": digits, "integer": digits, "boolean": "tTfF", "null": "nN"}
    return any(kind in types and first in characters for kind, characters in kinds.items())


def typed(text: str, types: Types, note: Callable[[str], object] = lambda name: None) -> str | None:
    """Return the value of raw text as JSON. None if the text itself is the value, a string.

    Args:
        text: The raw text.
        types: The types that the schema allows.
        note: Called with the name of every tolerance.

    Raises:
        Malformed: The text contains an integer that Python's `json` module rejects, or an object with two different
            values for one key. Or it is not a value of these types, and only its start or only its end is that of a
            list or object.
    """
    if types is None:
        return _json_literal(text, note)
    if types == STRING:
        return None

    if "string" in types:
        whole = None if _has_long_integers(text) else unique_value(text, LITERAL)
        if whole is None or not _allowed(whole[0], types - STRING):
            return None
        for name in whole[1]:
            note(name)
        return whole[0]
    found = _parse_as(text, types, note)
    if found is None or found[0] == '"':
        text = text.strip()
        if text and (text[0] in "[{") != (text[-1] in "]}"):
            raise Malformed("invalid_arguments", f"a value of type {' or '.join(sorted(types))}")
        note("other_type")
    return found


def raw_text(value: Any, types: Types) -> str:
    """Return a value as raw text between tags, of which `typed` with the same types is the inverse."""
    if not isinstance(value, str):
        return json.dumps(value, ensure_ascii=False)
    return json.dumps(value, ensure_ascii=False) if types is None and not is_string(value, None) else value


def is_string(text: str, types: Types) -> bool:
    """Return whether raw text with these types is a string."""
    try:
        return typed(text, types) is None
    except Malformed:
        return False


def _parse_as(text: str, types: frozenset[str], note: Callable[[str], object] = lambda name: None) -> str | None:
    """Return raw text as JSON, for types without `string`. None if it is not a JSON value or a Python literal."""
    text = text.strip()
    if _has_long_integers(text):
        raise Malformed("invalid_arguments", f"a number of at most {_MOST_DIGITS} digits")
    if types & {"integer", "number"} and (zeros := _LEADING_ZEROS.fullmatch(text)):
        note("leading_zeros")
        text = zeros[1] + zeros[2]
    if "boolean" in types and text.lower() in _BOOLEANS and text not in ("True", "False"):
        if text != text.lower():
            note("other_case")
        return text.lower()
    whole = unique_value(text, LITERAL)
    if whole is None:
        return None
    found, tolerances = whole
    if found[0] == '"':
        unquoted = _parse_as(json.loads(found), types)
        if unquoted is not None and _allowed(unquoted, types):
            note("quoted_value")
            return unquoted
    for name in tolerances:
        note(name)
    return found


def _has_long_integers(text: str) -> bool:
    return len(text) > _MOST_DIGITS and any(found[1] for found in _LONG_INTEGERS.finditer(text))


def _allowed(text: str, types: frozenset[str]) -> bool:
    """Return whether JSON text is of one of the types."""
    kind = json_type(text)
    return kind in types or (kind == "number" and "integer" in types and not set(text) & set(".eE"))


def _json_literal(text: str, note: Callable[[str], object]) -> str | None:
    repeated = False

    def members(pairs: list[tuple[str, Any]]) -> None:
        nonlocal repeated
        repeated = repeated or len(dict(pairs)) < len(pairs)

    try:
        json.loads(text, parse_constant=_not_json, parse_int=len, parse_float=len, object_pairs_hook=members)
    except (ValueError, RecursionError):
        return None
    if text != text.strip():
        return None
    if _has_long_integers(text):
        raise Malformed("invalid_arguments", f"a number of at most {_MOST_DIGITS} digits")
    whole = unique_value(text, LITERAL) if repeated else None
    if whole is None:
        return text
    note("duplicate_key")
    return whole[0]


def _not_json(name: str) -> NoReturn:
    raise ValueError(name)
