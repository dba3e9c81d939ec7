"""How families write values: parameters of the engines, as data that can be compared, hashed and pickled.

A writer of single values (`CallExpression.written`) makes the text of a JSON value, quotes and all. A writer of texts
(`Tagged.write_value`) makes what stands between two tags, and is told the types that the tool's schema allows.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, Protocol

from toolfmt.formats.values.schema_types import STRING, Types, raw_text

_PLAIN_KEY = re.compile(r"[\w .$@/+-]+")
"""A key that needs no marks around it, if no blank is at either end."""


class ValueWriter(Protocol):
    """Writes a single value."""

    def __call__(self, value: Any) -> str: ...


class TextWriter(Protocol):
    """Writes what stands between two tags, by the types that the schema allows."""

    def __call__(self, value: Any, types: Types) -> str: ...


# --- single values


@dataclass(frozen=True)
class JsonValues:
    """JSON, as `json.dumps` and the templates' `tojson` write it."""

    def __call__(self, value: Any) -> str:
        return json.dumps(value, ensure_ascii=False)


@dataclass(frozen=True)
class QuotedJsonValues:
    """Every value in JSON's quotes, as attributes want it: a string as JSON writes it, any other as a string that holds
    its JSON."""

    def __call__(self, value: Any) -> str:
        text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
        return json.dumps(text, ensure_ascii=False)


@dataclass(frozen=True)
class PythonValues:
    """Python's notation, its strings in double quotes."""

    def __call__(self, value: Any) -> str:
        return _as_python(value, _double_quoted)


@dataclass(frozen=True)
class ReprValues:
    """As Python's `repr` writes values: strings in single quotes, but where they hold one and no double quote."""

    def __call__(self, value: Any) -> str:
        return repr(value)


@dataclass(frozen=True)
class PythonBesideJson:
    """Python's notation with strings in single quotes, but an object that is the whole value as JSON: as the LFM2.5
    templates write them."""

    def __call__(self, value: Any) -> str:
        return json.dumps(value, ensure_ascii=False) if isinstance(value, dict) else _as_python(value, _single_quoted)


@dataclass(frozen=True)
class MarkedValues:
    """Gemma's notation: strings verbatim between two of `mark`, lists and objects around them, keys in alphabetical
    order.

    `null` is how null is written. The keys of an inner object stand `bare`, or are `marked` where they hold a sign that
    none without marks has.
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
    """A value in Python's notation; `string` quotes."""
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
    """A string as it is, any other value as JSON; without a schema a string that looks like JSON in quotes."""

    def __call__(self, value: Any, types: Types) -> str:
        return raw_text(value, types)


@dataclass(frozen=True)
class TextBesideType:
    """A string as it is, any other value as JSON: of families whose tags tell whether the text is the string."""

    def __call__(self, value: Any, types: Types) -> str:
        return raw_text(value, STRING)


@dataclass(frozen=True)
class TextInMarks:
    """As `TextByType`, but a string that holds `<`, `&` or a line end, or would be taken for JSON without a schema,
    stands between `opener` and `closer` (CDATA), which are the engine's `cdata` too."""

    opener: str
    closer: str

    def __call__(self, value: Any, types: Types) -> str:
        raw = raw_text(value, types)
        if isinstance(value, str) and (raw != value or any(sign in value for sign in "<&\n")):
            return self.opener + value + self.closer
        return raw


TEXT_BY_TYPE = TextByType()
