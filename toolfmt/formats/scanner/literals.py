"""Sets of literal strings that are searched in text that arrives in chunks."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache
from typing import Any, TypeAlias

MayEnd: TypeAlias = Callable[[str], "re.Match[str] | None"]


class Literals:
    """A set of literal strings to search for, also where one may begin at the end of the text.

    The open pattern is a trie in which every node also matches at the end of the text. So one search finds a literal,
    and a text that may become one.
    """

    __slots__ = ("_closed", "_extendable", "_open", "before", "first", "literals", "longest", "may_end", "trigger")

    def __init__(self, literals: tuple[str, ...]) -> None:
        self.literals = frozenset(literals)
        self.first = frozenset(literal[0] for literal in literals)
        self.longest = max(map(len, literals), default=0)
        ordered = sorted(self.literals)  # a longer literal directly follows its beginning
        self._extendable = {
            short: following.startswith(short) for short, following in zip(ordered, [*ordered[1:], ""], strict=False)
        }
        """For each literal, whether it is the beginning of another one."""
        self.trigger, self.before = _trigger(self.literals)
        """A character that is the first of every literal, or the second after one of `before`. `may_end` is not needed
        for a text without it that does not end with one of those. Empty if there is no such character."""

    _closed: re.Pattern[str]
    _open: re.Pattern[str]
    may_end: MayEnd
    """Finds the first literal in a text, or what may become one at its end."""

    def __getattr__(self, name: str) -> Any:
        """Compile a pattern at its first use. Most formats never search for all of their literals, and compiling them
        would take most of the time of a first parser."""
        if name == "_closed":
            longest_first = sorted(self.literals, key=lambda literal: (-len(literal), literal))
            self._closed = re.compile("|".join(map(re.escape, longest_first)) or r"(?!)")
        elif name == "_open":
            self._open = re.compile(_trie(self.literals))
        elif name == "may_end":
            self.may_end = self._open.search
        else:
            raise AttributeError(name)
        return object.__getattribute__(self, name)

    def search(self, text: str, at: int, closed: bool) -> tuple[int, str] | None:
        """Return the index of the first literal, and the literal; "" if the end of the text may become one."""
        found = (self._closed if closed else self._open).search(text, at)
        if found is None:
            return None
        literal = found.group()
        if not closed and found.end() == len(text) and self._extendable.get(literal, True):
            literal = ""  # it is not complete, or may become a longer one
        return found.start(), literal

    def beginning(self, found: re.Match[str]) -> int | None:
        """Return where a match of `may_end` starts, if it can only become a literal; None if it is one."""
        whole = found.end() < len(found.string) or found.group() in self.literals
        return None if whole else found.start()

    def match(self, text: str, at: int, closed: bool) -> str | None:
        """Return the literal at this index; "" if the end of the text may become one, None if there is none."""
        found = (self._closed if closed else self._open).match(text, at)
        if found is None:
            return None
        if not closed and found.end() == len(text) and self._extendable.get(found.group(), True):
            return ""
        return found.group()


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
        if depth == _DEEPEST:  # the rests of long literals; what may still become one waits a little longer
            rests = sorted((key for key in node if key), key=len, reverse=True)
            waiting = [rf"[\s\S]{{0,{len(rests[0]) - 1}}}\Z"] if rests else []
            branches = [*map(re.escape, rests[:1]), *waiting, *map(re.escape, rests[1:])]
        else:
            branches = [re.escape(key) + pattern(child, depth + 1) for key, child in sorted(node.items()) if key]
        if "" in node:
            branches.append("")
        elif depth and depth < _DEEPEST:
            branches.append(r"\Z")
        return branches[0] if len(branches) == 1 else "(?:" + "|".join(branches) + ")"

    return pattern(tree) if tree else r"(?!)"
