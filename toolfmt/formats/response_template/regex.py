"""The regular expressions that a declared template is made of, read and matched here.

They come with a model from strangers, so `re` is given single classes of characters and nothing more: a part of the
language is read (literals, classes of characters and their runs, named groups, options, alternatives, what stands
before or behind), which is what templates are written with, and anything else is refused by name. Matching is for short
texts that toolfmt itself wrote, and counts its steps.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TypeAlias

_MOST_SIGNS = 2000
_MOST_STEPS = 1_000_000
_MOST_NODES = 100
_DEEPEST = 20
_CLASSES = frozenset("sSwWdD")
_CONTROLS = {"n": "\n", "t": "\t", "r": "\r"}
_QUANTIFIER = re.compile(r"([*+?]|\{\d{1,3}(?:,\d{0,3})?\})([?]?)")


class Unreadable(Exception):
    """A pattern, or a part of one, that is not read; the text says which."""


@dataclass(frozen=True, slots=True)
class Text:
    """A literal."""

    text: str


@dataclass(frozen=True, slots=True)
class Run:
    """Characters of a class: as many as there are, or where `lazy` as few as will do."""

    of: re.Pattern[str]
    least: int
    most: int | None
    lazy: bool


@dataclass(frozen=True, slots=True)
class Group:
    """Alternatives, one at least; what they match is told under the name, where there is one."""

    options: tuple[Pattern, ...]
    name: str = ""


@dataclass(frozen=True, slots=True)
class Look:
    """What must stand behind this place, or before it, or must not."""

    options: tuple[Pattern, ...]
    behind: bool
    wanted: bool


@dataclass(frozen=True, slots=True)
class End:
    """The end of the text."""


Node: TypeAlias = Text | Run | Group | Look | End
Pattern: TypeAlias = tuple[Node, ...]


def literal(texts: str | list[str]) -> Pattern:
    """The pattern of a literal, or of several, the longest first."""
    given = [texts] if isinstance(texts, str) else texts
    options = tuple((Text(text),) for text in sorted(given, key=len, reverse=True))
    return options[0] if len(options) == 1 else (Group(options),)


def read_pattern(source: str) -> Pattern:
    """The pattern that a regular expression is; raises `Unreadable`."""
    if len(source) > _MOST_SIGNS:
        raise Unreadable(f"a pattern of {len(source)} characters")
    reader = _Reader(source)
    options = reader.options(0)
    if reader.at < len(source):
        raise Unreadable(f"the character {source[reader.at]!r} in {source[:80]!r}")
    return options[0] if len(options) == 1 else (Group(options),)


@dataclass
class _Reader:
    source: str
    at: int = 0

    def options(self, depth: int) -> tuple[Pattern, ...]:
        if depth > _DEEPEST:
            raise Unreadable("groups that are nested too deeply")
        options = [self._sequence(depth)]
        while self._takes("|"):
            options.append(self._sequence(depth))
        return tuple(options)

    def _sequence(self, depth: int) -> Pattern:
        nodes: list[Node] = []
        while self.at < len(self.source) and self.source[self.at] not in "|)":
            node = self._quantified(self._atom(depth))
            if isinstance(node, Text) and nodes and isinstance(nodes[-1], Text):
                node = Text(nodes.pop().text + node.text)  # type: ignore[union-attr]  # just seen to be one
            nodes.append(node)
            if len(nodes) > _MOST_NODES:
                raise Unreadable(f"a pattern of more than {_MOST_NODES} parts")
        return tuple(nodes)

    def _atom(self, depth: int) -> Node:
        sign = self.source[self.at]
        if sign == "(":
            return self._group(depth)
        if sign == "[":
            return self._class()
        self.at += 1
        if sign == "\\":
            return self._escape()
        if sign == ".":
            return _one_of(r"[\s\S]")
        if sign == "$":
            return End()
        if sign in "^*+?":
            raise Unreadable(f"the character {sign!r} in {self.source[:80]!r}")
        return Text(sign)

    def _escape(self) -> Node:
        sign = self.source[self.at : self.at + 1]
        self.at += 1
        if sign in _CLASSES and sign:
            return _one_of("\\" + sign)
        if sign == "Z":
            return End()
        if not sign or (sign.isalnum() and sign not in _CONTROLS):
            raise Unreadable(f"\\{sign} in {self.source[:80]!r}")
        return Text(_CONTROLS.get(sign, sign))

    def _class(self) -> Node:
        found = re.compile(r"\[\^?\]?(?:[^\]\\]|\\.)*\]").match(self.source, self.at)
        if found is None:
            raise Unreadable(f"an unclosed character class in {self.source[:80]!r}")
        self.at = found.end()
        return _one_of(found[0])

    def _group(self, depth: int) -> Node:
        opening = re.compile(r"\((?:\?(?:P<(\w+)>|:|=|!|<=|<!))?").match(self.source, self.at)
        if opening is None or self.source.startswith("?", opening.end()):
            raise Unreadable(f"an unsupported kind of group in {self.source[:80]!r}")
        self.at = opening.end()
        options = self.options(depth + 1)
        if not self._takes(")"):
            raise Unreadable(f"an unclosed group in {self.source[:80]!r}")
        kind = opening[0][2:]
        if kind in ("=", "!", "<=", "<!"):
            return Look(options, kind[0] == "<", kind[-1] == "=")
        return Group(options, opening[1] or "")

    def _quantified(self, node: Node) -> Node:
        found = _QUANTIFIER.match(self.source, self.at)
        if found is None:
            return node
        self.at = found.end()
        if found[1] == "?" and isinstance(node, (Text, Group)):
            options = node.options if isinstance(node, Group) else ((node,),)
            return Group(((), *options) if found[2] else (*options, ()), node.name if isinstance(node, Group) else "")
        if isinstance(node, Text):
            node = _one_of(re.escape(node.text))
        if not isinstance(node, Run):
            raise Unreadable(f"{found[0]!r} after more than one character in {self.source[:80]!r}")
        least, most = _bounds(found[1])
        return Run(node.of, least, most, bool(found[2]))

    def _takes(self, sign: str) -> bool:
        if not self.source.startswith(sign, self.at):
            return False
        self.at += len(sign)
        return True


def _bounds(quantifier: str) -> tuple[int, int | None]:
    if quantifier in "*+?":
        return int(quantifier == "+"), 1 if quantifier == "?" else None
    least, comma, most = quantifier[1:-1].partition(",")
    return int(least), int(most) if most else None if comma else int(least)


def _one_of(characters: str) -> Run:
    try:
        return Run(re.compile(characters), 1, 1, False)
    except re.error:
        raise Unreadable(f"the character class {characters[:80]!r}") from None


# --- matching


@dataclass
class Found:
    """Where a pattern matched, and its groups."""

    begin: int
    end: int
    groups: Mapping[str, str]


@dataclass
class Steps:
    """How many steps matching may take, over all texts together."""

    left: int = _MOST_STEPS


@dataclass
class Matcher:
    """Looks for patterns in one short text; raises `Unreadable` where there are too many ways to match one."""

    text: str
    steps: Steps

    def search(self, pattern: Pattern, begin: int) -> Found | None:
        """The first place from `begin` on at which the pattern matches."""
        if not all(self.text.find(node.text, begin) >= 0 for node in pattern if isinstance(node, Text)):
            return None
        for at in range(begin, len(self.text) + 1):
            for end, groups in self._match(pattern, at, {}):
                return Found(at, end, groups)
        return None

    def _match(self, pattern: Pattern, at: int, groups: Mapping[str, str]) -> Iterator[tuple[int, Mapping[str, str]]]:
        """Every end of a match that begins here, the wanted one first."""
        self.steps.left -= 1
        if self.steps.left < 0:
            raise Unreadable("a pattern that can match in too many ways")
        if not pattern:
            yield at, groups
            return
        node, rest = pattern[0], pattern[1:]
        for end, told in self._one(node, at, groups):
            yield from self._match(rest, end, told)

    def _one(self, node: Node, at: int, groups: Mapping[str, str]) -> Iterator[tuple[int, Mapping[str, str]]]:
        if isinstance(node, Text):
            if self.text.startswith(node.text, at):
                yield at + len(node.text), groups
        elif isinstance(node, Run):
            most = len(self.text) if node.most is None else min(len(self.text), at + node.most)
            end = at
            while end < most and node.of.match(self.text[end]):
                end += 1
            self.steps.left -= end - at
            ends = range(at + node.least, end + 1)
            yield from ((one, groups) for one in (ends if node.lazy else reversed(ends)))
        elif isinstance(node, Group):
            for option in node.options:
                for end, told in self._match(option, at, groups):
                    yield end, told | {node.name: self.text[at:end]} if node.name else told  # type: ignore[operator]
        elif isinstance(node, Look):
            if any(self._stands(option, at, node.behind) for option in node.options) == node.wanted:
                yield at, groups
        elif at == len(self.text):
            yield at, groups

    def _stands(self, pattern: Pattern, at: int, behind: bool) -> bool:
        begins = range(at + 1) if behind else (at,)
        return any(end == at or not behind for begin in begins for end, _ in self._match(pattern, begin, {}))
