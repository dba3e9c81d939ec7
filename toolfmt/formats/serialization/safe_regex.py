"""Which regular expressions are taken from a file: short ones that take time in proportion to the text they search.

What a pattern from a stranger could blow up on are repetitions that can match one text in many ways. So one without a
bound is of a single character or class, behind a literal that the class does not hold (no two searches then run over
the same stretch) and before one that it does not hold, or at the end (there is one place where it can stop). All else
has a bound, and the ways in which it can match are counted. Groups that capture, names, options, back references and
words' edges are left out.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from math import prod

from toolfmt._util.regular_expressions import Atom, CharacterClass, Group, Node, Options, Repetition, parse

_LONGEST = 300
_MOST_WAYS = 100
_MOST_REPEATED = 64
_DEEPEST = 8
_CLASS = re.compile(r"\[\^?\]?(?:[^\]\\\[]|\\[^a-zA-Z0-9]|\\[sSwWdDntr])*\]")


class NotTaken(Exception):
    """Why a pattern is not taken."""


def check_pattern(pattern: str) -> None:
    """Nothing, for a pattern that is taken. Raises `NotTaken`."""
    if not pattern:
        raise NotTaken("is empty: it would match everywhere")
    if len(pattern) > _LONGEST:
        raise NotTaken(f"is a regular expression of more than {_LONGEST} characters")
    options, end = parse(pattern)
    ways = _options(options, 0)
    if end < len(pattern):
        raise NotTaken("is not a valid regular expression: a closing parenthesis has no opening one")
    if ways > _MOST_WAYS:
        raise NotTaken(f"can match a string in more than {_MOST_WAYS} ways; use fewer alternatives and repetitions")
    try:
        compiled = re.compile(pattern)
    except (re.error, OverflowError) as error:
        raise NotTaken(f"is not a supported regular expression ({error})") from None
    if compiled.match(""):
        raise NotTaken("matches the empty string: it would match everywhere")


def _options(options: Options, depth: int) -> int:
    """The ways of alternatives together."""
    if depth > _DEEPEST:
        raise NotTaken("has groups that are nested too deeply")
    return sum(_sequence(option, depth) for option in options)


def _sequence(nodes: Sequence[Node], depth: int) -> int:
    ways = prod([_ways(node, depth) for node in nodes])
    for at, node in enumerate(nodes):
        if isinstance(node, Repetition) and node.most is None:
            one_of = _one_of(node.node)
            if not at or not all(_apart(one_of, other) for other in (nodes[at - 1], *nodes[at + 1 : at + 2])):
                raise NotTaken(
                    f"repeats {one_of!r} without an upper bound, which requires a literal character "
                    "before and after it that it does not match; add a bound such as {0,40}"
                )
    return ways


def _apart(repeated: str, neighbor: Node) -> bool:
    literal = neighbor.literal if isinstance(neighbor, Atom) else ""
    return bool(literal) and not re.fullmatch(repeated, literal, re.IGNORECASE)


def _one_of(node: Node) -> str:
    """The expression of one character; empty for a group."""
    if isinstance(node, Atom) and node.literal:
        return re.escape(node.literal)
    return node.source if isinstance(node, (Atom, CharacterClass)) else ""


def _ways(node: Node, depth: int) -> int:
    """In how many ways a part of a sequence can match."""
    if isinstance(node, Repetition):
        return _repeated(node, _ways(node.node, depth))
    if isinstance(node, Group):
        return _group(node, depth)
    if isinstance(node, CharacterClass):
        if not _CLASS.fullmatch(node.source):
            raise NotTaken("has a character class that is not closed or contains unsupported syntax")
    elif not node.is_class:
        if node.source[0] == "\\" and not node.literal:
            raise NotTaken(f"has {node.source[:2]}, which is not supported")
        if not node.literal or node.source == "{":
            raise NotTaken(
                f"has {node.source!r} in an unsupported position; write the literal character as \\{node.source}"
            )
    return 1


def _group(node: Group, depth: int) -> int:
    if node.kind not in ("?:", "?=", "?!", "?<=", "?<!"):
        raise NotTaken("has an unsupported kind of group; use (?:…)")
    ways = _options(node.options, depth + 1)
    if any(isinstance(part, Repetition) and part.most is None for option in node.options for part in option):
        raise NotTaken("has a repetition without an upper bound in a group; add a bound such as {0,40}")
    if not node.closed:
        raise NotTaken("has a group that is not closed")
    return ways


def _repeated(node: Repetition, ways: int) -> int:
    if node.stacked:
        raise NotTaken("has a repetition of a repetition, which is not supported")
    if node.quantifier == "?":
        return ways + 1
    if isinstance(node.node, Group):
        raise NotTaken(f"repeats a group ({node.quantifier}), which is not supported; repeat a character class")
    if node.most is None:
        return 1
    if node.most > _MOST_REPEATED:
        raise NotTaken(f"repeats something more than {_MOST_REPEATED} times")
    return max(node.most - node.least, 0) + 1
