"""Parse and match the regular expressions of a declared template.

They come with a model and are not trusted, so `re` only gets single character classes. Supported are the parts of the
language that templates use: literals, character classes and their repetitions, named groups, optional parts,
alternatives, lookahead and lookbehind. Everything else raises an error with the reason. Matching is for short texts
that toolfmt itself wrote, and counts its steps.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TypeAlias

from toolfmt._util import regular_expressions
from toolfmt._util.regular_expressions import CharacterClass, Options, Repetition, UnsupportedPattern, parse

_LONGEST = 2000
_MOST_STEPS = 1_000_000
_MOST_NODES = 100
_DEEPEST = 20


@dataclass(frozen=True, slots=True)
class Text:
    """A literal."""

    text: str


@dataclass(frozen=True, slots=True)
class CharacterRun:
    """`least` to `most` characters of a class: as many as possible, or if `lazy` as few as possible."""

    characters: re.Pattern[str]
    least: int
    most: int | None
    lazy: bool


@dataclass(frozen=True, slots=True)
class Group:
    """One or more alternatives. If it has a name, the matched text is in the groups of the match."""

    options: tuple[Pattern, ...]
    name: str = ""


@dataclass(frozen=True, slots=True)
class Lookaround:
    """A pattern that must match at this position, before it (`is_lookbehind`), or must not match (not `positive`)."""

    options: tuple[Pattern, ...]
    is_lookbehind: bool
    positive: bool


@dataclass(frozen=True, slots=True)
class End:
    """The end of the text."""


Node: TypeAlias = Text | CharacterRun | Group | Lookaround | End
Pattern: TypeAlias = tuple[Node, ...]


def literal(texts: str | list[str]) -> Pattern:
    """Return the pattern of a literal, or of literals of which the longest is tried first."""
    literals = [texts] if isinstance(texts, str) else texts
    options = tuple((Text(text),) for text in sorted(literals, key=len, reverse=True))
    return options[0] if len(options) == 1 else (Group(options),)


def read_pattern(source: str) -> Pattern:
    """Return the pattern for a regular expression. Raises `UnsupportedPattern`."""
    if len(source) > _LONGEST:
        raise UnsupportedPattern(f"a pattern of {len(source)} characters")
    parsed, end = parse(source)
    options = _Reader(source).options(parsed, 0)
    if end < len(source):
        raise UnsupportedPattern(f"the character {source[end]!r} in {source[:80]!r}")
    return options[0] if len(options) == 1 else (Group(options),)


@dataclass(frozen=True)
class _Reader:
    source: str

    def options(self, options: Options, depth: int) -> tuple[Pattern, ...]:
        if depth > _DEEPEST:
            raise UnsupportedPattern("groups that are nested too deeply")
        return tuple(self._sequence(option, depth) for option in options)

    def _sequence(self, parts: Iterable[regular_expressions.Node], depth: int) -> Pattern:
        nodes: list[Node] = []
        for part in parts:
            node = self._node(part, depth)
            if isinstance(node, Text) and nodes and isinstance(nodes[-1], Text):
                node = Text(nodes.pop().text + node.text)  # type: ignore[union-attr]  # checked above
            nodes.append(node)
            if len(nodes) > _MOST_NODES:
                raise UnsupportedPattern(f"a pattern of more than {_MOST_NODES} parts")
        return tuple(nodes)

    def _node(self, part: regular_expressions.Node, depth: int) -> Node:
        if isinstance(part, Repetition):
            return self._repeated(self._node(part.node, depth), part)
        if isinstance(part, regular_expressions.Group):
            return self._group(part, depth)
        if isinstance(part, CharacterClass):
            if not part.closed:
                raise self._unsupported("an unclosed character class")
            return _one_character(part.source)
        if part.source in ("$", r"\Z"):
            return End()
        if part.is_class:
            return _one_character(r"[\s\S]" if part.source == "." else part.source)
        if not part.literal:
            is_escape = part.source[0] == "\\"
            raise self._unsupported(part.source[:2] if is_escape else f"the character {part.source!r}")
        return Text(part.literal)

    def _group(self, part: regular_expressions.Group, depth: int) -> Node:
        if part.kind == "?":
            raise self._unsupported("an unsupported kind of group")
        options = self.options(part.options, depth + 1)
        if not part.closed:
            raise self._unsupported("an unclosed group")
        if part.kind in ("?=", "?!", "?<=", "?<!"):
            return Lookaround(options, part.kind[1] == "<", part.kind[-1] == "=")
        return Group(options, part.kind[3:-1])

    def _repeated(self, node: Node, part: Repetition) -> Node:
        if part.quantifier == "?" and isinstance(node, (Text, Group)):
            options = node.options if isinstance(node, Group) else ((node,),)
            return Group(((), *options) if part.lazy else (*options, ()), node.name if isinstance(node, Group) else "")
        if isinstance(node, Text):
            node = _one_character(re.escape(node.text))
        if not isinstance(node, CharacterRun):
            raise self._unsupported(f"{part.quantifier + '?' * part.lazy!r} after more than one character")
        return CharacterRun(node.characters, part.least, part.most, part.lazy)

    def _unsupported(self, what: str) -> UnsupportedPattern:
        return UnsupportedPattern(f"{what} in {self.source[:80]!r}")


def _one_character(characters: str) -> CharacterRun:
    try:
        return CharacterRun(re.compile(characters), 1, 1, False)
    except re.error:
        raise UnsupportedPattern(f"the character class {characters[:80]!r}") from None


# --- matching


@dataclass
class Match:
    """The position of a match, and the texts of its named groups."""

    begin: int
    end: int
    groups: Mapping[str, str]


@dataclass
class Steps:
    """How many more steps matching may take, over all texts together."""

    remaining: int = _MOST_STEPS


@dataclass
class Matcher:
    """Searches for patterns in one short text. Raises `UnsupportedPattern` if a pattern can match in too many ways."""

    text: str
    steps: Steps

    def search(self, pattern: Pattern, begin: int) -> Match | None:
        """Return the first match that begins at `begin` or later. None if there is none."""
        if not all(self.text.find(node.text, begin) >= 0 for node in pattern if isinstance(node, Text)):
            return None
        for at in range(begin, len(self.text) + 1):
            for end, groups in self._match(pattern, at, {}):
                return Match(at, end, groups)
        return None

    def _match(self, pattern: Pattern, at: int, groups: Mapping[str, str]) -> Iterator[tuple[int, Mapping[str, str]]]:
        """Yield the end and groups of every match that begins here, in the order in which `re` tries them."""
        self.steps.remaining -= 1
        if self.steps.remaining < 0:
            raise UnsupportedPattern("a pattern that can match in too many ways")
        if not pattern:
            yield at, groups
            return
        node, rest = pattern[0], pattern[1:]
        for end, inner in self._match_node(node, at, groups):
            yield from self._match(rest, end, inner)

    def _match_node(self, node: Node, at: int, groups: Mapping[str, str]) -> Iterator[tuple[int, Mapping[str, str]]]:
        if isinstance(node, Text):
            if self.text.startswith(node.text, at):
                yield at + len(node.text), groups
        elif isinstance(node, CharacterRun):
            most = len(self.text) if node.most is None else min(len(self.text), at + node.most)
            end = at
            while end < most and node.characters.match(self.text[end]):
                end += 1
            self.steps.remaining -= end - at
            ends = range(at + node.least, end + 1)
            yield from ((one, groups) for one in (ends if node.lazy else reversed(ends)))
        elif isinstance(node, Group):
            for option in node.options:
                for end, inner in self._match(option, at, groups):
                    yield end, inner | {node.name: self.text[at:end]} if node.name else inner  # type: ignore[operator]
        elif isinstance(node, Lookaround):
            if any(self._matches_around(option, at, node.is_lookbehind) for option in node.options) == node.positive:
                yield at, groups
        elif at == len(self.text):
            yield at, groups

    def _matches_around(self, pattern: Pattern, at: int, is_lookbehind: bool) -> bool:
        """Whether the pattern matches from this position on, or for a lookbehind up to it."""
        begins = range(at + 1) if is_lookbehind else (at,)
        return any(end == at or not is_lookbehind for begin in begins for end, _ in self._match(pattern, begin, {}))
