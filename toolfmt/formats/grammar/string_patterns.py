"""A schema's `pattern` as a grammar can say it: whole strings of plain characters, classes, groups and repetitions.

JSON Schema's patterns are ECMA-262's and are searched for anywhere in a string. What is taken over is the part that
every dialect of grammars means alike, from `^` to `$`; anything else is refused, never approximated.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from toolfmt.formats.grammar.schemas import NotConstrained

_CLASSES = {"d": "0-9", "w": "A-Za-z0-9_"}
_SIGNS = frozenset("\\^$.|?*+()[]{}/-")
_REPEATED = re.compile(r"[*+?]|\{[0-9]+(?:,[0-9]*)?\}")
_MOST_REPEATED = 1000


def string_pattern(pattern: str, may_stand: Callable[[str], bool]) -> str:
    """The pattern without its anchors, its characters spelt out. `may_stand` tells of a character whether it may stand
    in the string as itself. Raises `NotConstrained`."""
    if not pattern.startswith("^") or not pattern.endswith("$") or re.search(r"(?<!\\)(?:\\\\)*\\\$\Z", pattern):
        raise NotConstrained(f"the pattern {pattern!r} is not supported: it must start with ^ and end with $")
    return _Reading(pattern, may_stand).whole()


class _Reading:
    """One pattern, read from left to right."""

    def __init__(self, pattern: str, may_stand: Callable[[str], bool]) -> None:
        self.pattern, self.text, self.at, self.may_stand = pattern, pattern[1:-1], 0, may_stand

    def refuse(self, what: str) -> NotConstrained:
        return NotConstrained(f"the pattern {self.pattern!r} is not supported: {what}")

    def whole(self) -> str:
        read = self._either(inside=False)
        if self.at < len(self.text):
            raise self.refuse("a closing parenthesis has no opening one")
        return read

    def _either(self, inside: bool) -> str:
        parts = [self._row()]
        while self._peek() == "|":
            if not inside:
                raise self.refuse("its anchors apply to only one of its alternatives")
            self.at += 1
            parts.append(self._row())
        return "|".join(parts)

    def _row(self) -> str:
        read = []
        while self._peek() not in ("", "|", ")"):
            atom = self._atom()
            repeated = _REPEATED.match(self.text, self.at)
            if repeated:
                self.at = repeated.end()
                if any(int(count) > _MOST_REPEATED for count in re.findall("[0-9]+", repeated[0])):
                    raise self.refuse(f"it repeats something more than {_MOST_REPEATED} times")
                if self._peek() in ("?", "+", "*", "{"):
                    raise self.refuse("a repetition is repeated")
                atom += repeated[0]
            read.append(atom)
        return "".join(read)

    def _peek(self) -> str:
        return self.text[self.at : self.at + 1]

    def _take(self) -> str:
        self.at += 1
        return self.text[self.at - 1 : self.at]

    def _atom(self) -> str:
        sign = self._take()
        if sign == "(":
            if self.text.startswith("?:", self.at):
                self.at += 2
            elif self._peek() == "?":
                raise self.refuse("it contains an unsupported kind of group")
            inner = self._either(inside=True)
            if self._take() != ")":
                raise self.refuse("a parenthesis is not closed")
            return f"({inner})"
        if sign == "[":
            return self._class()
        if sign == "\\":
            escaped = self._take()
            if escaped in _CLASSES:
                return f"[{self._allowed_class(_CLASSES[escaped])}]"
            if escaped not in _SIGNS or not escaped:
                raise self.refuse(f"it contains \\{escaped}")
            sign = escaped
        elif sign in "^$.?*+{}]":
            raise self.refuse(f"it contains {sign}")
        return self._character(sign)

    def _character(self, sign: str) -> str:
        if not self.may_stand(sign):
            raise self.refuse(f"{sign!r} has a special meaning in strings of the format")
        return f"\\{sign}" if sign in _SIGNS else sign

    def _class(self) -> str:
        if self._peek() == "^":
            raise self.refuse("it contains a negated character class")
        read = ""
        while (sign := self._take()) != "]":
            if not sign or sign == "[":
                raise self.refuse("a character class is not closed or contains another one")
            if sign == "\\":
                sign = self._take()
                if sign in _CLASSES:
                    read += self._allowed_class(_CLASSES[sign])
                    continue
                if sign not in _SIGNS or not sign:
                    raise self.refuse(f"it contains \\{sign}")
            if self._peek() == "-" and self.text[self.at + 1 : self.at + 2] not in ("]", ""):
                self.at += 1
                last = self._take()
                if last == "\\" or sign > last:
                    raise self.refuse("a character class has an invalid range")
                for code in range(ord(sign), ord(last) + 1):
                    self._character(chr(code))
                read += f"{in_class(sign)}-{in_class(last)}"
            else:
                self._character(sign)
                read += in_class(sign)
        if not read:
            raise self.refuse("a character class is empty")
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
