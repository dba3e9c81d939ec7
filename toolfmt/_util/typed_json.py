"""Convert data classes to bytes and back, with checks for untrusted input.

`packed` writes, `unpacked` reads. The bytes are JSON: a data class is an object of its fields. `unpacked` builds
exactly the requested type and checks every value against its annotation, so the result's types are reliable. Unlike a
pickle, JSON has no shared references and allocates little beyond its own length (about thirty times as much, for empty
lists). So a short input cannot become a large value.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import fields, is_dataclass
from functools import cache
from types import UnionType
from typing import Any, Literal, TypeAlias, TypeVar, Union, get_args, get_origin, get_type_hints

_Reader: TypeAlias = Callable[[Any], Any]
_T = TypeVar("_T")


class UnreadableJson(Exception):
    """Bytes do not contain the requested value."""


def packed(value: Any) -> bytes:
    """Return the value, of data classes, tuples and plain JSON types, as bytes."""
    return json.dumps(_plain(value), ensure_ascii=False, separators=(",", ":")).encode("utf-8", "surrogatepass")


def unpacked(data: bytes, kind: type[_T]) -> _T:
    """Return the value of this type. Raises `UnreadableJson` if the bytes do not contain one."""
    expected: Any = kind
    try:
        value: _T = _reader(expected)(json.loads(data.decode("utf-8", "surrogatepass")))
    except (ValueError, RecursionError, MemoryError) as error:
        raise UnreadableJson(f"{type(error).__name__}: {error}") from None
    return value


def _plain(value: Any) -> Any:
    if value is None or isinstance(value, (str, int, float)):
        return value
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    return {name: _plain(getattr(value, name)) for name in _names(value.__class__)}


@cache
def _names(kind: Any) -> tuple[str, ...]:
    return tuple(field.name for field in fields(kind))


@cache
def _reader(kind: Any) -> _Reader:
    """Return a function that builds a value of this type from JSON. It raises `UnreadableJson` for an invalid one."""
    origin, inside = get_origin(kind), get_args(kind)
    if kind is Any:
        return lambda value: value
    if is_dataclass(kind):
        return _of_fields(kind)
    if origin is Literal:
        return _one_of(inside)
    if origin in (Union, UnionType):
        return _any_of([_reader(choice) for choice in inside])
    if origin is tuple and inside[-1] is not Ellipsis:
        return _in_places([_reader(item) for item in inside])
    if origin in (tuple, list):
        return _repeated(_reader(inside[0]), origin)
    if origin is dict:
        return _by_name(_reader(inside[1]))
    return _exactly(kind)


def _exactly(kind: type) -> _Reader:
    # An integer in JSON is also a valid float, but true is not a number.
    accepted = (int, float) if kind is float else (kind,)

    def read(value: Any) -> Any:
        return value if type(value) in accepted else _reject(value, kind.__name__)

    return read


def _one_of(choices: tuple[Any, ...]) -> _Reader:
    def read(value: Any) -> Any:
        return value if isinstance(value, str) and value in choices else _reject(value, "one of a few words")

    return read


def _any_of(choices: list[_Reader]) -> _Reader:
    def read(value: Any) -> Any:
        for choice in choices:
            try:
                return choice(value)
            except UnreadableJson:
                continue
        return _reject(value, "any of several types")

    return read


def _in_places(items: list[_Reader]) -> _Reader:
    def read(value: Any) -> Any:
        if not isinstance(value, list) or len(value) != len(items):
            _reject(value, f"{len(items)} values")
        return tuple(item(one) for item, one in zip(items, value, strict=True))

    return read


def _of_fields(kind: Any) -> _Reader:
    hints, names = get_type_hints(kind), _names(kind)

    def read(value: Any) -> Any:
        if not isinstance(value, dict) or value.keys() != set(names):
            _reject(value, f"{kind.__name__} with its fields")
        # A field may have the class itself as its type, so its reader is created on first use.
        return kind(**{name: _reader(hints[name])(value[name]) for name in names})

    return read


def _repeated(item: _Reader, make: Callable[[list[Any]], Any]) -> _Reader:
    def read(value: Any) -> Any:
        return make([item(one) for one in value]) if isinstance(value, list) else _reject(value, "a list")

    return read


def _by_name(item: _Reader) -> _Reader:
    def read(value: Any) -> Any:
        return (
            {name: item(one) for name, one in value.items()} if isinstance(value, dict) else _reject(value, "an object")
        )

    return read


def _reject(value: Any, expected: str) -> Any:
    raise UnreadableJson(f"{type(value).__name__} where {expected} should be")
