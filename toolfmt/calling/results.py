"""What a tool has returned, as the text that a model is given.

A text is itself, everything else JSON: sets sorted, what pydantic knows (its models, dataclasses, dates, iterators) as
pydantic tells it, the rest by its own `str`. What JSON cannot be made of (a NaN, a list that holds itself) is told by
its `str` as a whole. A value that only says where it lies in memory is no result.
"""

from __future__ import annotations

import json
import re
from typing import Any

_ADDRESS = re.compile(r" ?\bat 0x[0-9a-fA-F]+\b")
_EXTRA = "pip install 'toolfmt[pydantic]'"


class NoResult(TypeError):
    """A tool has returned what cannot be told."""


def told(value: object) -> str:
    """The text of a result. Raises `NoResult` for what is neither text nor JSON, and what the value's own methods
    raise."""
    if isinstance(value, str):
        return sendable(value)
    try:
        text = json.dumps(value, ensure_ascii=False, allow_nan=False, default=_plain)
    except NoResult:
        raise
    except (TypeError, ValueError, RecursionError):
        text = _spoken(value)
    return sendable(text)


def _plain(value: Any) -> Any:
    """What JSON can hold in place of a value."""
    if isinstance(value, (set, frozenset)):
        try:
            return sorted(value)
        except TypeError:
            return sorted(value, key=str)
    try:
        from pydantic_core import to_jsonable_python
    except ImportError:
        raise NoResult(f"to tell a result of the type {type(value).__name__} needs pydantic: {_EXTRA}") from None
    return to_jsonable_python(value, fallback=_spoken)


def _spoken(value: object) -> str:
    text = str(value)
    if _ADDRESS.search(text):
        raise NoResult(f"the tool returned a value of the type {type(value).__name__}, which is neither text nor JSON")
    return text


def without_addresses(text: str) -> str:
    """The text without what it says of places in memory."""
    return _ADDRESS.sub("", text)


def sendable(text: str) -> str:
    """The text without halves of characters, which no request can hold."""
    return text.encode("utf-8", "replace").decode("utf-8")
