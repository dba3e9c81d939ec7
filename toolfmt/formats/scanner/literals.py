"""Sets of literal strings that are searched in text that arrives in chunks."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from functools import cached_property, lru_cache
from typing import Any, TypeAlias

_NEAR = 6
"""Number of characters by which the literals of a table are grouped."""
Near: TypeAlias = tuple[frozenset[str], tuple[str, ...]]
MayEnd: TypeAlias = Callable[[str], "re.Match[str] | None"]


class Literals:
    """A set of literal strings to search for, also where one may begin at the end of the text.

    The open pattern is a trie in which every node also matches at the end of the text. So one search finds a literal,
    and a text that may become one.
    """

    __slots__ = ("_closed", "_extendable", "_open", "before", "first", "longest", "trigger")

    _closed: re.Pattern[str] | None
    _open: re.Pattern[str] | None

    def __init__(self, literals: tuple[str, ...]) -> None:
        self.first = frozenset(literal[0] for literal in literals)
        self.longest = max(map(len, literals), default=0)
        ordered = sorted(set(literals))  # a longer literal directly follows its beginning
        self._extendable = {
            short: following.startswith(short) for short, following in zip(ordered, [*ordered[1:], ""], strict=False)
        }
        """For each literal, whether it is the beginning of another one."""
        self.trigger, self.before = _trigger(self.literals)
        """A character that is the first of every literal, or the second after one of `before`. `may_end` is not needed
        for a text without it that does not end with one of those. Empty if there is no such character."""
        self._closed = self._open = None

    @property
    def literals(self) -> frozenset[str]:
        return frozenset(self._extendable)

    def _compiled(self, closed: bool) -> re.Pattern[str]:
        """Compile a pattern at its first use. Most formats never search for all of their literals, and compiling them
        would take most of the time of a first parser."""
        if closed:
            longest_first = sorted(self.literals, key=lambda literal: (-len(literal), literal))
            self._closed = re.compile("|".join(map(re.escape, longest_first)) or r"(?!)")
            return self._closed
        self._open = re.compile(_trie(self.literals))
        return self._open

    @property
    def may_end(self) -> MayEnd:
        """Finds the first literal in a text, or what may become one at its end."""
        return (self._open or self._compiled(False)).search

    def adding(self, *others: str) -> Literals:
        """Return these literals and others."""
        return literals(*self.literals, *others)

    def search(self, text: str, at: int, closed: bool) -> tuple[int, str] | None:
        """Return the index of the first literal, and the literal; "" if the end of the text may become one."""
        found = ((self._closed if closed else self._open) or self._compiled(closed)).search(text, at)
        if found is None:
            return None
        literal = found.group()
        if not closed and found.end() == len(text) and self._extendable.get(literal, True):
            literal = ""  # it is not complete, or may become a longer one
        return found.start(), literal

    def beginning(self, found: re.Match[str]) -> int | None:
        """Return where a match of `may_end` starts, if it can only become a literal; None if it is one."""
        whole = found.end() < len(found.string) or found.group() in self._extendable
        return None if whole else found.start()

    def match(self, text: str, at: int, closed: bool) -> str | None:
        """Return the literal at this index; "" if the end of the text may become one, None if there is none."""
        found = ((self._closed if closed else self._open) or self._compiled(closed)).match(text, at)
        if found is None:
            return None
        if not closed and found.end() == len(text) and self._extendable.get(found.group(), True):
            return ""
        return found.group()


class ManyLiterals(Literals):
    """As `Literals`, for hundreds of them: a small pattern finds where one may begin, and a table decides.

    Compiling a trie of all known markers would take half a second. `names` are more literals, of one set of tools; the
    pattern does not depend on them, because each begins with a line break or is only searched for with `match`.
    """

    __slots__ = ("_groups", "_names", "_near", "_table")

    def __init__(self, table: LiteralTable, names: tuple[str, ...] = ()) -> None:
        self._table, self._names = table, names
        self.first = table.first.union(name[0] for name in names)
        self.longest = max(table.longest, max(map(len, names), default=0))
        self.trigger = self.before = ""
        self._groups = _groups(names)
        self._near = lru_cache(maxsize=128)(self._of_beginning)

    @property
    def literals(self) -> frozenset[str]:
        return self._table.literals.union(self._names)

    @property
    def may_end(self) -> MayEnd:
        return self._table.pattern.search

    def adding(self, *others: str) -> Literals:
        return ManyLiterals(_table_with(self._table, others), self._names)

    def match(self, text: str, at: int, closed: bool) -> str | None:
        partial, near = self._near(text[at : at + _NEAR])
        ahead = text[at : at + self.longest]
        if not closed and ahead in partial:
            return ""
        return next(filter(ahead.startswith, near), None)

    def _of_beginning(self, beginning: str) -> Near:
        """Return what `LiteralTable.near` does, with the names."""
        of_table = self._table.near(beginning)
        group = self._groups.get(beginning[:2]) or self._groups.get(beginning[0])
        return of_table if group is None else _near(group, beginning, *of_table)

    def search(self, text: str, at: int, closed: bool) -> tuple[int, str] | None:
        search = self._table.pattern.search
        while (found := search(text, at)) is not None:
            at = found.start()
            literal = self.match(text, at, closed)
            if literal is not None:
                return at, literal
            at += 1
        return None

    def beginning(self, found: re.Match[str]) -> int | None:
        text, at = found.string, found.start()
        literal = self.match(text, at, False)
        if literal is None:
            first = self.search(text, at + 1, False)
            if first is None:
                return len(text)
            at, literal = first
        return None if literal else at


class LiteralTable:
    """The literals that many sets share. Each part is made at its first use."""

    def __init__(self, literals: frozenset[str]) -> None:
        self.literals = literals
        self.near = lru_cache(maxsize=256)(self._near)

    @cached_property
    def first(self) -> frozenset[str]:
        return frozenset(beginning[0] for beginning in self._groups)

    @cached_property
    def longest(self) -> int:
        return max(map(len, self.literals))

    @cached_property
    def pattern(self) -> re.Pattern[str]:
        """Finds where a literal may begin."""
        seconds: dict[str, set[str]] = {}
        for beginning in self._groups:
            seconds.setdefault(beginning[0], set()).add(beginning[1:])
        return re.compile("|".join(_beginning(first, then) for first, then in sorted(seconds.items())))

    @cached_property
    def _groups(self) -> dict[str, list[str]]:
        """The literals by their first two characters."""
        groups: dict[str, list[str]] = {}
        for literal in self.literals:
            groups.setdefault(literal[:2], []).append(literal)
        return groups

    def _near(self, beginning: str) -> Near:
        """Return what a text may be that starts with these characters, of which there are at most `_NEAR`.

        Returns:
            The texts that may become a literal, and the literals that it may start with, the longest first.
        """
        groups = self._groups
        found = (beginning[0], beginning[:2]) if len(beginning) > 1 else [key for key in groups if key[0] == beginning]
        group = [literal for key in found if key in groups for literal in groups[key]]
        return _near(group, beginning)


def _near(
    group: Iterable[str], beginning: str, partial: frozenset[str] = frozenset(), others: tuple[str, ...] = ()
) -> Near:
    """Return what `LiteralTable.near` does, for these literals and `others`, whose beginnings are `partial`."""
    longer = {literal for literal in group if literal.startswith(beginning)}
    near = longer.union(literal for literal in group if beginning.startswith(literal))
    if not near:
        return partial, others
    ends = {literal[:end] for literal in longer for end in range(len(beginning), len(literal))}
    return partial.union(ends), tuple(sorted(near.union(others), key=len, reverse=True))


@lru_cache(maxsize=64)
def _table_with(table: LiteralTable, others: tuple[str, ...]) -> LiteralTable:
    return LiteralTable(table.literals.union(others))


def _beginning(first: str, then: set[str]) -> str:
    """Return a pattern of the beginnings of literals. After a line break any name may follow."""
    if "" in then or first == "\n":
        return re.escape(first)
    return f"{re.escape(first)}(?:[{re.escape(''.join(sorted(then)))}]|\\Z)"


def _groups(literals: tuple[str, ...]) -> dict[str, tuple[str, ...]]:
    """Return the literals by their first two characters and, for the end of a text, by their first one, the longest
    first."""
    groups: dict[str, list[str]] = {}
    for literal in sorted(literals, key=len, reverse=True):
        for beginning in {literal[:2], literal[0]}:
            groups.setdefault(beginning, []).append(literal)
        if len(literal) == 1:
            for beginning, group in groups.items():
                if len(beginning) == 2 and beginning[0] == literal:
                    group.append(literal)
    return {beginning: tuple(group) for beginning, group in groups.items()}


@lru_cache(maxsize=2048)
def literals(*literals: str) -> Literals:
    """Return the `Literals` of these strings, from a cache: for strings of formats, not for text of a model."""
    return Literals(literals)


def _trigger(literals: frozenset[str]) -> tuple[str, str]:
    """Return `Literals.trigger` and `Literals.before`. The character that starts most literals is preferred."""
    characters = {character for literal in literals for character in literal[:2]}
    for one in sorted(characters, key=lambda one: (-sum(literal[0] == one for literal in literals), one)):
        if all(one in literal[:2] for literal in literals):
            return one, "".join(sorted({literal[0] for literal in literals} - {one}))
    return "", ""


_DEEPEST = 48
"""Maximum depth of a trie. Each node is a group inside another, and `re` does not compile a few hundred of them."""


def _trie(literals: frozenset[str]) -> str:
    tree: dict[str, Any] = {}
    for literal in literals:
        node = tree
        for character in literal[:_DEEPEST]:
            node = node.setdefault(character, {})
        node[literal[_DEEPEST:]] = {}

    def pattern(node: dict[str, Any], depth: int = 0) -> str:
        if depth == _DEEPEST:  # the rests of long literals, and their beginnings at the end of the text
            rests = [key for key in node if key]
            partial = {rest[:end] for rest in rests for end in range(len(rest))}
            ends = {rest: re.escape(rest) + r"\Z" for rest in partial} | {rest: re.escape(rest) for rest in rests}
            branches = [ends[rest] for rest in sorted(ends, key=len, reverse=True)]
        else:
            branches = [re.escape(key) + pattern(child, depth + 1) for key, child in sorted(node.items()) if key]
        if "" in node:
            branches.append("")
        elif depth and depth < _DEEPEST:
            branches.append(r"\Z")
        return branches[0] if len(branches) == 1 else "(?:" + "|".join(branches) + ")"

    return pattern(tree) if tree else r"(?!)"
