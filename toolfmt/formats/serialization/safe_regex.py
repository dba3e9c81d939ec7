"""Decide which regular expressions a file may contain: short ones whose search time is proportional to the text.

A pattern of a stranger can take exponential time if its repetitions can match one text in many ways. Therefore an
unbounded repetition must be of a single character or class. It must follow a literal that the class does not match, so
that two searches never cover the same text. After it must be such a literal or the end of the pattern, so that there is
one position where it can stop. Everything else is bounded, and the number of ways in which it can match is limited.
Capturing and named groups, flags, backreferences and word boundaries are not supported.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from math import prod

from toolfmt._util.regular_expressions import (
    Atom,
    CharacterClass,
    Group,
    Node,
    Options,
    Repetition,
    UnsupportedPattern,
    parse,
)

_LONGEST = 300
_MOST_WAYS = 100
_MOST_REPEATED = 64
_DEEPEST = 8
_CLASS = re.compile(r"\[\^?\]?(?:[^\]\\\[]|\\[^a-zA-Z0-9]|\\[sSwWdDntr])*\]")


def check_pattern(pattern: str) -> None:
    """Raise `UnsupportedPattern` for a pattern that a file may not contain."""
    if not pattern:
        raise UnsupportedPattern("is empty: it would match everywhere")
    if len(pattern) > _LONGEST:
        raise UnsupportedPattern(f"is a regular expression of more than {_LONGEST} characters")
    options, end = parse(pattern)
    ways = _options(options, 0)
    if end < len(pattern):
        raise UnsupportedPattern("is not a valid regular expression: a closing parenthesis has no opening one")
    if ways > _MOST_WAYS:
        raise UnsupportedPattern(
            f"can match a string in more than {_MOST_WAYS} ways; use fewer alternatives and repetitions"
        )
    try:
        compiled = re.compile(pattern)
    except (re.error, OverflowError) as error:
        raise UnsupportedPattern(f"is not a supported regular expression ({error})") from None
    if compiled.match(""):
        raise UnsupportedPattern("matches the empty string: it would match everywhere")


def _options(options: Options, depth: int) -> int:
    """Return the number of ways in which alternatives can match."""
    if depth > _DEEPEST:
        raise UnsupportedPattern("has groups that are nested too deeply")
    return sum(_sequence(option, depth) for option in options)


def _sequence(nodes: Sequence[Node], depth: int) -> int:
    """Return the number of ways in which a sequence can match, after checking its unbounded repetitions."""
    ways = prod([_ways(node, depth) for node in nodes])
    for at, node in enumerate(nodes):
        if isinstance(node, Repetition) and node.most is None:
            repeated = _source_of_one_character(node.node)
            if not at or not all(_excludes(repeated, other) for other in (nodes[at - 1], *nodes[at + 1 : at + 2])):
                raise UnsupportedPattern(
                    f"repeats {repeated!r} without an upper bound, which requires a literal character "
                    "before and after it that it does not match; add a bound such as {0,40}"
                )
    return ways


def _excludes(repeated: str, neighbor: Node) -> bool:
    """Whether the neighbor is a literal character that the repeated expression does not match."""
    literal = neighbor.literal if isinstance(neighbor, Atom) else ""
    return bool(literal) and not re.fullmatch(repeated, literal, re.IGNORECASE)


def _source_of_one_character(node: Node) -> str:
    """Return the expression of a node that matches one character. Empty for a group."""
    if isinstance(node, Atom) and node.literal:
        return re.escape(node.literal)
    return node.source if isinstance(node, (Atom, CharacterClass)) else ""


def _ways(node: Node, depth: int) -> int:
    """Return the number of ways in which a node can match."""
    if isinstance(node, Repetition):
        return _repeated(node, _ways(node.node, depth))
    if isinstance(node, Group):
        return _group(node, depth)
    if isinstance(node, CharacterClass):
        if not _CLASS.fullmatch(node.source):
            raise UnsupportedPattern("has a character class that is not closed or contains unsupported syntax")
    elif not node.is_class:
        if node.source[0] == "\\" and not node.literal:
            raise UnsupportedPattern(f"has {node.source[:2]}, which is not supported")
        if not node.literal or node.source == "{":
            raise UnsupportedPattern(
                f"has {node.source!r} in an unsupported position; write the literal character as \\{node.source}"
            )
    return 1


def _group(node: Group, depth: int) -> int:
    if node.kind not in ("?:", "?=", "?!", "?<=", "?<!"):
        raise UnsupportedPattern("has an unsupported kind of group; use (?:…)")
    ways = _options(node.options, depth + 1)
    if any(isinstance(part, Repetition) and part.most is None for option in node.options for part in option):
        raise UnsupportedPattern("has a repetition without an upper bound in a group; add a bound such as {0,40}")
    if not node.closed:
        raise UnsupportedPattern("has a group that is not closed")
    return ways


def _repeated(node: Repetition, ways: int) -> int:
    if node.stacked:
        raise UnsupportedPattern("has a repetition of a repetition, which is not supported")
    if node.quantifier == "?":
        return ways + 1
    if isinstance(node.node, Group):
        raise UnsupportedPattern(
            f"repeats a group ({node.quantifier}), which is not supported; repeat a character class"
        )
    if node.most is None:
        return 1
    if node.most > _MOST_REPEATED:
        raise UnsupportedPattern(f"repeats something more than {_MOST_REPEATED} times")
    return max(node.most - node.least, 0) + 1
