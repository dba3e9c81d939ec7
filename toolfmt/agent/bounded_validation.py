"""A jsonschema validator that stops after too many steps.

The cost of nested alternatives doubles with every level, and jsonschema compares list items in pairs. A step is an
evaluated keyword of the schema, or a thousand characters of the value that it is applied to (an error contains that
value). Counting steps makes the limit independent of time.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any

MOST_STEPS = 100_000
"""About two seconds on a slow machine (November 2026), or a list of 15,000 small objects."""
_LETTERS_A_STEP = 1000
_budget: ContextVar[_Budget] = ContextVar("what judging may cost")


class TooManySteps(Exception):
    """Validating the value would take too long."""


@dataclass
class _Budget:
    left: int
    sizes: dict[int, int] = field(default_factory=dict)
    """The number of characters of the lists and objects in the value, by their ids."""

    def measure(self, value: object) -> int:
        inside: Iterable[object] = ()
        if isinstance(value, dict):
            inside = (*value, *value.values())
        elif isinstance(value, list):
            inside = value
        else:
            return len(value) if isinstance(value, str) else 1
        size = self.sizes[id(value)] = 2 + sum(self.measure(part) for part in inside)
        return size

    def take(self, value: object) -> None:
        size = len(value) if isinstance(value, str) else self.sizes.get(id(value), 0)
        self.left -= 1 + size // _LETTERS_A_STEP
        if self.left < 0:
            raise TooManySteps


@contextmanager
def steps(value: object, most: int = MOST_STEPS) -> Iterator[None]:
    """Limit the validation of this value to this many steps; after that, `bounded` classes raise `TooManySteps`."""
    budget = _Budget(most)
    budget.measure(value)
    token = _budget.set(budget)
    try:
        yield
    finally:
        _budget.reset(token)


def bounded(keywords: Mapping[str, Any]) -> dict[str, Any]:
    """Return a validator class for the keywords of a draft (`VALIDATORS` of jsonschema) that counts its steps."""
    counted = {name: _counted(judge) for name, judge in keywords.items()}
    if "uniqueItems" in keywords:
        counted["uniqueItems"] = _counted(_unique_items)
    return counted


def _counted(judge: Callable[..., Any]) -> Callable[..., Any]:
    # Not a generator: one more frame per keyword would halve the possible depth of a value.
    def judging(validator: Any, value: Any, instance: Any, schema: Any) -> Any:
        _budget.get().take(instance)
        return judge(validator, value, instance, schema)

    return judging


def _unique_items(validator: Any, unique: Any, instance: Any, schema: Any) -> Iterator[Any]:
    """Like jsonschema's own check, which compares items of several types in pairs."""
    from jsonschema.exceptions import ValidationError

    if unique and validator.is_type(instance, "array"):
        known = {json.dumps(_plain(item), sort_keys=True) for item in instance}
        if len(known) < len(instance):
            yield ValidationError(f"{instance!r} has non-unique elements")


def _plain(value: Any) -> Any:
    """Return a canonical form of a value that is the same for all equal JSON values: 1.0 equals 1, but not true."""
    if isinstance(value, list):
        return [_plain(item) for item in value]
    if isinstance(value, dict):
        return {name: _plain(item) for name, item in value.items()}
    return int(value) if isinstance(value, float) and value.is_integer() else value
