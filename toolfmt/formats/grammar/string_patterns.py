"""A schema's `pattern` as a grammar can say it: whole strings of plain characters, classes, groups and repetitions.

JSON Schema's patterns are ECMA-262's and are searched for anywhere in a string. What is taken over is the part that
every dialect of grammars means alike, from `^` to `$`; anything else is refused, never approximated.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable

from toolfmt._util.regular_expressions import CharacterClass, Group, Node, Repetition, parse
from toolfmt.formats.grammar.schemas import NotConstrained

_CLASSES = {"d": "0-9", "w": "A-Za-z0-9_"}
_SIGNS = frozenset("\\^$.|?*+()[]{}/-")
_MOST_REPEATED = 1000


def string_pattern(pattern: str, may_stand: Callable[[str], bool]) -> str:
    """The pattern without its anchors, its characters spelt out. `may_stand` tells of a character whether it may stand
    in the string as itself. Raises `NotConstrained`."""
    if not pattern.startswith("^") or not pattern.endswith("$") or re.search(r"(?<!\\)(?:\\\\)*\\\$\Z", pattern):
        raise NotConstrained(f"the pattern {pattern!r} is not supported: it must start with ^ and end with $")
    return _Reading(pattern, may_stand).whole()


class _Reading:
    """One pattern, written out from left to right."""

    def __init__(self, pattern: str, may_stand: Callable[[str], bool]) -> None:
        self.pattern, self.may_stand = pattern, may_stand

    def refuse(self, what: str) -> NotConstrained:
        return NotConstrained(f"the pattern {self.pattern!r} is not supported: {what}")

    def whole(self) -> str:
        text = self.pattern[1:-1]
        options, end = parse(text)
        read = self._row(options[0])
        if len(options) > 1:
            raise self.refuse("its anchors apply to only one of its alternatives")
        if end < len(text):
            raise self.refuse("a closing parenthesis has no opening one")
        return read

    def _row(self, nodes: Iterable[Node]) -> str:
        read = ""
        for node in nodes:
            read += self._node(node)
        return read

    def _node(self, node: Node) -> str:
        if isinstance(node, Repetition):
            read = self._node(node.node)
            if max(node.least, node.most or 0) > _MOST_REPEATED:
                raise self.refuse(f"it repeats something more than {_MOST_REPEATED} times")
            if node.stacked:
                raise self.refuse("a repetition is repeated")
            return read + node.quantifier
        if isinstance(node, Group):
            if node.kind not in ("", "?:"):
                raise self.refuse("it contains an unsupported kind of group")
            inner = "|".join([self._row(option) for option in node.options])
            if not node.closed:
                raise self.refuse("a parenthesis is not closed")
            return f"({inner})"
        if isinstance(node, CharacterClass):
            return self._class(node)
        if node.source[0] != "\\" and node.source in "^$.?*+{}]":
            raise self.refuse(f"it contains {node.source}")
        if node.source[1:] in _CLASSES:
            return f"[{self._allowed_class(_CLASSES[node.source[1:]])}]"
        return self._character(self._unescaped(node.source))

    def _unescaped(self, source: str) -> str:
        if source[0] == "\\" and (not source[1:] or source[1:] not in _SIGNS):
            raise self.refuse(f"it contains {source[:2]}")
        return source[-1]

    def _character(self, sign: str) -> str:
        if not self.may_stand(sign):
            raise self.refuse(f"{sign!r} has a special meaning in strings of the format")
        return f"\\{sign}" if sign in _SIGNS else sign

    def _class(self, node: CharacterClass) -> str:
        if node.negated:
            raise self.refuse("it contains a negated character class")
        if node.source[1:2] == "]":
            raise self.refuse("a character class is empty")
        read = ""
        for first, last in node.members():
            if first == "[":
                raise self.refuse("a character class is not closed or contains another one")
            if first[1:] in _CLASSES:
                read += self._allowed_class(_CLASSES[first[1:]])
                continue
            sign = self._unescaped(first)
            if not last:
                self._character(sign)
                read += in_class(sign)
                continue
            if last[0] == "\\" or sign > last:
                raise self.refuse("a character class has an invalid range")
            for code in range(ord(sign), ord(last) + 1):
                self._character(chr(code))
            read += f"{in_class(sign)}-{in_class(last)}"
        if not node.closed:
            raise self.refuse("a character class is not closed or contains another one")
        return f"[{read}]"

    def _allowed_class(self, members: str) -> str:
        for sign in re.sub("(.)-(.)", _spread, members):
            self._character(sign)
        return members


def _spread(found: re.Match[str]) -> str:
    return "".join(map(chr, range(ord(found[1]), ord(found[2]) + 1)))


def in_class(sign: str) -> str:
    """A character as it stands in a class."""
    return f"\\{sign}" if sign in "\\]^-[" else sign
