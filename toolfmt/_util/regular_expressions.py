"""Parse a regular expression into nodes.

Parsing never fails. What a caller does not support is a node too (`Atom("*")`, `Group("?", …)`), so each caller rejects
it with its own message, as an `UnsupportedPattern`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeAlias

_CLASSES = frozenset({".", *(f"\\{letter}" for letter in "sSwWdD")})
_BOUNDS: dict[str, tuple[int, int | None]] = {"*": (0, None), "+": (1, None), "?": (0, 1)}
_CONTROLS = {"n": "\n", "t": "\t", "r": "\r"}
_CHARACTER = r"(?:\\(?:x[0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8}|.)?|.)"
_ATOM = re.compile(_CHARACTER, re.DOTALL)
_CLASS = re.compile(r"\[\^?\]?(?:[^\]\\]|\\.)*\]", re.DOTALL)
_MEMBER = re.compile(rf"(\\[sSwWdD])|({_CHARACTER})(?:-({_CHARACTER}))?", re.DOTALL)
_GROUP = re.compile(r"\((\?(?:P<\w+>|:|=|!|<=|<!)?)?")
_QUANTIFIER = re.compile(r"([*+?]|\{[0-9]{1,9}(?:,[0-9]{0,9})?\})(\??)")


class UnsupportedPattern(Exception):
    """An expression, or a part of it, is not supported. The message describes that part or gives the reason."""


@dataclass(frozen=True, slots=True)
class Atom:
    """A character or an escape, as written. This includes special characters, such as `*` at the start."""

    source: str

    @property
    def is_class(self) -> bool:
        """Whether it matches several characters: `.`, `\\s`, `\\W` …"""
        return self.source in _CLASSES

    @property
    def literal(self) -> str:
        """The character that it matches. Empty for `^`, `$`, `.`, `*`, `+`, `?` and for most escaped letters."""
        if self.source[0] != "\\":
            return "" if self.source in "^$.*+?" else self.source
        escaped = self.source[1:]
        return _CONTROLS.get(escaped, "") if escaped.isalnum() else escaped


@dataclass(frozen=True, slots=True)
class CharacterClass:
    """A class such as `[^a-z]`, as written. If it is not `closed`, it contains the rest of the expression."""

    source: str
    closed: bool = True

    @property
    def negated(self) -> bool:
        return self.source.startswith("[^")

    def members(self) -> Iterator[tuple[str, str]]:
        """Yield the first and last character of each range, as written. A single member has an empty last one."""
        inner = self.source[1 + self.negated : -1 if self.closed else None]
        for found in _MEMBER.finditer(inner):
            yield found[1] or found[2], found[3] or ""


@dataclass(frozen=True, slots=True)
class Group:
    """A group. `kind` is empty, or what follows the parenthesis: `?:`, `?=`, `?P<name>`; `?` for any other kind."""

    kind: str
    options: Options
    closed: bool


@dataclass(frozen=True, slots=True)
class Repetition:
    """A node with its quantifier. `stacked` means that another quantifier follows, possibly the `?` of a lazy one."""

    node: Single
    quantifier: str
    least: int
    most: int | None
    lazy: bool
    stacked: bool


Single: TypeAlias = Atom | CharacterClass | Group
Node: TypeAlias = Single | Repetition
Options: TypeAlias = tuple[tuple[Node, ...], ...]


def parse(source: str) -> tuple[Options, int]:
    """Return the alternatives of an expression, and the position where parsing ended: the end, or an unmatched `)`.

    Open groups are on a stack, because an expression can be nested more deeply than Python's recursion limit.
    """
    at = 0
    stack: list[tuple[str, list[list[Node]]]] = [("", [[]])]
    while at < len(source):
        node: Single
        if opened := _GROUP.match(source, at):
            stack.append((opened[1] or "", [[]]))
            at = opened.end()
            continue
        if source[at] == "|":
            stack[-1][1].append([])
            at += 1
            continue
        if source[at] == ")":
            if len(stack) == 1:
                break
            node = _group(stack, closed=True)
            at += 1
        elif source[at] == "[":
            found = _CLASS.match(source, at)
            node = CharacterClass(found[0] if found else source[at:], found is not None)
            at += len(node.source)
        else:
            node = Atom(source[at : _ATOM.match(source, at).end()])  # type: ignore[union-attr]  # matches any character
            at += len(node.source)
        quantifier = _QUANTIFIER.match(source, at)
        stack[-1][1][-1].append(_repetition(node, quantifier) if quantifier else node)
        at = quantifier.end() if quantifier else at
    while len(stack) > 1:
        node = _group(stack, closed=False)
        stack[-1][1][-1].append(node)
    return _group(stack, closed=True).options, at


def _group(stack: list[tuple[str, list[list[Node]]]], *, closed: bool) -> Group:
    kind, options = stack.pop()
    return Group(kind, tuple(map(tuple, options)), closed)


def _repetition(node: Single, found: re.Match[str]) -> Repetition:
    quantifier = found[1]
    if quantifier in _BOUNDS:
        least, most = _BOUNDS[quantifier]
    else:
        first, comma, last = quantifier[1:-1].partition(",")
        least, most = int(first), int(last) if last else None if comma else int(first)
    stacked = found.string[found.end(1) : found.end(1) + 1] in ("?", "*", "+", "{")
    return Repetition(node, quantifier, least, most, bool(found[2]), stacked)
