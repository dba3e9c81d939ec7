"""How families write values: parameters of the engines, as data that can be compared, hashed and pickled.

A `ValueWriter` (`CallExpression.written`) returns a JSON value as text, including quotes. A `TextWriter`
(`Tagged.write_value`) returns the text between two tags, and also gets the types that the tool's schema allows.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, Protocol

from toolfmt.formats.values.schema_types import STRING, Types, raw_text

_PLAIN_KEY = re.compile(r"[\w .$@/+-]+")
"""A key that needs no markers around it, unless it starts or ends with whitespace."""


class ValueWriter(Protocol):
    """Writes a single value."""

    def __call__(self, value: Any) -> str: ...


class TextWriter(Protocol):
    """Writes the text between two tags, given the types that the schema allows."""

    def __call__(self, value: Any, types: Types) -> str: ...


# --- single values


@dataclass(frozen=True)
class JsonValues:
    """Writes JSON, as `json.dumps` and the `tojson` filter of templates do."""

    def __call__(self, value: Any) -> str:
        return json.dumps(value, ensure_ascii=False)


@dataclass(frozen=True)
class QuotedJsonValues:
    """Writes every value as a JSON string, for attributes. A value that is not a string becomes a string that contains
    its JSON.
    """

    def __call__(self, value: Any) -> str:
        text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
        return json.dumps(text, ensure_ascii=False)


@dataclass(frozen=True)
class PythonValues:
    """Writes Python literals with strings in double quotes."""

    def __call__(self, value: Any) -> str:
        return _as_python(value, _double_quoted)


@dataclass(frozen=True)
class ReprValues:
    """Writes values as Python's `repr`: strings are in single quotes, unless they contain one and no double quote."""

    def __call__(self, value: Any) -> str:
        return repr(value)


@dataclass(frozen=True)
class PythonBesideJson:
    """Writes Python literals with strings in single quotes, but an object that is the whole value as JSON.

    The LFM2.5 templates do this.
    """

    def __call__(self, value: Any) -> str:
        return json.dumps(value, ensure_ascii=False) if isinstance(value, dict) else _as_python(value, _single_quoted)


@dataclass(frozen=True)
class MarkedValues:
    """Writes Gemma's syntax: strings verbatim between two markers, and the keys of objects in alphabetical order.

    Attributes:
        mark: The marker before and after a string.
        null: How null is written.
        keys: How the keys of inner objects are written: always `bare`, or `marked`, which puts markers around a key
            with a character that a bare key cannot have.

    Raises:
        ValueError: An attribute is invalid.
    """

    mark: str
    null: str = "null"
    keys: Literal["bare", "marked"] = "bare"

    def __post_init__(self) -> None:
        if not self.mark.strip():
            raise ValueError("mark: strings need a marker that is more than whitespace")
        if self.keys not in ("bare", "marked"):
            raise ValueError(f"keys: must be 'bare' or 'marked', not {self.keys!r:.80}")

    def __call__(self, value: Any) -> str:
        if isinstance(value, str):
            return self.mark + value + self.mark
        if isinstance(value, dict):
            pairs = sorted(value.items(), key=lambda pair: pair[0].lower())
            return "{" + ",".join(f"{self._key(key)}:{self(inner)}" for key, inner in pairs) + "}"
        if isinstance(value, list):
            return "[" + ",".join(map(self, value)) + "]"
        return self.null if value is None else str(value).lower() if isinstance(value, bool) else str(value)

    def _key(self, key: str) -> str:
        plain = self.keys == "bare" or (key == key.strip() and _PLAIN_KEY.fullmatch(key))
        return key if plain else self.mark + key + self.mark


def _as_python(value: Any, string: Callable[[str], str]) -> str:
    """Return a value as a Python literal. `string` quotes strings."""
    if isinstance(value, str):
        return string(value)
    if isinstance(value, list):
        return "[" + ", ".join(_as_python(inner, string) for inner in value) + "]"
    if isinstance(value, dict):
        pairs = (f"{string(key)}: {_as_python(inner, string)}" for key, inner in value.items())
        return "{" + ", ".join(pairs) + "}"
    return repr(value)


def _double_quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


def _single_quoted(text: str) -> str:
    body = json.dumps(text, ensure_ascii=False)[1:-1].replace('\\"', '"').replace("'", "\\'")
    return f"'{body}'"


# --- between tags


@dataclass(frozen=True)
class TextByType:
    """Writes a string as it is, any other value as JSON. Without a schema, a string that is valid JSON is quoted."""

    def __call__(self, value: Any, types: Types) -> str:
        return raw_text(value, types)


@dataclass(frozen=True)
class TextBesideType:
    """Writes a string as it is, any other value as JSON. For families whose tags declare if the text is a string."""

    def __call__(self, value: Any, types: Types) -> str:
        return raw_text(value, STRING)


@dataclass(frozen=True)
class TextInMarks:
    """Like `TextByType`, but puts some strings between `opener` and `closer` (CDATA).

    These are strings that contain `<`, `&` or a newline, and strings that would be parsed as JSON without a schema. The
    two markers must also be the engine's `cdata`.
    """

    opener: str
    closer: str

    def __call__(self, value: Any, types: Types) -> str:
        raw = raw_text(value, types)
        if isinstance(value, str) and (raw != value or any(character in value for character in "<&\n")):
            return self.opener + value + self.closer
        return raw


TEXT_BY_TYPE = TextByType()
