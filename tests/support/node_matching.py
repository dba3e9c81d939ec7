"""What a grammar of nodes means, by trying: the nodes as their docstrings define, without any syntax or engine.

Slow and plain. `allows` returns whether a grammar allows a text as a whole.
"""

from __future__ import annotations

import json
import re
from contextlib import suppress
from functools import cache
from typing import Any

import jsonschema

from toolfmt.formats.values.nodes import (
    Either,
    FreeText,
    JsonValue,
    Maybe,
    Members,
    Node,
    Pattern,
    QuotedText,
    RawText,
    Repeated,
    Row,
    Rule,
    Rules,
    Text,
    Whitespace,
)

_JSON_VALUE = json.JSONDecoder()


def allows(rules: Rules, text: str) -> bool:
    return len(text) in _Matching(rules, text).ends(rules.start, 0)


class _Matching:
    """One text; `ends` are the positions where a node that begins at a position may end."""

    def __init__(self, rules: Rules, text: str) -> None:
        self.rules, self.text = rules, text
        self._known: dict[tuple[Node, int], frozenset[int]] = {}

    def ends(self, node: Node, at: int) -> frozenset[int]:
        if (node, at) not in self._known:
            self._known[node, at] = frozenset()
            self._known[node, at] = frozenset(self._ends(node, at))
        return self._known[node, at]

    def after(self, node: Node, places: Any) -> frozenset[int]:
        return frozenset(end for at in places for end in self.ends(node, at))

    def _ends(self, node: Node, at: int) -> Any:
        text = self.text
        match node:
            case Text(literal):
                return {at + len(literal)} if text.startswith(literal, at) else set()
            case Row(parts):
                places = frozenset({at})
                for part in parts:
                    places = self.after(part, places)
                return places
            case Either(parts):
                return {end for part in parts for end in self.ends(part, at)}
            case Maybe(part):
                return {at, *self.ends(part, at)}
            case Rule(name):
                return self.ends(self.rules.rules[name], at)
            case Whitespace():
                return range(at, at + len(text[at:]) - len(text[at:].lstrip(" \t\r\n")) + 1)
            case Repeated():
                return self._repeated(node, at)
            case Members():
                return self._members(node, at)
            case RawText():
                return self._raw(node, at)
            case QuotedText():
                return self._quoted(node, at)
            case FreeText(without, not_first):
                if not_first and text.startswith(not_first, at):
                    return {at}
                cut = min((found + len(w) for w in without if (found := text.find(w, at)) >= 0), default=len(text) + 1)
                return range(at, cut)
            case Pattern(pattern):
                return {end for end in range(at, len(text) + 1) if re.fullmatch(pattern, text[at:end])}
            case JsonValue(schema, exact):
                return _json_ends(schema, exact, text, at)
        raise AssertionError(node)

    def _repeated(self, node: Repeated, at: int) -> set[int]:
        places, found, count = frozenset(self.ends(node.part, at)), set[int](), 1
        while places and (node.most is None or count <= node.most) and not (places <= found and count > node.least):
            if count >= node.least:
                found |= places
            places = self.after(node.part, self.after(node.separator, places))
            count += 1
        return found

    def _members(self, node: Members, at: int) -> set[int]:
        found, seen = set[int](), set[tuple[int, frozenset[int]]]()
        todo = [(at, frozenset[int]())]
        needed = {number for number, item in enumerate(node.items) if item.required}
        while todo:
            here, given = todo.pop()
            if (here, given) in seen:
                continue
            seen.add((here, given))
            if needed <= given:
                found.add(here)
            for number, item in enumerate(node.items):
                if number not in given:
                    begins = self.ends(node.separator, here) if given else frozenset({here})
                    todo += [(end, given | {number}) for end in self.after(item.node, begins)]
        return found

    def _raw(self, node: RawText, at: int) -> set[int]:
        end = self.text.find(node.end, at)
        inside = self.text[at:end]
        if end < 0 or any(never in inside for never in node.never):
            return set()
        right_length = node.least <= len(inside) and (node.most is None or len(inside) <= node.most)
        return {end + len(node.end)} if right_length else set()

    def _quoted(self, node: QuotedText, at: int) -> set[int]:
        quote = re.escape(node.quote)
        unit = re.compile(
            rf"[^{quote}\\\x00-\x1f]|\\(?:[\\{quote}nrtbf]|u(?:[0-9a-cA-Ce-fE-F][0-9a-fA-F]{{3}}|[dD][0-7][0-9a-fA-F]{{2}}))"
        )
        count = 0
        while found := unit.match(self.text, at):
            at, count = found.end(), count + 1
        closed = self.text.startswith(node.quote, at)
        return {at + 1} if closed and node.least <= count and (node.most is None or count <= node.most) else set()


@cache
def _validator(schema: str) -> Any:
    return jsonschema.Draft202012Validator(json.loads(schema))


def _json_ends(schema: str, exact: bool, text: str, at: int) -> set[int]:
    begin = at if exact else len(text) - len(text[at:].lstrip(" \t\r\n"))
    found = set[int]()
    whole = re.compile(r"-?[0-9.eE+-]+").match(text, begin)
    ends = range(begin + 1, whole.end() + 1) if whole else ()
    with suppress(ValueError):
        ends = (*ends, _JSON_VALUE.raw_decode(text, begin)[1])
    for end in ends:
        try:
            value = json.loads(text[begin:end])
        except ValueError:
            continue
        if not _validator(schema).is_valid(value) or (isinstance(value, float) and '"integer"' in schema):
            continue  # 1.0 is an integer to JSON Schema, but none is written so
        if exact and not isinstance(value, (int, float)) and json.dumps(value, ensure_ascii=False) != text[begin:end]:
            continue
        found.add(end)
    return found if exact else {end + length for end in found for length in range(_whitespace_length(text, end) + 1)}


def _whitespace_length(text: str, at: int) -> int:
    return len(text[at:]) - len(text[at:].lstrip(" \t\r\n"))
