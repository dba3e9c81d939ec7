"""Parse the regular expressions of `Pattern` nodes into nodes, for grammar formats without regular expressions.

`toolfmt.formats.values.nodes.Pattern` defines what they may contain. Anything else is a bug in this package and raises
a ValueError.
"""

from __future__ import annotations

from dataclasses import dataclass

from toolfmt._util import regular_expressions
from toolfmt._util.regular_expressions import CharacterClass, Group, Options, Repetition, UnsupportedPattern, parse
from toolfmt.formats.values.nodes import EMPTY, Node, Repeated, Text, either, maybe, row

_ESCAPED = {"n": "\n", "r": "\r", "t": "\t", "f": "\f", "b": "\b"}
_UNSUPPORTED = frozenset(".^$*+?{")


@dataclass(frozen=True)
class Characters(Node):
    """One character in these ranges (first and last), or with `but`, one in none of them."""

    ranges: tuple[tuple[str, str], ...]
    but: bool = False


def nodes_of(pattern: str) -> Node:
    """Return the expression as nodes of texts, sequences, alternatives, repetitions and `Characters`."""
    options, end = parse(pattern)
    try:
        if end < len(pattern):
            raise UnsupportedPattern
        return _alternatives(options)
    except UnsupportedPattern:
        raise ValueError(f"no expression that every syntax can say: {pattern!r}") from None


def _alternatives(options: Options) -> Node:
    return either(*(row(*map(_node, option)) for option in options))


def _node(part: regular_expressions.Node) -> Node:
    if isinstance(part, Repetition):
        if part.stacked:
            raise UnsupportedPattern
        node = _node(part.node)
        return maybe(node) if part.quantifier == "?" else _times(node, part.least, part.most)
    if isinstance(part, Group):
        if part.kind not in ("", "?:") or not part.closed:
            raise UnsupportedPattern
        return _alternatives(part.options)
    if isinstance(part, CharacterClass):
        if not part.closed:
            raise UnsupportedPattern
        ranges = ((_character(first), _character(last or first)) for first, last in part.members())
        return Characters(tuple(ranges), part.negated)
    if part.source in _UNSUPPORTED:
        raise UnsupportedPattern
    return Text(_character(part.source))


def _character(source: str) -> str:
    if source[0] != "\\":
        return source
    escaped = source[1:]
    if len(escaped) > 1:
        return chr(int(escaped[1:], 16))
    if escaped in _ESCAPED:
        return _ESCAPED[escaped]
    if not escaped or escaped.isalnum():
        raise UnsupportedPattern
    return escaped


def _times(part: Node, least: int, most: int | None) -> Node:
    if most == 0:
        return EMPTY
    return Repeated(part, EMPTY, least, most) if least else maybe(Repeated(part, EMPTY, 1, most))
