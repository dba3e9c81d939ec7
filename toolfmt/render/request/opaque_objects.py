"""Send messages and tools to another process and back. Stand-ins replace objects that are not plain JSON.

`toolfmt.model.jobs` calls it. Of an image or an array, a template sees only the type's name. Of an object that can dump
itself, it sees the dump (`toolfmt.templates.engine.environment.plain`). A `Placeholder` shows the template the same.
The result refers to stand-ins by number, and `given_back` restores the objects.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from toolfmt.templates.engine.environment import plain

_NUMBER = "toolfmt stand-in"
"""The key of an object's number in results, in a dictionary without other keys."""


class Placeholder:
    """Represents an object: `model_dump` returns what a template sees, `str()` the object's own string."""

    def __init__(self, number: int, shown: Any, text: str) -> None:
        self.number, self._shown, self._text = number, shown, text

    def model_dump(self) -> Any:
        return self._shown

    def __str__(self) -> str:
        return self._text


def handed_over(value: Any, objects: list[Any]) -> Any:
    """Return the value with plain types and stand-ins. The replaced objects are appended to `objects`."""
    kind = type(value)
    if value is None or kind in (str, int, float, bool):
        return value
    if isinstance(value, (str, int, float)):
        return plain(value)
    if kind is dict or isinstance(value, Mapping):
        return {handed_over(key, objects): handed_over(inner, objects) for key, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return (list if isinstance(value, list) else tuple)(handed_over(inner, objects) for inner in value)
    objects.append(value)
    return Placeholder(len(objects) - 1, plain(value), str(value))


def numbered(value: Any) -> Any:
    """Return the value with each stand-in replaced by its number, for the way back."""
    if isinstance(value, Placeholder):
        return {_NUMBER: value.number}
    if isinstance(value, dict):
        return {key: numbered(inner) for key, inner in value.items()}
    return [numbered(inner) for inner in value] if isinstance(value, (list, tuple)) else value


def given_back(value: Any, objects: Sequence[Any]) -> Any:
    """Return the value with the numbers replaced by the objects."""
    if not objects:
        return value
    if isinstance(value, dict):
        number = value.get(_NUMBER)
        if len(value) == 1 and type(number) is int and 0 <= number < len(objects):
            return objects[number]
        return {key: given_back(inner, objects) for key, inner in value.items()}
    return [given_back(inner, objects) for inner in value] if isinstance(value, list) else value
