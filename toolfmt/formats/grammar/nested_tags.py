"""The grammar of nested tags: members and items are tags in tags, as deep as the schema goes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from toolfmt.formats.engines.nested_tags import NestedTags
from toolfmt.formats.grammar.constraint import ConstrainedTool, Constraint, members
from toolfmt.formats.grammar.nodes import EMPTY, JsonValue, Node, RawText, Repeated, Rule, Text, either, row
from toolfmt.formats.grammar.schemas import Arguments, NotConstrained, Schema, rule_name
from toolfmt.formats.grammar.tagged import RawValues
from toolfmt.formats.values.schema_types import parameter_types, raw_text


def nested_calls(engine: NestedTags, constraint: Constraint) -> Node:
    """The calls as the engine writes them."""

    def call(tool: ConstrainedTool, shape: Arguments) -> Node:
        elements = _Elements(engine, tool, constraint)
        arguments = members(shape, lambda key, schema: elements.element(key, schema, (key,)))
        opening = row(engine.sign, engine.call_opener, tool.name, engine.name_closer)
        return row(opening, arguments, f"{engine.sign}{engine.call_closer}")

    calls = constraint.calls(constraint.any_call(call), "\n")
    return row(engine.opener, "\n", calls, "\n", engine.closer) if engine.opener else calls


@dataclass(frozen=True)
class _Elements:
    """The elements of one tool's arguments; the constraint takes rules of those that hold themselves."""

    engine: NestedTags
    tool: ConstrainedTool
    constraint: Constraint

    def element(self, tag: str, schema: Any, path: tuple[str, ...]) -> Node:
        """A value between its tags."""
        if not self.engine.names_a_tag(tag):
            raise NotConstrained("it is not a valid tag name")
        return row(f"{self.engine.sign}<{tag}>", self._value(schema, tag, path))

    def _value(self, schema: Any, tag: str, path: tuple[str, ...]) -> Node:
        """A value, and its closing tag."""
        found = rule_name(schema)
        if not found:
            return self._parts(schema, tag, path)
        name, rules = f"{self.tool.prefix}_{found}_{rule_name({'$ref': tag})}", self.constraint.rules
        if name not in rules:
            rules[name] = EMPTY  # it may hold itself
            rules[name] = self._parts(schema, tag, path)
        return Rule(name)

    def _parts(self, schema: Any, tag: str, path: tuple[str, ...]) -> Node:
        schemas, closer = self.tool.schemas, f"{self.engine.sign}</{tag}>"
        types = parameter_types(self.tool.schema, *path)
        raw = RawValues(schemas, types, closer, (self.engine.sign,), stated=False)
        parts = schemas.alternatives(schema)
        nodes: list[Node] = []
        for part in parts:
            listed = schemas.values(part)
            kinds = schemas.kinds(part)
            if listed is not None:
                nodes += [Text(text + closer) for _, text in raw.carried(listed, raw_text)]
            elif kinds is None:
                self.constraint.narrower.add("objects-as-json")
                nodes.append(RawText(closer, (self.engine.sign,)))
            else:
                of_kinds = [(kind, schemas.of_kind(part, kind)) for kind in raw.told(kinds)]
                nodes += [self._kind(kind, flat, closer, path, raw, parts) for kind, flat in of_kinds]
        return either(*nodes)

    def _kind(
        self, kind: str, flat: Schema, closer: str, path: tuple[str, ...], raw: RawValues, beside: Sequence[Schema]
    ) -> Node:
        if kind == "string":
            return raw.string(flat, beside)
        if sum(kind in (raw.schemas.kinds(part) or []) for part in beside) > 1:
            # The reader takes the members of the first that it finds in a union; as JSON it takes them as they are.
            self.constraint.narrower.add("objects-as-json")
            return row(JsonValue(raw.schemas.alone(flat)), closer)
        if kind == "object":
            shape = raw.schemas.object_shape(flat)
            never_empty = shape.required or raw.types == frozenset({"object"})
            if shape.properties and never_empty and all(map(self.engine.names_a_tag, shape.properties)):
                return row(members(shape, lambda key, part: self.element(key, part, (*path, key))), closer)
            if shape.free:
                self.constraint.narrower.add("objects-as-json")
        if kind == "array" and isinstance(flat.get("items"), Mapping) and "prefixItems" not in flat:
            # Of an empty text the type alone tells that it is a list.
            return row(self._items(flat, path, "" if raw.types == frozenset({"array"}) else "[]"), closer)
        return row(JsonValue(raw.schemas.alone(flat)), closer)

    def _items(self, flat: Schema, path: tuple[str, ...], empty: str) -> Node:
        least, most = flat.get("minItems", 0), flat.get("maxItems")
        if flat.get("uniqueItems") and (most is None or most > 1):
            raise NotConstrained("the keyword 'uniqueItems' is not supported in grammars")
        if most == 0:
            return Text(empty)
        try:
            value = self._value(flat["items"], self.engine.item, (*path, ""))
        except NotConstrained as refusal:
            raise refusal.within("[]") from None
        items = Repeated(row(f"{self.engine.sign}<{self.engine.item}>", value), EMPTY, max(least, 1), most)
        return items if least else either(items, empty)
