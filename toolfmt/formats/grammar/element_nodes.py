"""Values as tags inside tags, as nodes: members and items are tags, as deep as the schema."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from toolfmt.formats.grammar.raw_values import RawValues
from toolfmt.formats.grammar.schemas import NotConstrained, Schema, Schemas, rule_name
from toolfmt.formats.grammar.value_nodes import members
from toolfmt.formats.values.layout import Elements
from toolfmt.formats.values.nodes import EMPTY, JsonValue, Node, RawText, Repeated, Rule, Text, either, row
from toolfmt.formats.values.schema_types import parameter_types, raw_text

_AS_JSON = "objects-as-json"
"""Objects or lists are JSON in the grammar, although the format writes them as tags."""


@dataclass(frozen=True)
class ElementNodes:
    """The elements of one tool's arguments.

    Attributes:
        engine: The engine, which names the tags.
        schema: The schema of the arguments.
        rules: The rules of recursive schemas are added here.
        prefix: The start of their names.
        narrower: The names of what the grammar leaves out are added here.
    """

    engine: Elements
    schema: Mapping[str, Any]
    rules: dict[str, Node]
    prefix: str
    narrower: set[str]

    @cached_property
    def _schemas(self) -> Schemas:
        return Schemas(self.schema)

    def element(self, tag: str, schema: Any, path: tuple[str, ...]) -> Node:
        """Return a value between its tags."""
        if not self.engine.names_a_tag(tag):
            raise NotConstrained("it is not a valid tag name")
        return row(f"{self.engine.sign}<{tag}>", self._value(schema, tag, path))

    def _value(self, schema: Any, tag: str, path: tuple[str, ...]) -> Node:
        """Return a value with its end tag."""
        found = rule_name(schema)
        if not found:
            return self._parts(schema, tag, path)
        name, rules = f"{self.prefix}_{found}_{rule_name({'$ref': tag})}", self.rules
        if name not in rules:
            rules[name] = EMPTY  # it may contain itself
            rules[name] = self._parts(schema, tag, path)
        return Rule(name)

    def _parts(self, schema: Any, tag: str, path: tuple[str, ...]) -> Node:
        """Return the values of all alternatives of a schema, each with its end tag."""
        schemas, end = self._schemas, f"{self.engine.sign}</{tag}>"
        types = parameter_types(self.schema, *path)
        raw = RawValues(schemas, types, end, (self.engine.sign,), has_type=False, narrower=self.narrower)
        parts = schemas.alternatives(schema)
        nodes: list[Node] = []
        for part in parts:
            listed = schemas.values(part)
            kinds = schemas.kinds(part)
            if listed is not None:
                nodes += [Text(text + end) for _, text in raw.round_tripping(listed, raw_text)]
                if any(isinstance(value, (dict, list)) for value in listed):
                    self.narrower.add(_AS_JSON)
            elif kinds is None:
                self.narrower.add(_AS_JSON)
                nodes.append(RawText(end, (self.engine.sign,)))
            else:
                of_kinds = [(kind, schemas.of_kind(part, kind)) for kind in raw.recognized(kinds)]
                nodes += [self._kind(kind, flat, end, path, raw, parts) for kind, flat in of_kinds]
        return either(*nodes)

    def _kind(
        self, kind: str, flat: Schema, end: str, path: tuple[str, ...], raw: RawValues, alternatives: Sequence[Schema]
    ) -> Node:
        """Return the values of one type, each with the end tag `end`."""
        if kind == "string":
            return raw.string(flat, alternatives)
        if sum(kind in (raw.schemas.kinds(part) or []) for part in alternatives) > 1:
            # The parser uses the member types of the first alternative of a union. It parses JSON without them.
            self.narrower.add(_AS_JSON)
            return row(JsonValue(raw.schemas.standalone(flat)), end)
        if kind == "object":
            shape = raw.schemas.object_shape(flat)
            never_empty = shape.required or raw.types == frozenset({"object"})
            as_tags = bool(shape.properties) and all(map(self.engine.names_a_tag, shape.properties))
            if as_tags and never_empty:
                return row(members(shape, lambda key, part: self.element(key, part, (*path, key))), end)
            if as_tags or shape.free:
                self.narrower.add(_AS_JSON)
        if kind == "array" and isinstance(flat.get("items"), Mapping) and "prefixItems" not in flat:
            # An empty text is parsed as a list only if the type allows nothing else.
            return row(self._items(flat, path, "" if raw.types == frozenset({"array"}) else "[]"), end)
        if kind == "array":
            self.narrower.add(_AS_JSON)
        return row(JsonValue(raw.schemas.standalone(flat)), end)

    def _items(self, flat: Schema, path: tuple[str, ...], empty: str) -> Node:
        """Return the items of a list, each between its tags. `empty` is the text of an empty list."""
        least, most = flat.get("minItems", 0), flat.get("maxItems")
        if flat.get("uniqueItems") and (most is None or most > 1):
            raise NotConstrained("the keyword 'uniqueItems' is not supported in grammars")
        if most == 0:
            return Text(empty)
        try:
            value = self._value(flat["items"], self.engine.item, (*path, ""))
        except NotConstrained as error:
            raise error.within("[]") from None
        items = Repeated(row(f"{self.engine.sign}<{self.engine.item}>", value), EMPTY, max(least, 1), most)
        return items if least else either(items, empty)
