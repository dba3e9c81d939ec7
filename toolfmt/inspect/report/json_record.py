"""Dataclasses whose fields are the keys of their JSON."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any


@dataclass(frozen=True)
class JsonRecord:
    """A dataclass whose JSON has all fields, by name and in order. Subclasses may override `to_dict`."""

    def to_dict(self) -> dict[str, Any]:
        return {field.name: _as_json(getattr(self, field.name)) for field in fields(self)}


def _as_json(value: Any) -> Any:
    if isinstance(value, JsonRecord):
        return value.to_dict()
    return [_as_json(item) for item in value] if isinstance(value, tuple) else value
