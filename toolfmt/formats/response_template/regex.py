"""The regular expressions that a declared template is made of, read and matched here.

They come with a model from strangers, so `re` is given single classes of characters and nothing more: a part of the
language is read (literals, classes of characters and their runs, named groups, options, alternatives, what stands
before or behind), which is what templates are written with, and anything else is refused by name. Matching is for short
texts that toolfmt itself wrote, and counts its steps.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TypeAlias

from toolfmt._util import regular_expressions
from toolfmt._util.regular_expressions import CharacterClass, Options, Repetition, parse

_MOST_SIGNS = 2000
_MOST_STEPS = 1_000_000
_MOST_NODES = 100
_DEEPEST = 20


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
    parsed, end = parse(source)
    options = _Reader(source).options(parsed, 0)
    if end < len(source):
        raise Unreadable(f"the character {source[end]!r} in {source[:80]!r}")
    return options[0] if len(options) == 1 else (Group(options),)


@dataclass(frozen=True)
class _Reader:
    source: str

    def options(self, options: Options, depth: int) -> tuple[Pattern, ...]:
        if depth > _DEEPEST:
            raise Unreadable("groups that are nested too deeply")
        return tuple(self._sequence(option, depth) for option in options)

    def _sequence(self, parts: Iterable[regular_expressions.Node], depth: int) -> Pattern:
        nodes: list[Node] = []
        for part in parts:
            node = self._node(part, depth)
            if isinstance(node, Text) and nodes and isinstance(nodes[-1], Text):
                node = Text(nodes.pop().text + node.text)  # type: ignore[union-attr]  # just seen to be one
            nodes.append(node)
            if len(nodes) > _MOST_NODES:
                raise Unreadable(f"a pattern of more than {_MOST_NODES} parts")
        return tuple(nodes)

    def _node(self, part: regular_expressions.Node, depth: int) -> Node:
        if isinstance(part, Repetition):
            return self._repeated(self._node(part.node, depth), part)
        if isinstance(part, regular_expressions.Group):
            return self._group(part, depth)
        if isinstance(part, CharacterClass):
            if not part.closed:
                raise self._unreadable("an unclosed character class")
            return _one_of(part.source)
        if part.source in ("$", r"\Z"):
            return End()
        if part.is_class:
            return _one_of(r"[\s\S]" if part.source == "." else part.source)
        if not part.literal:
            is_escape = part.source[0] == "\\"
            raise self._unreadable(part.source[:2] if is_escape else f"the character {part.source!r}")
        return Text(part.literal)

    def _group(self, part: regular_expressions.Group, depth: int) -> Node:
        if part.kind == "?":
            raise self._unreadable("an unsupported kind of group")
        options = self.options(part.options, depth + 1)
        if not part.closed:
            raise self._unreadable("an unclosed group")
        if part.kind in ("?=", "?!", "?<=", "?<!"):
            return Look(options, part.kind[1] == "<", part.kind[-1] == "=")
        return Group(options, part.kind[3:-1])

    def _repeated(self, node: Node, part: Repetition) -> Node:
        if part.quantifier == "?" and isinstance(node, (Text, Group)):
            options = node.options if isinstance(node, Group) else ((node,),)
            return Group(((), *options) if part.lazy else (*options, ()), node.name if isinstance(node, Group) else "")
        if isinstance(node, Text):
            node = _one_of(re.escape(node.text))
        if not isinstance(node, Run):
            raise self._unreadable(f"{part.quantifier + '?' * part.lazy!r} after more than one character")
        return Run(node.of, part.least, part.most, part.lazy)

    def _unreadable(self, what: str) -> Unreadable:
        return Unreadable(f"{what} in {self.source[:80]!r}")


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
