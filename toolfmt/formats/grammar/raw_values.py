"""Verbatim values between tags as nodes. Their types are inferred from the schema as in parsing."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from toolfmt.formats.grammar.schemas import KINDS, NotConstrained, Schema, Schemas, same
from toolfmt.formats.grammar.string_patterns import in_class, string_pattern
from toolfmt.formats.values.nodes import JsonValue, Node, Pattern, RawText, Text, either, row
from toolfmt.formats.values.schema_types import Types, is_string, type_of, typed

MARKERS_IN_TEXTS = "markers-in-texts"
"""Verbatim strings contain no marker of the format."""
_LISTED_VALUES = "listed-values"
"""Some values of an enum are left out, because parsing would infer another type."""
_SAMPLES = {
    "string": "s", "integer": 1, "number": 1.5, "boolean": True, "null": None, "array": [1], "object": {"a": 1},
}  # fmt: skip
"""A value of each type, for tags that contain the type."""
_FIRST_CHARACTERS = {
    "object": "{", "array": r"\[", "number": r"\-0-9", "integer": r"\-0-9", "boolean": "tTfF", "null": "nN",
}  # fmt: skip
"""The first characters of values of each type except string, as the inside of a character class."""


_FIRST_OF_LITERALS = r"{\[\-0-9tfn" + chr(34)
"""The first characters of JSON values, as the inside of a character class."""


@dataclass(frozen=True)
class RawValues:
    """The values of one argument between its tags.

    `end` is the end marker of a value. No string contains a text of `never`.
    """

    schemas: Schemas
    types: Types
    """The types that the parser allows for the argument."""
    end: str
    never: tuple[str, ...]
    has_type: bool
    """Whether the start tag contains the type, so that the parser does not infer it from the text."""
    strips_newlines: bool = False
    """Whether the parser strips newlines around a verbatim string although the writer adds none."""
    narrower: set[str] = field(default_factory=set)
    """The names of what the grammar leaves out are added here."""

    def nodes(self, schema: Any, write: Callable[[Any, Types], str]) -> Iterator[tuple[Any, Node]]:
        """Yield a sample value of each kind, and the node of all values of that kind with their end marker.

        The sample is for the start tag. `write` writes a listed value.
        """
        parts = self.schemas.alternatives(schema)
        for part in parts:
            values = self.schemas.values(part)
            if values is not None:
                for value, text in self.round_tripping(values, write):
                    yield value, Text(text + self.end)
                continue
            kinds = self.schemas.kinds(part)
            if kinds is None and not self.has_type:
                yield "s", RawText(self.end, self.never)
                continue
            for kind in self.recognized(kinds) if kinds else [kind for kind in KINDS if kind != "integer"]:
                flat = self.schemas.of_kind(part, kind)
                if kind == "string":
                    yield "s", self.string(flat, parts)
                else:
                    yield _SAMPLES[kind], row(JsonValue(self.schemas.standalone(flat)), self.end)

    def round_tripping(self, values: Sequence[Any], write: Callable[[Any, Types], str]) -> list[tuple[Any, str]]:
        """Return the listed values that are parsed as they were written, each with its text.

        Left out are strings that look like a value of another type, or contain a marker. Also left out are other values
        that the parser, which only knows the types, parses as strings. Raises `NotConstrained` if none remains.
        """
        written = [(value, write(value, self.types)) for value in values]
        plain = [(value, text) for value, text in written if text != value or self._is_plain(text)]
        if len(plain) < len(written):
            self.narrower.add(MARKERS_IN_TEXTS)
        round_tripping = [(value, text) for value, text in plain if self.has_type or self._is_read(value, text)]
        if not round_tripping:
            raise NotConstrained("its values would be parsed as " + ("another type" if plain else "other values"))
        if len(round_tripping) < len(plain):
            self.narrower.add(_LISTED_VALUES)
        return round_tripping

    def _is_plain(self, text: str) -> bool:
        """Whether a string is parsed as it is between its tags."""
        if self.strips_newlines and text != text.strip("\r\n"):
            return False
        return not any(mark in text for mark in self.never)

    def _is_read(self, value: Any, text: str) -> bool:
        if isinstance(value, str):
            return is_string(value, self.types)
        found = typed(text, self.types)
        return found is not None and same(json.loads(found), value)

    def recognized(self, kinds: Sequence[str]) -> list[str]:
        """Return the types that the parser can infer from a text. Raises `NotConstrained` if there are none."""
        found = [kind for kind in kinds if self.has_type or self.types is None or self._is_recognized(kind, self.types)]
        if not found:
            raise NotConstrained("its values would be parsed as another type")
        return found

    @staticmethod
    def _is_recognized(kind: str, types: frozenset[str]) -> bool:
        """Whether a text of this type is parsed as this type.

        If `types` includes strings, a text of a type that it does not include is parsed as a string. If it does not, no
        text is parsed as a string.
        """
        known = kind in types or (kind == "integer" and "number" in types)
        return known or (kind != "string" and "string" not in types)

    def string(self, flat: Schema, alternatives: Sequence[Schema]) -> Node:
        """Return the strings of a flat schema, which is one of `alternatives`."""
        least, most = flat.get("minLength", 0), flat.get("maxLength")
        never = (*self.never, "\n") if least and self.strips_newlines else self.never
        first_excluded = self._excluded_first(alternatives)
        if "pattern" in flat:
            if first_excluded or least or most is not None:
                raise NotConstrained("it has a pattern together with a length or another limited type")
            excluded = "".join(text[0] for text in (self.end, *self.never))
            return row(Pattern(string_pattern(flat["pattern"], lambda char: char not in excluded)), self.end)
        if not first_excluded:
            return RawText(self.end, never, least, most)
        marks = "".join(dict.fromkeys(text[0] for text in (self.end, *self.never)))
        first = Pattern(f"[^ \t\r\n{''.join(map(in_class, marks))}{first_excluded}]")
        if most == 0:
            return Text(self.end)
        rest = row(first, RawText(self.end, never, max(least - 1, 0), None if most is None else most - 1))
        return rest if least else either(Text(self.end), rest)

    def _excluded_first(self, alternatives: Sequence[Schema]) -> str:
        """Return the characters that no string may begin with, as the inside of a character class.

        The parser treats a text that is a literal of another type as that type. If the schema does not allow all values
        of that type, such a text could be an invalid value.
        """
        if self.has_type:
            return ""
        if self.types is None:
            return _FIRST_OF_LITERALS
        limited = set[str]()
        for part in alternatives:
            kinds = self.schemas.kinds(part) or []
            limited.update(type_of(value) for value in self.schemas.values(part) or [])
            limited.update(kind for kind in kinds if set(self.schemas.of_kind(part, kind)) - {"type"})
        names = sorted(limited & self.types)
        return "".join(dict.fromkeys(_FIRST_CHARACTERS[kind] for kind in names if kind in _FIRST_CHARACTERS))
