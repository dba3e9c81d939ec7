"""The schema of a tool's parameters, as a grammar is made of it: references followed, unions taken apart, types plain.

A grammar must never allow what the schema does not. So every keyword of JSON Schema is either held to, an annotation
(`format` is one, JSON Schema 2020-12, Validation 7.2.1), or refused with `NotConstrained`, which names the place.
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
_LIMITS = {
    "string": ("minLength", "maxLength", "pattern"),
    "number": ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"),
    "array": ("items", "prefixItems", "minItems", "maxItems", "uniqueItems", "contains", "minContains", "maxContains"),
    "object": (
        "properties", "required", "additionalProperties", "patternProperties", "propertyNames", "minProperties",
        "maxProperties", "dependentRequired", "dependentSchemas", "dependencies",
    ),
}  # fmt: skip
"""The keywords that say something of one type only."""
_LIMITS["integer"] = _LIMITS["number"]
_ALL_LIMITS = frozenset(keyword for keywords in _LIMITS.values() for keyword in keywords)
_COMPOSED = ("anyOf", "oneOf")
_REFUSED = ("not", "if", "$dynamicRef", "$recursiveRef", "patternProperties", "propertyNames", "dependentSchemas",
            "dependentRequired", "dependencies", "contains", "unevaluatedItems")  # fmt: skip
_MOST_ALTERNATIVES = 64
_DEEPEST = 64
_MOST_STEPS = 20_000
"""Parts that are looked at in the schema of one tool."""
_MOST_APART = 5
"""Members of members that are looked at to tell the parts of a union apart."""
_MOST_ITEMS = 10_000
_COUNTS = frozenset({"minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties"})
_BOUNDS = frozenset({"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"})
_PAIRS = (("minLength", "maxLength"), ("minItems", "maxItems"), ("minProperties", "maxProperties"))


class NotConstrained(Exception):
    """No grammar holds to this part of a schema; `path` are the keys that lead there, `why` is a clause."""

    def __init__(self, why: str) -> None:
        super().__init__(why)
        self.why = why
        self.path: list[str] = []

    def within(self, key: str) -> NotConstrained:
        self.path.insert(0, key)
        return self


class Arguments(NamedTuple):
    """One of the shapes that the arguments of a tool may have."""

    properties: Mapping[str, Any]
    """The schema of each argument, in the order of the definition."""
    required: frozenset[str]
    free: bool
    """Whether nothing is said of the arguments: any may be given."""


class Schemas:
    """The parts of one schema, each read in the light of the whole: `root` is where references lead."""

    def __init__(self, root: Mapping[str, Any]) -> None:
        self.root = root
        self._known: dict[str, Schema] = {}
        """What references lead to."""
        self._steps = 0

    # --- one part

    def flat(self, schema: Any) -> Schema:
        """A schema without references and `allOf` at its top, its `type` a list; `{}` says nothing."""
        found = self._flat(schema, ())
        for least, most in _PAIRS:
            if found.get(least, 0) > found.get(most, found.get(least, 0)):
                raise NotConstrained(f"{least!r} is more than {most!r}")
        for keyword in _REFUSED:
            if keyword in found and not (keyword == "if" and not {"then", "else"} & set(found)):
                raise NotConstrained(f"the keyword {keyword!r} is not supported in grammars")
        return found

    def _flat(self, schema: Any, following: tuple[str, ...]) -> Schema:
        if schema is True or schema is None:
            return {}
        if schema is False:
            raise NotConstrained("it allows no value")
        if not isinstance(schema, Mapping):
            raise NotConstrained("a part of it is not a schema")
        if "$id" in schema and schema is not self.root:
            raise NotConstrained("it has an '$id' of its own, which changes the base of its references")
        found = {key: _sound(key, value) for key, value in schema.items() if key in _SAID}
        self._steps += 1
        if self._steps > _MOST_STEPS:
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
            if reference in following:
                raise NotConstrained(f"the reference {reference!r} refers to itself")
            target = resolve_reference(self.root, reference) if isinstance(reference, str) else None
            if target is None:
                raise NotConstrained(f"the reference {reference!r} cannot be resolved")
            if reference not in self._known:
                self._known[reference] = self._flat(target, (*following, reference))
            found = merged(self._known[reference], found)
        for part in parts if isinstance(parts, list) else []:
            found = merged(found, self._flat(part, following))
        if unevaluated is not True:
            if any(key in found for key in _COMPOSED):
                raise NotConstrained("the keyword 'unevaluatedProperties' is not supported next to a union")
            found.setdefault("additionalProperties", unevaluated)
        return found

    def kinds(self, flat: Mapping[str, Any]) -> list[str] | None:
        """The types that a flat schema allows; None where it says nothing of them."""
        if "type" in flat:
            return list(flat["type"])
        said = [kind for kind in ("object", "array", "string", "number") if any(key in flat for key in _LIMITS[kind])]
        return said or None

    def alternatives(self, schema: Any) -> list[Schema]:
        """The flat schemas of which a value may satisfy any: unions at the top taken apart, types and constants too."""
        found = list(self._alternatives(self.flat(schema), 0))
        if len(found) > _MOST_ALTERNATIVES:
            raise NotConstrained(f"it is a union of more than {_MOST_ALTERNATIVES} parts")
        return found

    def _alternatives(self, flat: Schema, depth: int) -> Iterator[Schema]:
        if depth > _DEEPEST:
            raise NotConstrained("its unions are nested too deeply")
        union = next((key for key in _COMPOSED if isinstance(flat.get(key), list)), None)
        if union is None:
            yield flat
            return
        base = {key: value for key, value in flat.items() if key != union}
        parts = []
        for part in flat[union]:
            try:
                parts.append(merged(base, self.flat(part)))
            except Nothing:
                continue
        if not parts:
            raise NotConstrained("it allows no value")
        if union == "oneOf" and not self._apart(parts):
            raise NotConstrained("parts of its 'oneOf' overlap; use 'anyOf', or give the parts different types")
        for part in parts:
            yield from self._alternatives(part, depth + 1)

    def _apart(self, parts: Sequence[Schema]) -> bool:
        """Whether no value can satisfy two of them: by type, or by a required member with other values in each."""
        return all(self._two_apart(a, b) for at, a in enumerate(parts) for b in parts[:at])

    def _two_apart(self, a: Schema, b: Schema, depth: int = 0) -> bool:
        values = constants(a), constants(b)
        if values[0] is not None and values[1] is not None:
            return not any(same(one, other) for one in values[0] for other in values[1])
        kinds = _surely(a), _surely(b)
        if kinds[0] is None or kinds[1] is None or depth > _MOST_APART:
            return False
        common = {*kinds[0], *(["integer"] if "number" in kinds[0] else [])}
        common &= {*kinds[1], *(["integer"] if "number" in kinds[1] else [])}
        if not common:
            return True
        if common != {"object"}:
            return False
        return any(self._told_apart(a, b, key, depth) for key in _names(a.get("required")) & _names(b.get("required")))

    def _told_apart(self, a: Schema, b: Schema, key: str, depth: int) -> bool:
        inner = [part["properties"][key] for part in (a, b) if key in part.get("properties", {})]
        return len(inner) == 2 and self._two_apart(self.flat(inner[0]), self.flat(inner[1]), depth + 1)

    def of_kind(self, flat: Schema, kind: str) -> Schema:
        """What a flat schema says of values of one type."""
        own = _LIMITS.get(kind, ())
        return {key: value for key, value in flat.items() if key not in _ALL_LIMITS or key in own} | {"type": [kind]}

    def values(self, flat: Schema) -> list[Any] | None:
        """The values that a flat schema lists and allows; None where it lists none."""
        listed = constants(flat)
        if listed is None:
            return None
        kinds = self.kinds(flat)
        allowed = [value for value in listed if (kinds is None or is_of(value, kinds)) and _within(value, flat)]
        if not allowed:
            raise NotConstrained("it allows no value")
        return allowed

    # --- objects

    def arguments(self, schema: Any) -> list[Arguments]:
        """The shapes that an object may have, one for each part of a union; properties that are only required too."""
        shapes = []
        for part in self.alternatives(schema):
            kinds = self.kinds(part)
            if kinds is None or "object" in kinds:
                shapes.append(self.object_shape(part))
        if not shapes:
            raise NotConstrained("it is not an object")
        return shapes

    def object_shape(self, flat: Schema) -> Arguments:
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

    def alone(self, schema: Any, *, by_name: bool = False) -> str:
        """The schema of a part as JSON text that needs nothing around it: what it refers to is in its `$defs`.

        Objects that declare members take no others, unless they say so; unions that allow one part only are plain ones
        where the parts exclude each other. Members stand in the order of the schema, or of their names.
        """
        definitions: dict[str, Any] = {}
        made = self._alone(schema, definitions, 0)
        if definitions:
            made = {**made, "$defs": {name: definitions[name] for name in sorted(definitions)}}
        return json.dumps(_by_name(made) if by_name else made, ensure_ascii=False)

    def _alone(self, schema: Any, definitions: dict[str, Any], depth: int) -> Any:
        if isinstance(schema, bool):
            return {} if schema else False
        if not isinstance(schema, Mapping) or depth > _DEEPEST:
            raise NotConstrained("it is nested too deeply" if depth > _DEEPEST else "a part of it is not a schema")
        name = rule_name(schema)
        if not name:
            return self._alone_itself(schema, definitions, depth)
        if name not in definitions:
            definitions[name] = self.flat(schema)  # it may hold itself, but must not be itself
            definitions[name] = self._alone_itself(schema, definitions, 0)
        return {"$ref": f"#/$defs/{name}"}

    def _alone_itself(self, schema: Mapping[str, Any], definitions: dict[str, Any], depth: int) -> Any:
        flat = self.flat(schema)
        if any(key in flat for key in _COMPOSED):
            return {"anyOf": [self._alone_part(part, definitions, depth) for part in self.alternatives(schema)]}
        return self._alone_part(flat, definitions, depth)

    def _alone_part(self, flat: Schema, definitions: dict[str, Any], depth: int) -> Schema:
        if (values := self.values(flat)) is not None:
            return {"enum": values}
        kinds = self.kinds(flat)
        if kinds is None:
            return {}
        own = {keyword for kind in kinds for keyword in _LIMITS.get(kind, ())}
        made = {key: value for key, value in flat.items() if key not in _ALL_LIMITS or key in own}
        made["type"] = kinds[0] if len(kinds) == 1 else kinds
        if "object" in kinds:
            shape = self.object_shape(flat)
            made = {key: value for key, value in made.items() if key not in _LIMITS["object"]}
            if not shape.free:
                made["properties"] = {
                    key: self._inner(part, key, definitions, depth) for key, part in shape.properties.items()
                }
                made["required"] = [key for key in shape.properties if key in shape.required]
                made["additionalProperties"] = False
            elif isinstance(flat.get("additionalProperties"), Mapping):
                made["additionalProperties"] = self._inner(flat["additionalProperties"], "*", definitions, depth)
        if "items" in made:
            made["items"] = self._inner(made["items"], "[]", definitions, depth)
        if isinstance(made.get("prefixItems"), list):
            made["prefixItems"] = [self._inner(part, "[]", definitions, depth) for part in made["prefixItems"]]
        if made.get("uniqueItems") and made.get("maxItems", 2) > 1:
            raise NotConstrained("the keyword 'uniqueItems' is not supported in grammars")
        made.pop("uniqueItems", None)
        return made

    def _inner(self, schema: Any, key: str, definitions: dict[str, Any], depth: int) -> Any:
        try:
            return self._alone(schema, definitions, depth + 1)
        except NotConstrained as refusal:
            raise refusal.within(key) from None


def _by_name(schema: Any) -> Any:
    """The schema with the members of every object in the order of their names."""
    if isinstance(schema, list):
        return [_by_name(part) for part in schema]
    if not isinstance(schema, dict):
        return schema
    made = {key: value if key == "enum" else _by_name(value) for key, value in schema.items()}
    if isinstance(made.get("properties"), dict):
        made["properties"] = dict(sorted(made["properties"].items()))
    return made


class Nothing(NotConstrained):
    """Two schemas that no value satisfies together."""


_SAID = frozenset(
    {"type", "nullable", "enum", "const", "anyOf", "oneOf", "allOf", "$ref", *_ALL_LIMITS, *_REFUSED, "then", "else",
     "unevaluatedProperties"}
)  # fmt: skip
"""The keywords that say which values are valid."""


def rule_name(schema: Any) -> str:
    """A name for a schema with a reference in it, which may lead to itself: another one for every schema, of letters,
    digits and underscores. Empty for a schema without one."""
    text = json.dumps(schema, sort_keys=True)
    if '"$ref"' not in text:
        return ""
    last = str(schema.get("$ref", "")).rpartition("/")[2] if isinstance(schema, Mapping) else ""
    words = re.sub("[^A-Za-z0-9]", "_", last)[:24]
    return f"{words or 'schema'}_{hashlib.sha256(text.encode()).hexdigest()[:8]}"


def constants(flat: Mapping[str, Any]) -> list[Any] | None:
    """The values that a flat schema lists; None where it lists none."""
    listed = flat["enum"] if isinstance(flat.get("enum"), list) else None
    if "const" not in flat:
        return None if listed is None else list(listed)
    return [flat["const"]] if listed is None or any(same(flat["const"], value) for value in listed) else []


def _sound(keyword: str, value: Any) -> Any:
    """A keyword's value, if it is of the type that it has to be."""
    number = isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)
    if keyword in _COUNTS:
        if not number or value < 0 or value != int(value):
            raise NotConstrained(f"{keyword!r} is {value!r:.40}, which is not a non-negative integer")
        if keyword == "minItems" and value > _MOST_ITEMS:
            raise NotConstrained(f"{keyword!r} is more than {_MOST_ITEMS}")
        return int(value)
    if keyword in ("exclusiveMinimum", "exclusiveMaximum") and isinstance(value, bool):
        raise NotConstrained(f"{keyword!r} must be a number since draft 6, not {value!r}")
    if keyword in _BOUNDS and not number:
        raise NotConstrained(f"{keyword!r} is {value!r:.40}, which is not a number")
    if keyword == "pattern" and not isinstance(value, str):
        raise NotConstrained(f"{keyword!r} is {value!r:.40}, which is not a string")
    return value


def _surely(flat: Mapping[str, Any]) -> list[str] | None:
    """The types that a flat schema allows, if it says so: a keyword of one type allows all others."""
    if "type" in flat:
        return list(flat["type"])
    listed = constants(flat)
    return None if listed is None else [type_of(value) for value in listed]


def _within(value: Any, flat: Mapping[str, Any]) -> bool:
    """Whether a listed value keeps to the limits beside the list."""
    kind = type_of(value)
    limits = {keyword: flat[keyword] for keyword in _LIMITS.get(kind, ()) if keyword in flat}
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
    """Whether two JSON values are equal: Python's True is not 1."""
    return json.dumps(_by_value(one), sort_keys=True) == json.dumps(_by_value(other), sort_keys=True)


def _by_value(value: Any) -> Any:
    """A JSON value whose whole numbers are integers."""
    if isinstance(value, list):
        return [_by_value(item) for item in value]
    if isinstance(value, dict):
        return {key: _by_value(item) for key, item in value.items()}
    return int(value) if isinstance(value, float) and value.is_integer() else value


def is_of(value: Any, kinds: Sequence[str]) -> bool:
    kind = type_of(value)
    whole = kind == "number" and (isinstance(value, int) or value == int(value))
    return kind in kinds or (whole and "integer" in kinds)


def _names(value: Any) -> set[str]:
    return {name for name in value if isinstance(name, str)} if isinstance(value, list) else set()


def _types(schema: Mapping[str, Any]) -> list[str] | None:
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
    """A flat schema that says what two of them say. Raises `Nothing` where no value can satisfy both."""
    made = dict(one)
    if ("prefixItems" in one and "items" in other) or ("prefixItems" in other and "items" in one):
        raise NotConstrained("'prefixItems' and 'items' are in different parts that apply together")
    for key, value in other.items():
        made[key] = _both(key, made[key], value) if key in made else value
    for closed, open_ in ((one, other), (other, one)):
        others = closed.get("additionalProperties")
        if "properties" in made and (others is False or isinstance(others, Mapping)):
            foreign = set(open_.get("properties", {})) - set(closed.get("properties", {}))
            made["properties"] = {
                key: _of_both(part, others) if key in foreign else part
                for key, part in made["properties"].items()
                if key not in foreign or others is not False
            }
    return made


def _of_both(one: Any, other: Any) -> Any:
    return one if same(one, other) else {"allOf": [one, other]}


def _both(key: str, one: Any, other: Any) -> Any:
    if key == "type":
        kinds = {*one, *(["integer"] if "number" in one else [])} & {
            *other,
            *(["integer"] if "number" in other else []),
        }
        found = [kind for kind in KINDS if kind in kinds and not (kind == "integer" and "number" in kinds)]
        if not found:
            raise Nothing("its types exclude each other")
        return found
    if key == "properties":
        return {
            name: _of_both(one[name], other[name]) if name in one and name in other else (one | other)[name]
            for name in (*one, *(name for name in other if name not in one))
        }
    if key == "required":
        return list(dict.fromkeys([*one, *other]))
    if key == "items" or (key == "additionalProperties" and isinstance(one, Mapping) and isinstance(other, Mapping)):
        return _of_both(one, other)
    if key == "enum":
        listed = [value for value in one if any(same(value, another) for another in other)]
        if not listed:
            raise Nothing("its lists have no value in common")
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
        raise Nothing("its constants differ")
    raise NotConstrained(f"{key!r} appears twice with different values")
