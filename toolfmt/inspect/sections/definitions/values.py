"""Allowed values and defaults of parameters, which a template may show for some schemas and not for others."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

ENUM = ("Ez3red", "Ez3green")
LOW, HIGH = 40423, 40427

ENUMS: tuple[tuple[str, dict[str, Any], Sequence[Any]], ...] = (
    ("integer parameters", {"type": "integer", "enum": [LOW, HIGH]}, (LOW, HIGH)),
    ("number parameters", {"type": "number", "enum": [LOW + 0.5, HIGH + 0.5]}, (LOW + 0.5, HIGH + 0.5)),
    ('parameters of the type ["string", "null"]', {"type": ["string", "null"], "enum": list(ENUM)}, ENUM),
    ("parameters without a type", {"enum": list(ENUM)}, ENUM),
    ("list items", {"type": "array", "items": {"type": "string", "enum": list(ENUM)}}, ENUM),
    ("parameters with `const`", {"type": "string", "const": ENUM[0]}, ENUM[:1]),
)
"""Schemas with allowed values, other than a string with `enum`: the name in the report, the schema, the values."""
DEFAULTS: dict[str, dict[str, Any]] = {
    "a number as `default`": {"type": "integer", "default": LOW},
    "true as `default`": {"type": "boolean", "default": True},
    "null as `default`": {"type": "string", "default": None},
    "`enum` with a number as `default`": {"type": "integer", "enum": [LOW, HIGH], "default": LOW},
    "`enum` with null as `default`": {"type": "string", "enum": list(ENUM), "default": None},
    "`oneOf` with a number as `default`": {
        "oneOf": [{"type": "string"}, {"type": "integer"}],
        "default": LOW,
    },
}
"""Defaults that are not strings, by their names in the report."""
