"""A JSON value under a schema as nodes, for dialects that know no JSON Schema."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from functools import cache

from toolfmt.formats.grammar.nodes import Blanks, Either, Maybe, Member, Members, Node, Repeated, Row, Rules, Text, row
from toolfmt.formats.grammar.schemas import Schemas
from toolfmt.formats.grammar.value_nodes import JSON_SPELLING, SpelledValues, json_text

_SIGNS = re.compile(r"([{}\[\]:,])|\s+")
_STRING = re.compile(r'("(?:[^"\\]|\\.)*(?:"|\Z))')


@cache
def json_nodes(schema: str, exact: bool = True, prefix: str = "json") -> Rules:
    """The value of a `JsonValue` in other nodes. Members stand in any order.

    The names of its rules begin with `prefix`, which a grammar gives each schema another one of; `json_any` is the same
    for all. Raises `NotConstrained`.
    """
    whole = json.loads(schema)
    rules: dict[str, Node] = {}
    start = SpelledValues(json_text, Schemas(whole), rules, prefix, JSON_SPELLING, "json_any").value(whole)
    found = Rules(start, rules)
    return found if exact else found.map(with_blanks)


def with_blanks(node: Node) -> Node:
    """JSON with blanks wherever it allows them."""
    match node:
        case Text(text):
            parts: list[Node | str] = []
            for at, piece in enumerate(_STRING.split(text)):
                if at % 2:
                    parts.append(piece)
                    continue
                for sign in _SIGNS.split(piece):
                    parts += [Blanks(), sign, Blanks()] if sign and sign in "{}[]:," else [sign] if sign else []
            return row(*_single(parts))
        case Row(parts_):
            return row(*_single([with_blanks(part) for part in parts_]))
        case Either(parts_):
            return Either(tuple(map(with_blanks, parts_)))
        case Maybe(part):
            return Maybe(with_blanks(part))
        case Repeated():
            return replace(node, part=with_blanks(node.part), separator=with_blanks(node.separator))
        case Members():
            items = tuple(Member(with_blanks(item.node), item.required) for item in node.items)
            return Members(items, with_blanks(node.separator))
        case _:
            return node


def _single(parts: list[Node | str]) -> list[Node | str]:
    """The parts with one `Blanks` where several stand side by side."""
    return [part for at, part in enumerate(parts) if part != Blanks() or at == 0 or parts[at - 1] != Blanks()]
