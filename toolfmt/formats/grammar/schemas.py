"""Prepare the JSON Schema of a tool's parameters for a grammar: resolve references, split unions, normalize types.

A grammar must never allow what the schema does not. Therefore every keyword of JSON Schema is enforced, or is an
annotation (`format` is one, see JSON Schema 2020-12, Validation 7.2.1), or raises `NotConstrained` with the path.
"""

from __future__ import annotations

import hashlib
import json
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

from toolfmt.formats.grammar.number_patterns import bounds
from toolfmt.formats.values.schema_types import TYPE_ALIASES, resolve_reference, type_of

Schema: TypeAlias = dict[str, Any]

KINDS = ("string", "integer", "number", "boolean", "null", "array", "object")
_KEYWORDS_OF = {
    "string": ("minLength", "maxLength", "pattern"),
    "number": ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"),
    "array": ("items", "prefixItems", "minItems", "maxItems", "uniqueItems", "contains", "minContains", "maxContains"),
    "object": (
        "properties", "required", "additionalProperties", "patternProperties", "propertyNames", "minProperties",
        "maxProperties", "dependentRequired", "dependentSchemas", "dependencies",
    ),
}  # fmt: skip
"""The keywords that apply to values of one type only."""
_KEYWORDS_OF["integer"] = _KEYWORDS_OF["number"]
_TYPED_KEYWORDS = frozenset(keyword for keywords in _KEYWORDS_OF.values() for keyword in keywords)
_UNIONS = ("anyOf", "oneOf")
_UNSUPPORTED = ("not", "if", "$dynamicRef", "$recursiveRef", "patternProperties", "propertyNames", "dependentSchemas",
            "dependentRequired", "dependencies", "contains", "unevaluatedItems")  # fmt: skip
_MAX_ALTERNATIVES = 64
_MAX_DEPTH = 64
_MAX_STEPS = 20_000
"""Maximum number of subschemas that are visited in the schema of one tool."""
_MAX_COMPARED_DEPTH = 5
"""Maximum depth of members that are compared to decide whether alternatives of a union exclude each other."""
_MAX_MIN_ITEMS = 10_000
_COUNTS = frozenset({"minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties"})
_BOUNDS = frozenset({"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"})
_PAIRS = (("minLength", "maxLength"), ("minItems", "maxItems"), ("minProperties", "maxProperties"))


class NotConstrained(Exception):
    """A grammar cannot enforce this part of a schema. `path` has the keys that lead to it, `why` is the reason."""

    def __init__(self, why: str) -> None:
        super().__init__(why)
        self.why = why
        self.path: list[str] = []

    def within(self, key: str) -> NotConstrained:
        """Prepend a key to the path. Return the exception itself."""
        self.path.insert(0, key)
        return self


class Arguments(NamedTuple):
    """One of the forms that the arguments of a tool may have."""

    properties: Mapping[str, Any]
    """The schema of each argument, in the order of the definition."""
    required: frozenset[str]
    free: bool
    """Whether the schema does not declare any arguments, so that all are allowed."""


class Schemas:
    """Reads subschemas of one schema, `root`, in which references are resolved."""

    def __init__(self, root: Mapping[str, Any]) -> None:
        self.root = root
        self._resolved: dict[str, Schema] = {}
        """What references lead to."""
        self._steps = 0

    # --- one part

    def flat(self, schema: Any) -> Schema:
        """Return a schema with references and `allOf` at its top level merged into it, and `type` as a list.

        Subschemas are not changed. The result `{}` allows any value. Raises `NotConstrained`.
        """
        found = self._flat(schema, ())
        for least, most in _PAIRS:
            if found.get(least, 0) > found.get(most, found.get(least, 0)):
                raise NotConstrained(f"{least!r} is more than {most!r}")
        for keyword in _UNSUPPORTED:
            if keyword in found and not (keyword == "if" and not {"then", "else"} & set(found)):
                raise NotConstrained(f"the keyword {keyword!r} is not supported in grammars")
        return found

    def _flat(self, schema: Any, pending: tuple[str, ...]) -> Schema:
        if schema is True or schema is None:
            return {}
        if schema is False:
            raise NotConstrained("it allows no value")
        if not isinstance(schema, Mapping):
            raise NotConstrained("a part of it is not a schema")
        if "$id" in schema and schema is not self.root:
            raise NotConstrained("it has an '$id' of its own, which changes the base of its references")
        found = {key: _checked(key, value) for key, value in schema.items() if key in _VALIDATING}
        self._steps += 1
        if self._steps > _MAX_STEPS:
            raise NotConstrained("it contains too many references")
        types = _types(found)
        found.pop("type", None)
        if types is not None:
            found["type"] = types
        found.pop("nullable", None)
        unevaluated = found.pop("unevaluatedProperties", True)
        if not isinstance(found.get("required", []), list):
            del found["required"]
        if not isinstance(found.get("properties", {}), Mapping):
            del found["properties"]
        parts = found.pop("allOf", [])
        reference = found.pop("$ref", None)
        if reference is not None:
            if reference in pending:
                raise NotConstrained(f"the reference {reference!r} refers to itself")
            target = resolve_reference(self.root, reference) if isinstance(reference, str) else None
            if target is None:
                raise NotConstrained(f"the reference {reference!r} cannot be resolved")
            if reference not in self._resolved:
                self._resolved[reference] = self._flat(target, (*pending, reference))
            found = merged(self._resolved[reference], found)
        for part in parts if isinstance(parts, list) else []:
            found = merged(found, self._flat(part, pending))
        if unevaluated is not True:
            if any(key in found for key in _UNIONS):
                raise NotConstrained("the keyword 'unevaluatedProperties' is not supported next to a union")
            found.setdefault("additionalProperties", unevaluated)
        return found

    def kinds(self, flat: Mapping[str, Any]) -> list[str] | None:
        """Return the types that a flat schema allows, or that its keywords apply to. None if it has neither."""
        if "type" in flat:
            return list(flat["type"])
        implied = [
            kind for kind in ("object", "array", "string", "number") if any(key in flat for key in _KEYWORDS_OF[kind])
        ]
        return implied or None

    def alternatives(self, schema: Any) -> list[Schema]:
        """Return flat schemas, one of which a value must satisfy: the alternatives of the unions at the top level.

        Raises `NotConstrained`.
        """
        found = list(self._alternatives(self.flat(schema), 0))
        if len(found) > _MAX_ALTERNATIVES:
            raise NotConstrained(f"it is a union of more than {_MAX_ALTERNATIVES} parts")
        return found

    def _alternatives(self, flat: Schema, depth: int) -> Iterator[Schema]:
        if depth > _MAX_DEPTH:
            raise NotConstrained("its unions are nested too deeply")
        union = next((key for key in _UNIONS if isinstance(flat.get(key), list)), None)
        if union is None:
            yield flat
            return
        base = {key: value for key, value in flat.items() if key != union}
        parts = []
        for part in flat[union]:
            try:
                parts.append(merged(base, self.flat(part)))
            except Unsatisfiable:
                continue
        if not parts:
            raise NotConstrained("it allows no value")
        if union == "oneOf" and not self._are_disjoint(parts):
            raise NotConstrained("parts of its 'oneOf' overlap; use 'anyOf', or give the parts different types")
        for part in parts:
            yield from self._alternatives(part, depth + 1)

    def _are_disjoint(self, parts: Sequence[Schema]) -> bool:
        """Whether no value satisfies two of the schemas, because of its type or of a required member's value."""
        return all(self._disjoint(a, b) for at, a in enumerate(parts) for b in parts[:at])

    def _disjoint(self, a: Schema, b: Schema, depth: int = 0) -> bool:
        values = constants(a), constants(b)
        if values[0] is not None and values[1] is not None:
            return not any(same(one, other) for one in values[0] for other in values[1])
        kinds = _declared_types(a), _declared_types(b)
        if kinds[0] is None or kinds[1] is None or depth > _MAX_COMPARED_DEPTH:
            return False
        common = {*kinds[0], *(["integer"] if "number" in kinds[0] else [])}
        common &= {*kinds[1], *(["integer"] if "number" in kinds[1] else [])}
        if not common:
            return True
        if common != {"object"}:
            return False
        return any(
            self._disjoint_by_member(a, b, key, depth) for key in _names(a.get("required")) & _names(b.get("required"))
        )

    def _disjoint_by_member(self, a: Schema, b: Schema, key: str, depth: int) -> bool:
        inner = [part["properties"][key] for part in (a, b) if key in part.get("properties", {})]
        return len(inner) == 2 and self._disjoint(self.flat(inner[0]), self.flat(inner[1]), depth + 1)

    def of_kind(self, flat: Schema, kind: str) -> Schema:
        """Return the part of a flat schema that applies to values of one type."""
        own = _KEYWORDS_OF.get(kind, ())
        return {key: value for key, value in flat.items() if key not in _TYPED_KEYWORDS or key in own} | {
            "type": [kind]
        }

    def values(self, flat: Schema) -> list[Any] | None:
        """Return the values that a flat schema lists and allows. None if it does not list any."""
        listed = constants(flat)
        if listed is None:
            return None
        kinds = self.kinds(flat)
        allowed = [
            value for value in listed if (kinds is None or has_type(value, kinds)) and _within_limits(value, flat)
        ]
        if not allowed:
            raise NotConstrained("it allows no value")
        return allowed

    # --- objects

    def arguments(self, schema: Any) -> list[Arguments]:
        """Return the forms that an object may have, one for each alternative of a union."""
        shapes = []
        for part in self.alternatives(schema):
            kinds = self.kinds(part)
            if kinds is None or "object" in kinds:
                shapes.append(self.object_shape(part))
        if not shapes:
            raise NotConstrained("it is not an object")
        return shapes

    def object_shape(self, flat: Schema) -> Arguments:
        """Return the properties of an object, including those that are only listed as required.

        Raises `NotConstrained` if a required key is not allowed, or if the schema limits the number of keys.
        """
        properties = dict(flat.get("properties", {}))
        required = [name for name in flat.get("required", []) if isinstance(name, str)]
        others = flat.get("additionalProperties", True)
        for name in required:
            if name not in properties:
                if others is False:
                    raise NotConstrained(f"it requires {name!r} but does not allow that key")
                properties[name] = others
        properties = {name: part for name, part in properties.items() if part is not False}
        least, most = flat.get("minProperties", 0), flat.get("maxProperties", len(properties))
        counted = "minProperties" in flat or "maxProperties" in flat
        if not properties and "properties" not in flat and others is not False and not counted:
            return Arguments({}, frozenset(), True)
        if least > len(required) or most < len(properties):
            raise NotConstrained("it limits the number of keys")
        return Arguments(properties, frozenset(required), False)

    # --- a part on its own

    def standalone(self, schema: Any, *, sort_keys: bool = False) -> str:
        """Return the schema of a part as JSON text that refers to nothing outside of itself; references are in its
        `$defs`.

        An object that declares properties allows no others. `oneOf` becomes `anyOf`, because its alternatives exclude
        each other. Properties are in the order of the schema, or sorted by name if `sort_keys`.
        """
        definitions: dict[str, Any] = {}
        result = self._standalone(schema, definitions, 0)
        if definitions:
            result = {**result, "$defs": {name: definitions[name] for name in sorted(definitions)}}
        return json.dumps(_with_sorted_keys(result) if sort_keys else result, ensure_ascii=False)

    def _standalone(self, schema: Any, definitions: dict[str, Any], depth: int) -> Any:
        if isinstance(schema, bool):
            return {} if schema else False
        if not isinstance(schema, Mapping) or depth > _MAX_DEPTH:
            raise NotConstrained("it is nested too deeply" if depth > _MAX_DEPTH else "a part of it is not a schema")
        name = rule_name(schema)
        if not name:
            return self._standalone_schema(schema, definitions, depth)
        if name not in definitions:
            definitions[name] = self.flat(schema)  # it may contain itself as a part, but must not be itself
            definitions[name] = self._standalone_schema(schema, definitions, 0)
        return {"$ref": f"#/$defs/{name}"}

    def _standalone_schema(self, schema: Mapping[str, Any], definitions: dict[str, Any], depth: int) -> Any:
        flat = self.flat(schema)
        if any(key in flat for key in _UNIONS):
            return {"anyOf": [self._standalone_part(part, definitions, depth) for part in self.alternatives(schema)]}
        return self._standalone_part(flat, definitions, depth)

    def _standalone_part(self, flat: Schema, definitions: dict[str, Any], depth: int) -> Schema:
        if (values := self.values(flat)) is not None:
            return {"enum": values}
        kinds = self.kinds(flat)
        if kinds is None:
            return {}
        own = {keyword for kind in kinds for keyword in _KEYWORDS_OF.get(kind, ())}
        result = {key: value for key, value in flat.items() if key not in _TYPED_KEYWORDS or key in own}
        result["type"] = kinds[0] if len(kinds) == 1 else kinds
        if "object" in kinds:
            shape = self.object_shape(flat)
            result = {key: value for key, value in result.items() if key not in _KEYWORDS_OF["object"]}
            if not shape.free:
                result["properties"] = {
                    key: self._standalone_inner(part, key, definitions, depth) for key, part in shape.properties.items()
                }
                result["required"] = [key for key in shape.properties if key in shape.required]
                result["additionalProperties"] = False
            elif isinstance(flat.get("additionalProperties"), Mapping):
                result["additionalProperties"] = self._standalone_inner(
                    flat["additionalProperties"], "*", definitions, depth
                )
        if "items" in result:
            result["items"] = self._standalone_inner(result["items"], "[]", definitions, depth)
        if isinstance(result.get("prefixItems"), list):
            result["prefixItems"] = [
                self._standalone_inner(part, "[]", definitions, depth) for part in result["prefixItems"]
            ]
        if result.get("uniqueItems") and result.get("maxItems", 2) > 1:
            raise NotConstrained("the keyword 'uniqueItems' is not supported in grammars")
        result.pop("uniqueItems", None)
        return result

    def _standalone_inner(self, schema: Any, key: str, definitions: dict[str, Any], depth: int) -> Any:
        try:
            return self._standalone(schema, definitions, depth + 1)
        except NotConstrained as error:
            raise error.within(key) from None


def _with_sorted_keys(schema: Any) -> Any:
    """Return the schema with the properties of every object sorted by name."""
    if isinstance(schema, list):
        return [_with_sorted_keys(part) for part in schema]
    if not isinstance(schema, dict):
        return schema
    result = {key: value if key == "enum" else _with_sorted_keys(value) for key, value in schema.items()}
    if isinstance(result.get("properties"), dict):
        result["properties"] = dict(sorted(result["properties"].items()))
    return result


class Unsatisfiable(NotConstrained):
    """No value satisfies both of two schemas."""


_VALIDATING = frozenset(
    {"type", "nullable", "enum", "const", "anyOf", "oneOf", "allOf", "$ref", *_TYPED_KEYWORDS, *_UNSUPPORTED, "then",
     "else", "unevaluatedProperties"}
)  # fmt: skip
"""The keywords that restrict which values are valid."""


def rule_name(schema: Any) -> str:
    """Return a name for a schema that contains a reference, which may be recursive. Empty for any other schema.

    The name consists of letters, digits and underscores, and differs for different schemas.
    """
    text = json.dumps(schema, sort_keys=True)
    if '"$ref"' not in text:
        return ""
    last = str(schema.get("$ref", "")).rpartition("/")[2] if isinstance(schema, Mapping) else ""
    words = re.sub("[^A-Za-z0-9]", "_", last)[:24]
    return f"{words or 'schema'}_{hashlib.sha256(text.encode()).hexdigest()[:8]}"


def constants(flat: Mapping[str, Any]) -> list[Any] | None:
    """Return the values that a flat schema lists as `const` or `enum`. None if it has neither."""
    listed = flat["enum"] if isinstance(flat.get("enum"), list) else None
    if "const" not in flat:
        return None if listed is None else list(listed)
    return [flat["const"]] if listed is None or any(same(flat["const"], value) for value in listed) else []


def _checked(keyword: str, value: Any) -> Any:
    """Return a keyword's value, or raise `NotConstrained` if it does not have the required type."""
    number = isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)
    if keyword in _COUNTS:
        if not number or value < 0 or value != int(value):
            raise NotConstrained(f"{keyword!r} is {value!r:.40}, which is not a non-negative integer")
        if keyword == "minItems" and value > _MAX_MIN_ITEMS:
            raise NotConstrained(f"{keyword!r} is more than {_MAX_MIN_ITEMS}")
        return int(value)
    if keyword in ("exclusiveMinimum", "exclusiveMaximum") and isinstance(value, bool):
        raise NotConstrained(f"{keyword!r} must be a number since draft 6, not {value!r}")
    if keyword in _BOUNDS and not number:
        raise NotConstrained(f"{keyword!r} is {value!r:.40}, which is not a number")
    if keyword == "pattern" and not isinstance(value, str):
        raise NotConstrained(f"{keyword!r} is {value!r:.40}, which is not a string")
    return value


def _declared_types(flat: Mapping[str, Any]) -> list[str] | None:
    """Return the types that a flat schema declares with `type`, `const` or `enum`. None if it does not.

    Other keywords do not count: a keyword that applies to one type allows all values of the others.
    """
    if "type" in flat:
        return list(flat["type"])
    listed = constants(flat)
    return None if listed is None else [type_of(value) for value in listed]


def _within_limits(value: Any, flat: Mapping[str, Any]) -> bool:
    """Whether a listed value satisfies the limits in the same schema."""
    kind = type_of(value)
    limits = {keyword: flat[keyword] for keyword in _KEYWORDS_OF.get(kind, ()) if keyword in flat}
    if not limits:
        return True
    if kind == "string" and "pattern" not in limits:
        return int(limits.get("minLength", 0)) <= len(value) <= int(limits.get("maxLength", len(value)))
    if kind == "number" and "multipleOf" not in limits:
        least, most = bounds(limits)
        above = least is None or value > least.value or (value == least.value and not least.open)
        return above and (most is None or value < most.value or (value == most.value and not most.open))
    raise NotConstrained("it has both a list of values and limits for them")


def same(one: Any, other: Any) -> bool:
    """Whether two JSON values are equal. `True` is not equal to 1; 1.0 is."""
    return json.dumps(_normalized(one), sort_keys=True) == json.dumps(_normalized(other), sort_keys=True)


def _normalized(value: Any) -> Any:
    """Return the JSON value with integral floats as integers."""
    if isinstance(value, list):
        return [_normalized(item) for item in value]
    if isinstance(value, dict):
        return {key: _normalized(item) for key, item in value.items()}
    return int(value) if isinstance(value, float) and value.is_integer() else value


def has_type(value: Any, kinds: Sequence[str]) -> bool:
    """Whether a JSON value has one of the types. An integral number also has the type integer."""
    kind = type_of(value)
    whole = kind == "number" and (isinstance(value, int) or value == int(value))
    return kind in kinds or (whole and "integer" in kinds)


def _names(value: Any) -> set[str]:
    """Return the strings in a list. Empty for any other value."""
    return {name for name in value if isinstance(name, str)} if isinstance(value, list) else set()


def _types(schema: Mapping[str, Any]) -> list[str] | None:
    """Return the types of the keyword `type` as a list. None if it is missing or contains an unknown type.

    Aliases such as `int` are resolved. `nullable` adds the type null.
    """
    declared = schema.get("type")
    names = [declared] if isinstance(declared, str) else declared if isinstance(declared, list) else []
    types = [TYPE_ALIASES.get(str(name).lower(), str(name).lower()) for name in names]
    known = [kind for kind in KINDS if kind in types]
    if "integer" in known and "number" in known:
        known.remove("integer")
    if not known or len(set(types) - set(KINDS)):
        return None
    return [*known, "null"] if schema.get("nullable") is True and "null" not in known else known


def merged(one: Mapping[str, Any], other: Mapping[str, Any]) -> Schema:
    """Return a flat schema that combines two of them. Raises `Unsatisfiable` if no value can satisfy both."""
    result = dict(one)
    if ("prefixItems" in one and "items" in other) or ("prefixItems" in other and "items" in one):
        raise NotConstrained("'prefixItems' and 'items' are in different parts that apply together")
    for key, value in other.items():
        result[key] = _merged_keyword(key, result[key], value) if key in result else value
    for closed, open_ in ((one, other), (other, one)):
        others = closed.get("additionalProperties")
        if "properties" in result and (others is False or isinstance(others, Mapping)):
            undeclared = set(open_.get("properties", {})) - set(closed.get("properties", {}))
            result["properties"] = {
                key: _conjunction(part, others) if key in undeclared else part
                for key, part in result["properties"].items()
                if key not in undeclared or others is not False
            }
    return result


def _conjunction(one: Any, other: Any) -> Any:
    """Return a schema that requires both schemas."""
    return one if same(one, other) else {"allOf": [one, other]}


def _merged_keyword(key: str, one: Any, other: Any) -> Any:
    """Return the value of a keyword that both schemas have."""
    if key == "type":
        kinds = {*one, *(["integer"] if "number" in one else [])} & {
            *other,
            *(["integer"] if "number" in other else []),
        }
        found = [kind for kind in KINDS if kind in kinds and not (kind == "integer" and "number" in kinds)]
        if not found:
            raise Unsatisfiable("its types exclude each other")
        return found
    if key == "properties":
        return {
            name: _conjunction(one[name], other[name]) if name in one and name in other else (one | other)[name]
            for name in (*one, *(name for name in other if name not in one))
        }
    if key == "required":
        return list(dict.fromkeys([*one, *other]))
    if key == "items" or (key == "additionalProperties" and isinstance(one, Mapping) and isinstance(other, Mapping)):
        return _conjunction(one, other)
    if key == "enum":
        listed = [value for value in one if any(same(value, another) for another in other)]
        if not listed:
            raise Unsatisfiable("its lists have no value in common")
        return listed
    if key in ("minimum", "exclusiveMinimum", "minLength", "minItems", "minProperties"):
        return max(one, other)
    if key in ("maximum", "exclusiveMaximum", "maxLength", "maxItems", "maxProperties"):
        return min(one, other)
    if key == "additionalProperties" and (one is False or other is False):
        return False
    if same(one, other):
        return one
    if key == "const":
        raise Unsatisfiable("its constants differ")
    raise NotConstrained(f"{key!r} appears twice with different values")
