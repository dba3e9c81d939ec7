"""Convert a tool's return value to text for the model.

A string stays as it is. Everything else becomes JSON: sets are sorted, pydantic serializes what it supports (its
models, dataclasses, dates, iterators), the rest uses `str`. NaN and infinity become null, as in JavaScript. Values that
cannot become JSON (bytes that are not text, a list that contains itself) are errors. So are values that only show a
memory address, because a model would take Python's text for a real result.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping, MappingView
from typing import Any

from toolfmt.errors import json_fault

_ADDRESS = re.compile(r" ?\bat 0x[0-9a-fA-F]+\b")
_LISTS: tuple[type[Any], ...] = (list, tuple, range, MappingView)
_INSTALL = "pip install pydantic docstring_parser"


class NoResult(TypeError):
    """A tool's return value cannot be converted."""


def result_text(value: object) -> str:
    """Return the text of a result. Raises `NoResult` if there is none, and what the value's methods raise."""
    if isinstance(value, str):
        return sendable(value)
    try:
        text = json.dumps(_json_of(value), ensure_ascii=False, allow_nan=False)
    except NoResult:
        raise
    except (TypeError, ValueError, RecursionError) as error:
        raise NoResult(f"{_returned(value)}, which cannot be written as JSON ({json_fault(error)})") from error
    return sendable(text)


def _json_of(value: Any) -> Any:
    """Return the value converted to JSON types."""
    if value is None or isinstance(value, (str, int)):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Mapping):
        named = {_name_of(key): _json_of(inner) for key, inner in value.items()}
        if len(named) < len(value):
            raise NoResult(f"{_returned(value)}, of which two keys are one in JSON")
        return named
    if isinstance(value, _LISTS):
        return [_json_of(inner) for inner in value]
    if isinstance(value, (set, frozenset)):
        return [_json_of(inner) for inner in _sorted(value)]
    return _json_of(_known_to_pydantic(value))


def _name_of(key: object) -> str:
    """Return a key as a JSON string."""
    if isinstance(key, str):
        return str.__str__(key)
    if key is None or isinstance(key, (bool, int)):
        return json.dumps(key)
    [name] = _known_to_pydantic({key: None})
    return str(name)


def _sorted(values: set[Any] | frozenset[Any]) -> list[Any]:
    try:
        return sorted(values)
    except TypeError:
        return sorted(values, key=str)


def _known_to_pydantic(value: Any) -> Any:
    try:
        from pydantic_core import to_jsonable_python
    except ImportError:
        raise NoResult(f"converting a result of type {type(value).__name__} requires pydantic: {_INSTALL}") from None
    return to_jsonable_python(value, fallback=_unknown)


def _unknown(value: object) -> Any:
    return _json_of(value) if isinstance(value, (range, Mapping, MappingView)) else _checked_str(value)


def _checked_str(value: object) -> str:
    text = str(value)
    if _ADDRESS.search(text):
        raise NoResult(f"{_returned(value)}, which is neither text nor JSON")
    return text


def _returned(value: object) -> str:
    return f"the tool returned a value of the type {type(value).__name__}"


def without_addresses(text: str) -> str:
    """Return the text without memory addresses."""
    return _ADDRESS.sub("", text)


def sendable(text: str) -> str:
    """Return the text without halves of surrogate pairs, which a request cannot contain."""
    return text.encode("utf-8", "replace").decode("utf-8")
