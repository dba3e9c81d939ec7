"""Translate the `pattern` of a schema for grammars: whole strings of characters, classes, groups and repetitions.

Patterns in JSON Schema are regular expressions of ECMA-262 that may match anywhere in a string. Supported are patterns
from `^` to `$` whose syntax means the same in every grammar syntax. Anything else is rejected, never approximated.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable

from toolfmt._util.regular_expressions import CharacterClass, Group, Node, Repetition, parse
from toolfmt.formats.grammar.schemas import NotConstrained

_CLASSES = {"d": "0-9", "w": "A-Za-z0-9_"}
_SPECIAL = frozenset("\\^$.|?*+()[]{}/-")
_MAX_COUNT = 1000


def string_pattern(pattern: str, is_allowed: Callable[[str], bool]) -> str:
    """Return the pattern without its anchors and with shorthand classes expanded.

    Args:
        pattern: The value of the keyword `pattern`.
        is_allowed: Whether a character may appear unescaped in a string of the format.

    Raises:
        NotConstrained: The pattern is not supported, or it matches a character that is not allowed.
    """
    if not pattern.startswith("^") or not pattern.endswith("$") or re.search(r"(?<!\\)(?:\\\\)*\\\$\Z", pattern):
        raise NotConstrained(f"the pattern {pattern!r} is not supported: it must start with ^ and end with $")
    return _Translation(pattern, is_allowed).translate()


class _Translation:
    """The translation of one pattern."""

    def __init__(self, pattern: str, is_allowed: Callable[[str], bool]) -> None:
        self.pattern, self.is_allowed = pattern, is_allowed

    def unsupported(self, what: str) -> NotConstrained:
        return NotConstrained(f"the pattern {self.pattern!r} is not supported: {what}")

    def translate(self) -> str:
        text = self.pattern[1:-1]
        options, end = parse(text)
        translated = self._sequence(options[0])
        if len(options) > 1:
            raise self.unsupported("its anchors apply to only one of its alternatives")
        if end < len(text):
            raise self.unsupported("a closing parenthesis has no opening one")
        return translated

    def _sequence(self, nodes: Iterable[Node]) -> str:
        translated = ""
        for node in nodes:
            translated += self._node(node)
        return translated

    def _node(self, node: Node) -> str:
        if isinstance(node, Repetition):
            translated = self._node(node.node)
            if max(node.least, node.most or 0) > _MAX_COUNT:
                raise self.unsupported(f"it repeats something more than {_MAX_COUNT} times")
            if node.stacked:
                raise self.unsupported("a repetition is repeated")
            return translated + node.quantifier
        if isinstance(node, Group):
            if node.kind not in ("", "?:"):
                raise self.unsupported("it contains an unsupported kind of group")
            inner = "|".join([self._sequence(option) for option in node.options])
            if not node.closed:
                raise self.unsupported("a parenthesis is not closed")
            return f"({inner})"
        if isinstance(node, CharacterClass):
            return self._class(node)
        if node.source[0] != "\\" and node.source in "^$.?*+{}]":
            raise self.unsupported(f"it contains {node.source}")
        if node.source[1:] in _CLASSES:
            return f"[{self._allowed_class(_CLASSES[node.source[1:]])}]"
        return self._character(self._unescaped(node.source))

    def _unescaped(self, source: str) -> str:
        if source[0] == "\\" and (not source[1:] or source[1:] not in _SPECIAL):
            raise self.unsupported(f"it contains {source[:2]}")
        return source[-1]

    def _character(self, character: str) -> str:
        if not self.is_allowed(character):
            raise self.unsupported(f"{character!r} has a special meaning in strings of the format")
        return f"\\{character}" if character in _SPECIAL else character

    def _class(self, node: CharacterClass) -> str:
        if node.negated:
            raise self.unsupported("it contains a negated character class")
        if node.source[1:2] == "]":
            raise self.unsupported("a character class is empty")
        translated = ""
        for first, last in node.members():
            if first == "[":
                raise self.unsupported("a character class is not closed or contains another one")
            if first[1:] in _CLASSES:
                translated += self._allowed_class(_CLASSES[first[1:]])
                continue
            character = self._unescaped(first)
            if not last:
                self._character(character)
                translated += in_class(character)
                continue
            if last[0] == "\\" or character > last:
                raise self.unsupported("a character class has an invalid range")
            for code in range(ord(character), ord(last) + 1):
                self._character(chr(code))
            translated += f"{in_class(character)}-{in_class(last)}"
        if not node.closed:
            raise self.unsupported("a character class is not closed or contains another one")
        return f"[{translated}]"

    def _allowed_class(self, members: str) -> str:
        for character in re.sub("(.)-(.)", _expanded, members):
            self._character(character)
        return members


def _expanded(found: re.Match[str]) -> str:
    return "".join(map(chr, range(ord(found[1]), ord(found[2]) + 1)))


def in_class(character: str) -> str:
    """Return the character as it is written in a character class."""
    return f"\\{character}" if character in "\\]^-[" else character
