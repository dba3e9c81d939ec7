"""A key that appears twice in one object: the JSON of a call never has it twice.

The first value has usually been emitted when the second one arrives, so the second one is parsed without emitting it.
If both are equal, the second one is dropped, with the tolerance `duplicate_key`. If not, the call is rejected, because
it is not known which value the model intended.
"""

from __future__ import annotations

import json
import re
from typing import Any, Protocol

from toolfmt.formats.scanner.scanner import Malformed
from toolfmt.formats.tolerances import EXPECTED
from toolfmt.messages.events import RejectionReason
from toolfmt.messages.rejections import named

_MOST_REPEATED = 16
"""Maximum number of repeated keys in one call. Each costs as much as the arguments before it are long."""

_EXPECTED = EXPECTED["duplicate_key"]
_BRACKETS = re.compile(r'"(?>(?:[^"\\]|\\.)*)"|([{\[]|[}\]])')
_CLOSING = {"{": "}", "[": "]"}


class Emitter(Protocol):
    """Receives JSON text, and knows what it has received."""

    def so_far(self) -> str | None:
        """Return the JSON text so far; None if it is not emitted, because the call is rejected."""

    def record_tolerance(self, name: str, at: int | None = None) -> None: ...
    def mark_rejected(
        self, reason: RejectionReason, expected: str, at: int | None = None, *, problem: str = ""
    ) -> None: ...


def one_more_repeated(count: int) -> int:
    """Return the number of repeated keys, including another one. Raises `Malformed` if there are too many."""
    if count == _MOST_REPEATED:
        raise Malformed("invalid_arguments", _EXPECTED)
    return count + 1


def compare_repeated(emitter: Emitter, key: str, value: str, at: int) -> None:
    """Compare the second value of a key in the innermost open object with the first one.

    Args:
        emitter: Has received the object up to the value before the repeated key.
        key: The repeated key.
        value: Its second value, as JSON text.
        at: The offset of the repeated key.
    """
    so_far = emitter.so_far()
    if so_far is None:
        return
    if _parsed(value) == _innermost_object(so_far).get(key):
        emitter.record_tolerance("duplicate_key", at)
    else:
        problem = f"the key {named(key)} has two different values"
        emitter.mark_rejected("invalid_arguments", _EXPECTED, at, problem=problem)


def _innermost_object(text: str) -> dict[str, Any]:
    """Return the innermost open object of a JSON text that ends after one of its values."""
    closing: list[str] = []
    for found in _BRACKETS.finditer(text):
        if found[1] in _CLOSING:
            closing.append(_CLOSING[found[1]])
        elif found[1]:
            closing.pop()
    inner = _parsed(text + "".join(reversed(closing)))
    for _ in closing[1:]:
        inner = list(inner.values())[-1] if isinstance(inner, dict) else inner[-1]
    assert isinstance(inner, dict)
    return inner


def _parsed(text: str) -> Any:
    """Return JSON text as a value. A number is its text in a tuple, so `1` equals neither `1.0` nor `true`."""
    return json.loads(text, parse_int=_number, parse_float=_number)


def _number(text: str) -> tuple[str]:
    return (text,)
