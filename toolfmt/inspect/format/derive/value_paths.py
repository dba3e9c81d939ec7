"""Find JSON, or Python's repr of it, in a string: the value that contains given words, and the path to one.

Costs are bounded: only a limited number of brackets is tried, and only short strings are parsed as Python.
"""

from __future__ import annotations

import ast
import json
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

_MOST_TRIES = 64
_LONGEST_PYTHON = 4000
_DEEPEST = 64
_DECODER = json.JSONDecoder()

Path: TypeAlias = tuple[str | int, ...]


@dataclass(frozen=True)
class LocatedValue:
    """A value, and its start and end in the text."""

    value: Any
    begin: int
    end: int


@dataclass(frozen=True)
class Place:
    """The path to a value: keys and indexes.

    `is_key`: the word itself is the key. `in_string`: the value is JSON in a string.
    """

    path: Path
    is_key: bool = False
    in_string: bool = False

    @property
    def keys(self) -> list[str]:
        return [step for step in self.path if isinstance(step, str)]


def decode(text: str, at: int) -> LocatedValue | None:
    """Return the value that starts at this offset, or None."""
    try:
        value, end = _DECODER.raw_decode(text, at)
    except (ValueError, RecursionError):
        return _as_python(text, at)
    return LocatedValue(value, at, end)


def _as_python(text: str, at: int) -> LocatedValue | None:
    """Return the value at this offset if it is Python's repr: quotes of either kind, and Python's literals."""
    end = _bracket_end(text, at)
    if end is None:
        return None
    try:
        with warnings.catch_warnings(action="ignore"):  # about invalid escapes
            return LocatedValue(ast.literal_eval(text[at:end]), at, end)
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        return None


def _bracket_end(text: str, at: int) -> int | None:
    """Return the end of the bracket that opens at this offset, skipping quoted strings."""
    depth, quote, escaped = 0, "", False
    for position in range(at, min(len(text), at + _LONGEST_PYTHON)):
        character = text[position]
        if escaped:
            escaped = False
        elif quote:
            escaped = character == "\\"
            quote = "" if character == quote else quote
        elif character in "\"'":
            quote = character
        elif character in "{[(":
            depth += 1
            if depth > _DEEPEST:
                return None
        elif character in ")]}":
            depth -= 1
            if depth == 0:
                return position + 1
    return None


def enclosing(text: str, words: Sequence[str]) -> LocatedValue | None:
    """Return the outermost value that starts before the first of the words and contains all of them."""
    tries, at = 0, 0
    first = text.find(words[0])
    while tries < _MOST_TRIES and (at := _next_bracket(text, at, first)) >= 0:
        found = decode(text, at)
        if found is not None and all(word in _dumped(found.value) for word in words):
            return found
        tries, at = tries + 1, at + 1
    return None


def _next_bracket(text: str, begin: int, end: int) -> int:
    if end < 0:
        return -1
    places = [place for place in (text.find(bracket, begin, end) for bracket in "{[") if place >= 0]
    return min(places, default=-1)


def _dumped(value: Any) -> str:
    try:
        return json.dumps(value, ensure_ascii=False)
    except (TypeError, ValueError, RecursionError):
        return ""


def find_object(text: str, expected: Mapping[str, Any], begin: int = 0) -> LocatedValue | None:
    """Return the first occurrence of exactly this object, from `begin` on."""
    at = begin - 1
    for _ in range(_MOST_TRIES):
        at = text.find("{", at + 1)
        found = decode(text, at) if at >= 0 else None
        if at < 0 or (found is not None and found.value == expected):
            return found
    return None


def place_of(value: Any, expected: Any, path: Path = ()) -> Place | None:
    """Return the path to an equal value, or to an equal key."""
    if value == expected:
        return Place(path)
    if isinstance(value, str) and isinstance(expected, dict) and _loaded(value) == expected:
        return Place(path, in_string=True)
    if len(path) >= _DEEPEST:
        return None
    if isinstance(value, dict):
        if isinstance(expected, str) and expected in value:
            return Place(path, is_key=True)
        inner = list(value.items())
    else:
        inner = list(enumerate(value)) if isinstance(value, list) else []
    found = (place_of(member, expected, (*path, step)) for step, member in inner)
    return next((place for place in found if place is not None), None)


def _loaded(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None
