"""Close schemas: reject arguments that a schema does not name, unless the schema allows them.

`closed` does this for the arguments as a whole. For Python types, pydantic is more lenient than the schema that it
generates. A model drops unknown keys, and a formatted string accepts other values too (`"3"` for a date is seconds
since 1970). `closed_within` rejects these, so that a tool runs with exactly what the model wrote.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from toolfmt._util.json_values import SCHEMA_LISTS, SCHEMA_MAPS

_OTHER_PROPERTIES = ("additionalProperties", "unevaluatedProperties")
_REF_ALONE = ("draft-03", "draft-04", "draft-06", "draft-07")
"""Drafts in which keywords next to a `$ref` are ignored, including `additionalProperties`."""
_COMPOSED = ("$ref", "$dynamicRef", "allOf", "anyOf", "oneOf", "if", "dependentSchemas")
_SCHEMAS = ("items", "additionalProperties", "propertyNames")
_WRITTEN_AS = {
    "date": "^[0-9]{4}-[0-9]{2}-[0-9]{2}$",
    "date-time": "^[0-9]{4}-[0-9]{2}-[0-9]{2}[Tt ][0-9]{2}:",
    "time": "^[0-9]{2}:",
    "duration": "^[-+]?P",
}
"""How a string of a format begins (JSON Schema Validation 2020-12, 7.3.1). pydantic checks the rest."""


def closed(schema: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the schema, closed for arguments that it does not name unless it allows them itself."""
    if "$ref" in schema and any(draft in str(schema.get("$schema")) for draft in _REF_ALONE):
        schema = _ref_among_others(schema)
    if any(key in schema for key in _OTHER_PROPERTIES):
        return schema
    composed = any(key in schema for key in _COMPOSED)
    return {**schema, _OTHER_PROPERTIES[composed]: False}


def closed_within(schema: Any) -> Any:
    """Return a schema from pydantic with each object closed and each format as specified."""
    if not isinstance(schema, Mapping):
        return schema
    made = dict(schema)
    for key, value in schema.items():
        if key in SCHEMA_MAPS and isinstance(value, Mapping):
            made[key] = {name: closed_within(part) for name, part in value.items()}
        elif key in SCHEMA_LISTS and isinstance(value, list):
            made[key] = [closed_within(part) for part in value]
        elif key in _SCHEMAS:
            made[key] = closed_within(value)
    if isinstance(pattern := _WRITTEN_AS.get(str(schema.get("format"))), str):
        made.setdefault("pattern", pattern)
    return closed(made) if "properties" in schema else made


def _ref_among_others(schema: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the schema with its `$ref` as one of several applicable parts, as in later drafts."""
    parts = [{"$ref": schema["$ref"]}, *([{"allOf": schema["allOf"]}] if "allOf" in schema else [])]
    made = {key: value for key, value in schema.items() if key not in ("$ref", "additionalProperties")}
    if "additionalProperties" in schema:
        made.setdefault("unevaluatedProperties", schema["additionalProperties"])
    return {**made, "allOf": parts}
