"""Check whether a value is JSON and not nested too deeply, for messages and tools of a caller."""

from __future__ import annotations

import math
import sys
from collections.abc import Mapping
from typing import Any

DEEPEST = 256
"""Maximum nesting depth. Parsers have the same limit, so that output can be rendered again."""
_BITS_OF_A_DIGIT = 3

SCHEMA_MAPS = ("properties", "$defs", "definitions", "patternProperties")
SCHEMA_LISTS = ("anyOf", "oneOf", "allOf", "prefixItems")
SCHEMAS = ("items", "additionalProperties", "not")
"""Keywords of JSON Schema whose values are schemas: by name, in a list, and alone."""


def why_no_json(value: object, *, objects: bool = False, deepest: int = DEEPEST) -> str:
    """Return what a value contains that JSON does not allow. Empty if it is valid.

    Allowed `objects` are skipped: an image in a message is not JSON, and a template renders nothing of it.
    """
    waiting: list[tuple[Any, int]] = [(value, 1)]
    while waiting:
        found, level = waiting.pop()
        if found is None or isinstance(found, (str, bool)):
            continue
        if isinstance(found, (int, float)):
            if problem := _number_problem(found):
                return problem
        elif isinstance(found, (dict, list, tuple, Mapping)):
            if level > deepest:
                return f"nested too deeply (more than {deepest} levels)"
            inside = found if isinstance(found, (list, tuple)) else found.values()
            waiting.extend((inner, level + 1) for inner in inside)
        elif not objects:
            return f"a value of type {type(found).__name__}"
    return ""


def _number_problem(number: float) -> str:
    if isinstance(number, float):
        return "" if math.isfinite(number) else "NaN" if math.isnan(number) else "Infinity"
    most = sys.get_int_max_str_digits()
    if most and number.bit_length() > most * _BITS_OF_A_DIGIT and abs(number) >= 10**most:
        return f"an integer of more than {most} digits"
    return ""
