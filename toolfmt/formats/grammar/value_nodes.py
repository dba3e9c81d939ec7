"""Values under a schema as nodes, in the spelling of a family: JSON's, Python's, Gemma's.

How a family spells values is not told by its engine in so many words: its writer is called. So some values are
written, and what stands around their parts is read off. A text that the writer makes of a listed value is a node as it
stands.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from toolfmt.formats.grammar.nodes import (
    EMPTY,
    JsonValue,
    Member,
    Members,
    Node,
    Pattern,
    QuotedText,
    RawText,
    Repeated,
    Rule,
    Text,
    either,
    maybe,
    row,
)
from toolfmt.formats.grammar.number_patterns import NUMBER, bounds, integers, numbers, whole_bounds
from toolfmt.formats.grammar.schemas import NotConstrained, Schema, Schemas, rule_name
from toolfmt.formats.grammar.string_patterns import string_pattern
from toolfmt.formats.values.value_writers import JsonValues, ValueWriter

_PROBES = ("S", "S'", 'S"')
_BARE_KEY = "[A-Za-z_][A-Za-z0-9_]*"
_BARE = re.compile(r"[A-Za-z_][\w.-]*")
"""Members of an object that may stand without quotes."""
_NOT_AS_ITSELF = "\"'\\"


@dataclass(frozen=True)
class StringSpelling:
    """What opens and closes a string, and whether it is escaped inside; else it is verbatim."""

    opener: str
    closer: str
    escaped: bool


@dataclass(frozen=True)
class Spelling:
    """How a family writes values."""

    strings: tuple[StringSpelling, ...]
    true: str
    false: str
    null: str
    list_signs: tuple[str, str, str]
    """Opener, separator and closer of a list."""
    object_signs: tuple[str, str, str, str]
    """Opener, sign between key and value, separator and closer of an object."""
    key_quote: str
    """What stands around the keys of an object; empty where they stand bare."""
    objects_are_json: bool
    """Whether objects are written as JSON although other values are not."""


def spelling_of(write: ValueWriter) -> Spelling:
    """The spelling of a writer of single values, found out by writing some."""
    strings = dict.fromkeys(_string_spelling(write, probe) for probe in _PROBES)
    listed = write([7, 8])
    members = write({"ka": 7, "kb": 8})
    first, second = members.index("ka"), members.index("kb")
    seven, eight = members.index("7"), members.index("8")
    opener, assign = members[:first], members[first + 2 : seven]
    separator, closer = members[seven + 1 : second], members[eight + 1 :]
    quote = opener[-1] if opener[-1] in "\"'" else ""
    if quote:
        opener, assign, separator = opener[:-1], assign[1:], separator[:-1]
    probe = {"k": "S", "b": [True, None, "T"], "n": {"x": 1.5}}
    return Spelling(
        strings=tuple(strings),
        true=write(True),
        false=write(False),
        null=write(None),
        list_signs=(listed[: listed.index("7")], listed[listed.index("7") + 1 : listed.index("8")], listed[-1:]),
        object_signs=(opener, assign, separator, closer),
        key_quote=quote,
        objects_are_json=write(probe) == json.dumps(probe) and write([True, "S'"]) != json.dumps([True, "S'"]),
    )


def _string_spelling(write: ValueWriter, probe: str) -> StringSpelling:
    opener = write(probe)[: write(probe).index("S")]
    closer = write(probe)[-len(opener) :] if opener else ""
    verbatim = write("S\\\n") == opener + "S\\\n" + closer
    return StringSpelling(opener, closer, not verbatim)


json_text = JsonValues()
JSON_SPELLING = spelling_of(json_text)


@dataclass
class SpelledValues:
    """The values of one schema in one spelling; `rules` takes the named rules that they need, `prefix` begins their
    names."""

    write: ValueWriter
    schemas: Schemas
    rules: dict[str, Node]
    prefix: str
    spelling: Spelling
    any_name: str = "any"
    """The name of the rule for any value."""
    never: tuple[str, ...] = ()
    """What no string holds that stands verbatim."""

    def value(self, schema: Any) -> Node:
        """The values that a schema allows. Raises `NotConstrained`."""
        found = rule_name(schema)
        if not found:
            return self._itself(schema)
        name = f"{self.prefix}_{found}"
        if name not in self.rules:
            self.rules[name] = EMPTY  # it may hold itself
            self.rules[name] = self._itself(schema)
        return Rule(name)

    def _itself(self, schema: Any) -> Node:
        return either(*(node for part in self.schemas.alternatives(schema) for node in self._part(part)))

    def _part(self, flat: Schema) -> Iterator[Node]:
        values = self.schemas.values(flat)
        if values is not None:
            yield from (Text(self.write(value)) for value in values)
            return
        kinds = self.schemas.kinds(flat)
        if kinds is None:
            yield self.anything()
            return
        for kind in kinds:
            yield self._kind(kind, self.schemas.of_kind(flat, kind))

    def _kind(self, kind: str, flat: Schema) -> Node:
        spelling = self.spelling
        if kind == "boolean":
            return either(spelling.true, spelling.false)
        if kind == "null":
            return Text(spelling.null)
        if kind in ("integer", "number"):
            return number_node(flat, whole=kind == "integer")
        return {"string": self._string, "array": self._list, "object": self._object}[kind](flat)

    def _string(self, flat: Schema) -> Node:
        least, most, pattern = flat.get("minLength", 0), flat.get("maxLength"), flat.get("pattern")
        first = self.spelling.strings[0]
        if pattern is not None:
            if least or most is not None:
                raise NotConstrained("it has both a pattern and a length")
            read = string_pattern(pattern, lambda sign: sign not in _NOT_AS_ITSELF + first.closer and sign >= " ")
            return row(first.opener, Pattern(read), first.closer)
        return either(*(self._quoted(style, least, most) for style in self.spelling.strings))

    def _quoted(self, style: StringSpelling, least: int = 0, most: int | None = None) -> Node:
        if style.escaped:
            return row(style.opener, QuotedText(style.closer, least, most))
        return row(style.opener, RawText(style.closer, self.never, least, most))

    def _list(self, flat: Schema) -> Node:
        opener, separator, closer = self.spelling.list_signs
        if "prefixItems" in flat:
            raise NotConstrained("the keyword 'prefixItems' is not supported in grammars")
        least, most = flat.get("minItems", 0), flat.get("maxItems")
        if flat.get("uniqueItems") and (most is None or most > 1):
            raise NotConstrained("the keyword 'uniqueItems' is not supported in grammars")
        if most == 0:
            return Text(opener + closer)
        try:
            item = self.value(flat.get("items", True))
        except NotConstrained as refusal:
            raise refusal.within("[]") from None
        items = Repeated(item, Text(separator), max(least, 1), most)
        return row(opener, items if least else maybe(items), closer)

    def _object(self, flat: Schema) -> Node:
        if self.spelling.objects_are_json:
            return JsonValue(self.schemas.alone({**flat, "type": "object"}))
        opener, assign, separator, closer = self.spelling.object_signs
        shape = self.schemas.object_shape(flat)
        if shape.free:
            inner = flat.get("additionalProperties", True)
            pair = row(self._any_key(), assign, self.value(inner))
            return row(opener, maybe(Repeated(pair, Text(separator))), closer)
        items = []
        for key, part in shape.properties.items():
            try:
                items.append(Member(row(self.key(key), assign, self.value(part)), key in shape.required))
            except NotConstrained as refusal:
                raise refusal.within(key) from None
        return row(opener, Members(tuple(items), Text(separator)) if items else EMPTY, closer)

    def key(self, key: str) -> str:
        """A key of an object as the family writes it."""
        opener, assign, _, _ = self.spelling.object_signs
        written = self.write({key: 7})
        spelt = written[len(opener) : written.rindex(assign + "7")]
        if spelt == key and not _BARE.fullmatch(key):
            raise NotConstrained(f"the format cannot represent the key {key!r}")
        return spelt

    def _any_key(self) -> Node:
        return row(quote, QuotedText(quote)) if (quote := self.spelling.key_quote) else Pattern(_BARE_KEY)

    def anything(self) -> Node:
        """Any value."""
        name = self.any_name
        if name not in self.rules:
            self.rules[name] = EMPTY
            spelling, again = self.spelling, Rule(name)
            opener, separator, closer = spelling.list_signs
            begin, assign, comma, end = spelling.object_signs
            members = maybe(Repeated(row(self._any_key(), assign, again), Text(comma)))
            self.rules[name] = either(
                *map(self._quoted, spelling.strings),
                Pattern(NUMBER),
                spelling.true,
                spelling.false,
                spelling.null,
                row(opener, maybe(Repeated(again, Text(separator))), closer),
                JsonValue('{"type": "object"}') if spelling.objects_are_json else row(begin, members, end),
            )
        return Rule(name)


@dataclass
class QuotedValues(SpelledValues):
    """Values of which every one stands in JSON's quotes: of a list or an object the quotes are escaped, and the quotes
    in those again, which no grammar can hold to."""

    def _kind(self, kind: str, flat: Schema) -> Node:
        if kind in ("array", "object"):
            raise NotConstrained("the format writes lists and objects as JSON in quotes")
        node = super()._kind(kind, flat)
        return node if kind == "string" else row('"', node, '"')

    def anything(self) -> Node:
        """Any value but lists and objects."""
        literals = either(Pattern(NUMBER), self.spelling.true, self.spelling.false, self.spelling.null)
        return either(*map(self._quoted, self.spelling.strings), row('"', literals, '"'))


def number_node(flat: Schema, *, whole: bool) -> Node:
    """The numbers of a flat schema, which is of numbers only."""
    if "multipleOf" in flat and not (whole and flat["multipleOf"] == 1):
        raise NotConstrained("the keyword 'multipleOf' is not supported in grammars")
    if any(isinstance(flat.get(key), bool) for key in ("exclusiveMinimum", "exclusiveMaximum")):
        raise NotConstrained("'exclusiveMinimum' and 'exclusiveMaximum' must be numbers since draft 6")
    pattern = integers(*whole_bounds(flat)) if whole else numbers(*bounds(flat))
    if not pattern:
        raise NotConstrained("no number is within its bounds")
    return Pattern(f"({pattern})" if "|" in pattern else pattern)
