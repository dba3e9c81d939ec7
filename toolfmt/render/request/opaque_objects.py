"""Messages and tools on their way to another process and back: what is no plain JSON stays here, a stand-in goes.

`toolfmt.model.jobs` calls it. A template sees of an image or an array no more than its type's name, and of an object
that tells itself what it tells (`toolfmt.templates.engine.environment.plain`): a `StandIn` shows it the same. What
comes back names the stand-ins by their numbers, and `given_back` puts the objects there again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from toolfmt.templates.engine.environment import plain

_NUMBER = "toolfmt stand-in"
"""The key under which what comes back has the number of an object, alone in its dictionary."""


class StandIn:
    """Stands for an object: `model_dump` is what a template is shown of it, its text the object's own."""

    def __init__(self, number: int, shown: Any, text: str) -> None:
        self.number, self._shown, self._text = number, shown, text

    def model_dump(self) -> Any:
        return self._shown

    def __str__(self) -> str:
        return self._text


def handed_over(value: Any, objects: list[Any]) -> Any:
    """The value of plain types and stand-ins; the objects that these stand for are added to `objects`."""
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
    return StandIn(len(objects) - 1, plain(value), str(value))


def numbered(value: Any) -> Any:
    """The value with the number of each stand-in in its place, for the way back."""
    if isinstance(value, StandIn):
        return {_NUMBER: value.number}
    if isinstance(value, dict):
        return {key: numbered(inner) for key, inner in value.items()}
    return [numbered(inner) for inner in value] if isinstance(value, (list, tuple)) else value


def given_back(value: Any, objects: Sequence[Any]) -> Any:
    """The value with the objects in the places of their numbers."""
    if not objects:
        return value
    if isinstance(value, dict):
        number = value.get(_NUMBER)
        if len(value) == 1 and type(number) is int and 0 <= number < len(objects):
            return objects[number]
        return {key: given_back(inner, objects) for key, inner in value.items()}
    return [given_back(inner, objects) for inner in value] if isinstance(value, list) else value
