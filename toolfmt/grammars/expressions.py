"""Parse the regular expressions of `Pattern` nodes into nodes, for grammar formats without regular expressions.

`toolfmt.formats.grammar.nodes.Pattern` defines what they may contain. Anything else is a bug in this package and raises
a ValueError.
"""

from __future__ import annotations

from dataclasses import dataclass

from toolfmt.formats.grammar.nodes import EMPTY, Node, Repeated, Text, either, maybe, row

_ESCAPED = {"n": "\n", "r": "\r", "t": "\t", "f": "\f", "b": "\b"}
_HEXADECIMAL = {"x": 2, "u": 4, "U": 8}
_UNSUPPORTED = ".^$"


@dataclass(frozen=True)
class Characters(Node):
    """One character in these ranges (first and last), or with `but`, one in none of them."""

    ranges: tuple[tuple[str, str], ...]
    but: bool = False


def nodes_of(pattern: str) -> Node:
    """Return the expression as nodes of texts, sequences, alternatives, repetitions and `Characters`."""
    reader = _Reader(pattern)
    node = reader.alternatives()
    if reader.at < len(pattern):
        raise reader.unreadable()
    return node


class _Reader:
    def __init__(self, pattern: str) -> None:
        self.pattern, self.at = pattern, 0

    def unreadable(self) -> ValueError:
        return ValueError(f"no expression that every syntax can say: {self.pattern!r} at {self.at}")

    def alternatives(self) -> Node:
        parts = [self._sequence()]
        while self._taken("|"):
            parts.append(self._sequence())
        return either(*parts)

    def _sequence(self) -> Node:
        parts: list[Node] = []
        while self.at < len(self.pattern) and self.pattern[self.at] not in "|)":
            parts.append(self._repeated(self._one()))
        return row(*parts)

    def _one(self) -> Node:
        if self._taken("("):
            self._taken("?:")
            inner = self.alternatives()
            if not self._taken(")"):
                raise self.unreadable()
            return inner
        if self._taken("["):
            return self._class()
        if self.pattern[self.at] in _UNSUPPORTED + "*+?{":
            raise self.unreadable()
        return Text(self._character())

    def _repeated(self, part: Node) -> Node:
        if self._taken("*"):
            return maybe(Repeated(part))
        if self._taken("+"):
            return Repeated(part)
        if self._taken("?"):
            return maybe(part)
        if self._taken("{"):
            return _times(part, *self._bounds())
        return part

    def _bounds(self) -> tuple[int, int | None]:
        end = self.pattern.find("}", self.at)
        least, comma, most = self.pattern[self.at : end].partition(",")
        if end < 0 or not least.isdecimal() or (most and not most.isdecimal()):
            raise self.unreadable()
        self.at = end + 1
        return int(least), int(most) if most else None if comma else int(least)

    def _class(self) -> Node:
        but, ranges = self._taken("^"), []
        while not self._taken("]"):
            first = last = self._character()
            if self.pattern[self.at : self.at + 1] == "-" and self.pattern[self.at + 1 : self.at + 2] not in ("]", ""):
                self.at += 1
                last = self._character()
            ranges.append((first, last))
        return Characters(tuple(ranges), but)

    def _character(self) -> str:
        character = self.pattern[self.at : self.at + 1]
        if not character:
            raise self.unreadable()
        self.at += 1
        return self._escaped() if character == "\\" else character

    def _escaped(self) -> str:
        character = self.pattern[self.at : self.at + 1]
        self.at += 1
        if (length := _HEXADECIMAL.get(character)) is not None:
            digits = self.pattern[self.at : self.at + length]
            self.at += length
            return chr(int(digits, 16))
        if character in _ESCAPED:
            return _ESCAPED[character]
        if not character or character.isalnum():
            raise self.unreadable()
        return character

    def _taken(self, text: str) -> bool:
        if self.pattern.startswith(text, self.at):
            self.at += len(text)
            return True
        return False


def _times(part: Node, least: int, most: int | None) -> Node:
    if most == 0:
        return EMPTY
    return Repeated(part, EMPTY, least, most) if least else maybe(Repeated(part, EMPTY, 1, most))
