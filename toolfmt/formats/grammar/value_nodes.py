"""Values with a schema as nodes, in the syntax of a format: JSON, Python, Gemma's.

An engine has no description of how it writes values, only a writer. So the writer is called with sample values, and the
delimiters are read from its output. The text that the writer returns for a listed value becomes a node as it is.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from toolfmt.formats.grammar.number_patterns import NUMBER, bounds, integers, numbers, whole_bounds
from toolfmt.formats.grammar.raw_values import MARKERS_IN_TEXTS
from toolfmt.formats.grammar.schemas import Arguments, NotConstrained, Schema, Schemas, rule_name
from toolfmt.formats.grammar.string_patterns import string_pattern
from toolfmt.formats.values.nodes import (
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
from toolfmt.formats.values.value_writers import JsonValues, ValueWriter

_PROBES = ("S", "S'", 'S"')
_BARE_KEY_PATTERN = "[A-Za-z_][A-Za-z0-9_]*"
_BARE_KEY = re.compile(r"\w[\w.-]*")
"""Keys of an object that may be written without quotes."""
_ESCAPED = "\"'\\"
PLAIN_KEYS = "plain-keys"
"""Undeclared keys without quotes must match `[A-Za-z_][A-Za-z0-9_]*`."""


@dataclass(frozen=True)
class StringSyntax:
    """The start and end delimiter of a string, and whether it is escaped inside. Otherwise it is verbatim."""

    start: str
    end: str
    escaped: bool


@dataclass(frozen=True)
class ValueSyntax:
    """How a format writes values."""

    strings: tuple[StringSyntax, ...]
    true: str
    false: str
    null: str
    list_delimiters: tuple[str, str, str]
    """Start, separator and end of a list."""
    object_delimiters: tuple[str, str, str, str]
    """Start, delimiter between key and value, separator and end of an object."""
    key_quote: str
    """The quote around the keys of an object. Empty if they are not quoted."""
    objects_are_json: bool
    """Whether an object that is a whole value is written as JSON although other values are not."""


def value_syntax_of(write: ValueWriter) -> ValueSyntax:
    """Return the syntax of a writer of single values, inferred from how it writes sample values."""
    strings = dict.fromkeys(_string_syntax(write, probe) for probe in _PROBES)
    listed = write([7, 8])
    members = _inside(write, {"ka": 7, "kb": 8})
    first, second = members.index("ka"), members.index("kb")
    seven, eight = members.index("7"), members.index("8")
    start, assign = members[:first], members[first + 2 : seven]
    separator, end = members[seven + 1 : second], members[eight + 1 :]
    quote = start[-1] if start[-1] in "\"'" else ""
    if quote:
        start, assign, separator = start[:-1], assign[1:], separator[:-1]
    probe = {"k": "S", "b": [True, None, "T"], "n": {"x": 1.5}}
    return ValueSyntax(
        strings=tuple(strings),
        true=write(True),
        false=write(False),
        null=write(None),
        list_delimiters=(listed[: listed.index("7")], listed[listed.index("7") + 1 : listed.index("8")], listed[-1:]),
        object_delimiters=(start, assign, separator, end),
        key_quote=quote,
        objects_are_json=write(probe) == json.dumps(probe) and write([True, "S'"]) != json.dumps([True, "S'"]),
    )


def _strings_in(value: Any) -> Iterator[str]:
    """Yield the strings in a JSON value, except keys."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, (dict, list)):
        for part in value.values() if isinstance(value, dict) else value:
            yield from _strings_in(part)


def _inside(write: ValueWriter, value: Any) -> str:
    """Return the text of a value inside a list."""
    of_seven = write([7])
    start = of_seven.index("7")
    return write([value])[start : len(write([value])) - (len(of_seven) - start - 1)]


def _string_syntax(write: ValueWriter, probe: str) -> StringSyntax:
    """Return the syntax in which the writer writes this string."""
    start = write(probe)[: write(probe).index("S")]
    end = write(probe)[-len(start) :] if start else ""
    verbatim = write("S\\\n") == start + "S\\\n" + end
    return StringSyntax(start, end, not verbatim)


json_text = JsonValues()
JSON_SYNTAX = value_syntax_of(json_text)


@dataclass
class ValueNodes:
    """Creates nodes for the values of one schema in one syntax.

    Attributes:
        write: Writes a value.
        schemas: The schema.
        rules: Named rules that the values need are added here.
        prefix: The start of their names.
        syntax: The syntax of `write`.
    """

    write: ValueWriter
    schemas: Schemas
    rules: dict[str, Node]
    prefix: str
    syntax: ValueSyntax
    any_name: str = "any"
    """The name of the rule for any value."""
    never: tuple[str, ...] = ()
    """Texts that no verbatim string contains."""
    narrower: set[str] = field(default_factory=set)
    """The names of what the grammar leaves out are added here."""

    def value(self, schema: Any) -> Node:
        """Return the values that a schema allows. Raises `NotConstrained`."""
        found = rule_name(schema)
        if not found:
            return self._alternatives(schema)
        name = f"{self.prefix}_{found}"
        if name not in self.rules:
            self.rules[name] = EMPTY  # it may contain itself
            self.rules[name] = self._alternatives(schema)
        return Rule(name)

    def _alternatives(self, schema: Any) -> Node:
        return either(*(node for part in self.schemas.alternatives(schema) for node in self._part(part)))

    def _part(self, flat: Schema) -> Iterator[Node]:
        values = self.schemas.values(flat)
        if values is not None:
            plain = [value for value in values if not any(map(self._contains_marker, _strings_in(value)))]
            if len(plain) < len(values):
                self.narrower.add(MARKERS_IN_TEXTS)
            if not plain:
                raise NotConstrained("its values would be parsed as other values")
            yield from (Text(self.write(value)) for value in plain)
            if self.syntax.objects_are_json:
                yield from (Text(_inside(self.write, value)) for value in plain)
            return
        kinds = self.schemas.kinds(flat)
        if kinds is None:
            yield self.any_value()
            return
        for kind in kinds:
            yield self._kind(kind, self.schemas.of_kind(flat, kind))

    def _contains_marker(self, text: str) -> bool:
        """Whether a string cannot be written, because it is verbatim and contains its end delimiter."""
        return any(style.end in text for style in self.syntax.strings if not style.escaped)

    def _kind(self, kind: str, flat: Schema) -> Node:
        syntax = self.syntax
        if kind == "boolean":
            return either(syntax.true, syntax.false)
        if kind == "null":
            return Text(syntax.null)
        if kind in ("integer", "number"):
            return number_node(flat, whole=kind == "integer")
        return {"string": self._string, "array": self._list, "object": self._object}[kind](flat)

    def _string(self, flat: Schema) -> Node:
        least, most, pattern = flat.get("minLength", 0), flat.get("maxLength"), flat.get("pattern")
        first = self.syntax.strings[0]
        if pattern is not None:
            if least or most is not None:
                raise NotConstrained("it has both a pattern and a length")
            inside = string_pattern(pattern, lambda char: char not in _ESCAPED + first.end and char >= " ")
            return row(first.start, Pattern(inside), first.end)
        return either(*(self._quoted(style, least, most) for style in self.syntax.strings))

    def _quoted(self, style: StringSyntax, least: int = 0, most: int | None = None) -> Node:
        if style.escaped:
            return row(style.start, QuotedText(style.end, least, most))
        return row(style.start, RawText(style.end, self.never, least, most))

    def _list(self, flat: Schema) -> Node:
        start, separator, end = self.syntax.list_delimiters
        if "prefixItems" in flat:
            raise NotConstrained("the keyword 'prefixItems' is not supported in grammars")
        least, most = flat.get("minItems", 0), flat.get("maxItems")
        if flat.get("uniqueItems") and (most is None or most > 1):
            raise NotConstrained("the keyword 'uniqueItems' is not supported in grammars")
        if most == 0:
            return Text(start + end)
        try:
            item = self.value(flat.get("items", True))
        except NotConstrained as error:
            raise error.within("[]") from None
        items = Repeated(item, Text(separator), max(least, 1), most)
        return row(start, items if least else maybe(items), end)

    def _object(self, flat: Schema) -> Node:
        written = self._members(flat)
        if not self.syntax.objects_are_json:
            return written
        return either(JsonValue(self.schemas.standalone({**flat, "type": "object"})), written)

    def _members(self, flat: Schema) -> Node:
        start, assign, separator, end = self.syntax.object_delimiters
        shape = self.schemas.object_shape(flat)
        if shape.free:
            inner = flat.get("additionalProperties", True)
            pair = row(self._any_key(), assign, self.value(inner))
            return row(start, maybe(Repeated(pair, Text(separator))), end)
        return row(
            start, members(shape, lambda key, part: row(self.key(key), assign, self.value(part)), separator), end
        )

    def key(self, key: str) -> str:
        """Return a key of an object as the format writes it. Raises `NotConstrained` if it would have to be quoted."""
        start, assign, _, _ = self.syntax.object_delimiters
        text = _inside(self.write, {key: 7})
        written = text[len(start) : text.rindex(assign + "7")]
        if written == key and not _BARE_KEY.fullmatch(key):
            raise NotConstrained(f"the format cannot represent the key {key!r}")
        return written

    def _any_key(self) -> Node:
        if quote := self.syntax.key_quote:
            return row(quote, QuotedText(quote))
        self.narrower.add(PLAIN_KEYS)
        return Pattern(_BARE_KEY_PATTERN)

    def any_value(self) -> Node:
        """Return the rule for any value."""
        name = self.any_name
        if name not in self.rules:
            self.rules[name] = EMPTY
            syntax, any_rule = self.syntax, Rule(name)
            start, separator, end = syntax.list_delimiters
            object_start, assign, object_separator, object_end = syntax.object_delimiters
            pairs = maybe(Repeated(row(self._any_key(), assign, any_rule), Text(object_separator)))
            self.rules[name] = either(
                *map(self._quoted, syntax.strings),
                Pattern(NUMBER),
                syntax.true,
                syntax.false,
                syntax.null,
                row(start, maybe(Repeated(any_rule, Text(separator))), end),
                row(object_start, pairs, object_end),
                *([JsonValue('{"type": "object"}')] if syntax.objects_are_json else []),
            )
        return Rule(name)


@dataclass
class QuotedValueNodes(ValueNodes):
    """Values that are all written as JSON in quotes.

    A list or an object has its quotes escaped, and quotes inside of its strings twice. No grammar enforces that, so
    both raise `NotConstrained`.
    """

    def _kind(self, kind: str, flat: Schema) -> Node:
        if kind in ("array", "object"):
            raise NotConstrained("the format writes lists and objects as JSON in quotes")
        node = super()._kind(kind, flat)
        return node if kind == "string" else row('"', node, '"')

    def any_value(self) -> Node:
        """Return any value except lists and objects."""
        literals = either(Pattern(NUMBER), self.syntax.true, self.syntax.false, self.syntax.null)
        return either(*map(self._quoted, self.syntax.strings), row('"', literals, '"'))


def number_node(flat: Schema, *, whole: bool) -> Node:
    """Return the numbers of a flat schema that only allows numbers; `whole` means integers."""
    if "multipleOf" in flat and not (whole and flat["multipleOf"] == 1):
        raise NotConstrained("the keyword 'multipleOf' is not supported in grammars")
    if any(isinstance(flat.get(key), bool) for key in ("exclusiveMinimum", "exclusiveMaximum")):
        raise NotConstrained("'exclusiveMinimum' and 'exclusiveMaximum' must be numbers since draft 6")
    pattern = integers(*whole_bounds(flat)) if whole else numbers(*bounds(flat))
    if not pattern:
        raise NotConstrained("no number is within its bounds")
    return Pattern(f"({pattern})" if "|" in pattern else pattern)


def members(shape: Arguments, member: Callable[[str, Any], Node], separator: str = "") -> Node:
    """Return the arguments in any order; the required ones must be present.

    Args:
        shape: The arguments.
        member: Returns the node of one argument, with its key, for a schema.
        separator: The text between two arguments.
    """
    items = []
    for key, schema in shape.properties.items():
        try:
            items.append(Member(member(key, schema), key in shape.required))
        except NotConstrained as error:
            raise error.within(key) from None
    return Members(tuple(items), Text(separator)) if items else EMPTY
