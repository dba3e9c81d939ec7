"""A JSON value with a schema as nodes, for grammar syntaxes that do not support JSON Schema."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from functools import cache

from toolfmt.formats.grammar.schemas import Schemas
from toolfmt.formats.grammar.value_nodes import JSON_SYNTAX, ValueNodes, json_text
from toolfmt.formats.values.nodes import (
    Either,
    Maybe,
    Member,
    Members,
    Node,
    Repeated,
    Row,
    Rules,
    Text,
    Whitespace,
    row,
)

_DELIMITERS = re.compile(r"([{}\[\]:,])|\s+")
_STRING = re.compile(r'("(?:[^"\\]|\\.)*(?:"|\Z))')


@cache
def json_nodes(schema: str, exact: bool = True, prefix: str = "json") -> Rules:
    """Return the value of a `JsonValue` as other nodes. Members are in any order.

    Args:
        schema: The JSON Schema as JSON text.
        exact: Whether the value is written as `json.dumps` writes it. Otherwise whitespace is allowed as in JSON.
        prefix: The start of the names of its rules. Use a different one for each schema in a grammar. The rule
            `json_any` is the same for all.

    Raises:
        NotConstrained: The schema contains something that a grammar cannot enforce.
    """
    whole = json.loads(schema)
    rules: dict[str, Node] = {}
    start = ValueNodes(json_text, Schemas(whole), rules, prefix, JSON_SYNTAX, "json_any").value(whole)
    result = Rules(start, rules)
    return result if exact else result.map(with_whitespace)


def with_whitespace(node: Node) -> Node:
    """Return the JSON node with optional whitespace wherever JSON allows it."""
    match node:
        case Text(text):
            parts: list[Node | str] = []
            for at, piece in enumerate(_STRING.split(text)):
                if at % 2:
                    parts.append(piece)
                    continue
                for token in filter(None, _DELIMITERS.split(piece)):
                    parts += [Whitespace(), token, Whitespace()] if token in "{}[]:," else [token]
            return row(*_without_repeated_whitespace(parts))
        case Row(parts_):
            return row(*_without_repeated_whitespace([with_whitespace(part) for part in parts_]))
        case Either(parts_):
            return Either(tuple(map(with_whitespace, parts_)))
        case Maybe(part):
            return Maybe(with_whitespace(part))
        case Repeated():
            return replace(node, part=with_whitespace(node.part), separator=with_whitespace(node.separator))
        case Members():
            items = tuple(Member(with_whitespace(item.node), item.required) for item in node.items)
            return Members(items, with_whitespace(node.separator))
        case _:
            return node


def _without_repeated_whitespace(parts: list[Node | str]) -> list[Node | str]:
    """Return the parts with consecutive `Whitespace` nodes merged into one."""
    return [part for at, part in enumerate(parts) if part != Whitespace() or at == 0 or parts[at - 1] != Whitespace()]
