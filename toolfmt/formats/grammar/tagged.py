"""The grammar of tagged calls: raw values between tags, typed by the schema as the reader types them."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from toolfmt.formats.engines.tagged import Tagged
from toolfmt.formats.grammar.constraint import ConstrainedTool, Constraint, members, numbered
from toolfmt.formats.grammar.nodes import EMPTY, JsonValue, Node, Pattern, RawText, Text, either, maybe, row
from toolfmt.formats.grammar.schemas import KINDS, Arguments, NotConstrained, Schema, Schemas, same
from toolfmt.formats.grammar.string_patterns import in_class, string_pattern
from toolfmt.formats.values.schema_types import Types, type_of, typed

_SAMPLES = {
    "string": "s", "integer": 1, "number": 1.5, "boolean": True, "null": None, "array": [1], "object": {"a": 1},
}  # fmt: skip
"""A value of each type, for headers that tell the type."""
_BEGINS = {
    "object": "{", "array": r"\[", "number": r"\-0-9", "integer": r"\-0-9", "boolean": "tTfF", "null": "nN",
}  # fmt: skip
"""With what a text of another type than string begins, as the inside of a class."""


_BEGINS_A_LITERAL = r"{\[\-0-9tfn" + chr(34)


@dataclass(frozen=True)
class RawValues:
    """The values of one argument between tags: `closer` ends them, `never` stands in no text."""

    schemas: Schemas
    types: Types
    """What the reader takes the argument for."""
    closer: str
    never: tuple[str, ...]
    stated: bool
    """Whether the tag tells the type, so that no text is taken for another one."""

    def nodes(self, schema: Any, write: Callable[[Any, Types], str]) -> Iterator[tuple[Any, Node]]:
        """A value of the kind, and the node of all of that kind with their closer. `write` writes a listed value."""
        parts = self.schemas.alternatives(schema)
        for part in parts:
            values = self.schemas.values(part)
            if values is not None:
                for value, text in self.carried(values, write):
                    yield value, Text(text + self.closer)
                continue
            kinds = self.schemas.kinds(part)
            if kinds is None and not self.stated:
                yield "s", RawText(self.closer, self.never)
                continue
            for kind in self.told(kinds) if kinds else [kind for kind in KINDS if kind != "integer"]:
                flat = self.schemas.of_kind(part, kind)
                if kind == "string":
                    yield "s", self.string(flat, parts)
                else:
                    yield _SAMPLES[kind], row(JsonValue(self.schemas.alone(flat)), self.closer)

    def carried(self, values: Sequence[Any], write: Callable[[Any, Types], str]) -> list[tuple[Any, str]]:
        """The listed values that are read as they are written, each with its text: a string is not where it looks like
        another type, and another value is not where the reader, who knows the types alone, takes it for a string."""
        written = [(value, write(value, self.types)) for value in values]
        carried = [(value, text) for value, text in written if self.stated or self._is_read(value, text)]
        if not carried:
            raise NotConstrained("its values would be parsed as another type")
        return carried

    def _is_read(self, value: Any, text: str) -> bool:
        if isinstance(value, str):
            return typed(value, self.types) is None
        found = typed(text, self.types)
        return found is not None and same(json.loads(found), value)

    def told(self, kinds: Sequence[str]) -> list[str]:
        """Those of the types that the reader takes a text for."""
        found = [kind for kind in kinds if self.stated or self.types is None or self._is_told(kind, self.types)]
        if not found:
            raise NotConstrained("its values would be parsed as another type")
        return found

    @staticmethod
    def _is_told(kind: str, types: frozenset[str]) -> bool:
        """Where strings are allowed, a text of a type that the reader does not know of is one; where not, none is."""
        known = kind in types or (kind == "integer" and "number" in types)
        return known or (kind != "string" and "string" not in types)

    def string(self, flat: Schema, beside: Sequence[Schema]) -> Node:
        """The strings of a flat schema, `beside` which the others of a union stand."""
        least, most = flat.get("minLength", 0), flat.get("maxLength")
        begins = self._begins(beside)
        if "pattern" in flat:
            if begins or least or most is not None:
                raise NotConstrained("it has a pattern together with a length or another limited type")
            signs = {text[0] for text in (self.closer, *self.never)}
            return row(Pattern(string_pattern(flat["pattern"], lambda sign: sign not in signs)), self.closer)
        if not begins:
            return RawText(self.closer, self.never, least, most)
        marks = "".join(dict.fromkeys(text[0] for text in (self.closer, *self.never)))
        first = Pattern(f"[^ \t\r\n{''.join(map(in_class, marks))}{begins}]")
        if most == 0:
            return Text(self.closer)
        rest = row(first, RawText(self.closer, self.never, max(least - 1, 0), None if most is None else most - 1))
        return rest if least else either(Text(self.closer), rest)

    def _begins(self, beside: Sequence[Schema]) -> str:
        """With what no string begins, as the inside of a class: the reader takes a text that is a literal of another
        type for that, and what that type allows is not all there is."""
        if self.stated:
            return ""
        if self.types is None:
            return _BEGINS_A_LITERAL
        limited = set[str]()
        for part in beside:
            kinds = self.schemas.kinds(part) or []
            limited.update(type_of(value) for value in self.schemas.values(part) or [])
            limited.update(kind for kind in kinds if set(self.schemas.of_kind(part, kind)) - {"type"})
        return "".join(dict.fromkeys(_BEGINS[kind] for kind in sorted(limited & set(self.types)) if kind in _BEGINS))


def tagged_calls(engine: Tagged, constraint: Constraint) -> Node:
    """The calls as the engine writes them."""
    if engine.enclosing:
        one = constraint.any_call(lambda tool, shape: row(*_call(engine, tool, shape)))
        inside = row(engine.enclosing[0], constraint.calls(one, engine.between_calls), engine.enclosing[1])
        return row(engine.opener, inside, engine.closer)

    def framed(tool: ConstrainedTool, shape: Arguments) -> Node:
        lead = engine.between if engine.name_opener and engine.opener else ""
        head, body, end = _call(engine, tool, shape)
        return row(engine.opener, lead, head, body, end, _last(engine, shape), engine.closer)

    return constraint.calls(constraint.any_call(framed), engine.between_calls)


def _last(engine: Tagged, shape: Arguments) -> Node:
    """What stands before the frame's closer, which depends on whether a value was written."""
    if not engine.closer or not (engine.call_closer or shape.properties):
        return EMPTY
    between = Text(engine.between)
    return between if engine.call_closer or shape.required else maybe(between)


def _call(engine: Tagged, tool: ConstrainedTool, shape: Arguments) -> tuple[Node, Node, Node]:
    """A call's name, its arguments and its end."""
    header = numbered(lambda at: engine.name_header.write(tool.name, None, at))
    head = row(engine.before_name, engine.name_opener, header, engine.name_closer)
    body = members(shape, lambda key, schema: row(engine.between, _argument(engine, tool, key, schema)))
    end = row(engine.between, engine.call_closer) if engine.call_closer else EMPTY
    return head, body, row(end, engine.after_call)


def _argument(engine: Tagged, tool: ConstrainedTool, key: str, schema: Any) -> Node:
    """An argument with its tags; values of different types may have different ones."""
    openers = (engine.key_opener, engine.value_opener, *engine.openers, *engine.unframed_openers)
    marks = (engine.value_closer, *engine.cdata[:1], *openers, *engine.closers[:1])
    never = tuple(dict.fromkeys(mark.strip() for mark in marks if mark.strip()))
    stated = engine.key_header.write(key, "s", 0) != engine.key_header.write(key, 1, 0)
    values = RawValues(tool.schemas, tool.types(key), engine.value_newline + engine.value_closer, never, stated)
    by_header: dict[Node, list[Node]] = {}
    for value, node in values.nodes(schema, engine.write_value):
        header = numbered(lambda at, value=value: engine.key_header.write(key, value, at))  # type: ignore[misc]  # mypy does not infer a lambda with a default
        nodes = by_header.setdefault(header, [])
        nodes.append(node)
        if engine.cdata and isinstance(node, RawText):
            opener, closer = engine.cdata
            nodes.append(row(opener, RawText(closer + node.closer, (closer,), node.least, node.most)))
    between = engine.between if engine.value_opener else ""
    opened = row(engine.key_closer, between, engine.value_opener, engine.value_newline)
    return either(*(row(engine.key_opener, header, opened, either(*nodes)) for header, nodes in by_header.items()))
