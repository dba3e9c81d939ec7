"""Merge alternatives that share a prefix, for engines that follow all of them at once."""

from __future__ import annotations

from collections.abc import Iterable
from os.path import commonprefix

from toolfmt.formats.values.nodes import EMPTY, Node, Row, Text, either, row
from toolfmt.grammars.marker_tokens import Token


def merged_alternatives(parts: Iterable[Node]) -> Iterable[Node]:
    """Yield alternatives with common prefixes merged, because an engine follows all possible alternatives.

    Everything that is common after a token is in the same row as the token. XGrammar 0.2.8 rejects valid texts if a
    token is followed by a rule whose alternatives share a prefix, after free text that must not contain that beginning.
    """
    grouped: dict[str | Node, list[Node]] = {}
    for part in parts:
        first = part.parts[0] if isinstance(part, Row) and part.parts else part
        grouped.setdefault(_lead(part)[:1] or (first if isinstance(first, Token) else part), []).append(part)
    for begin, together in grouped.items():
        if isinstance(begin, Token) and len(together) > 1:
            rests = merged_alternatives(row(*part.parts[1:]) if isinstance(part, Row) else EMPTY for part in together)
            yield row(begin, either(*rests))
            continue
        leads = [_lead(part) for part in together]
        shared = commonprefix(leads) if len(leads) > 1 else ""  # noqa: RUF071  # texts, not paths
        if shared:
            yield row(shared, either(*(_after(part, len(shared)) for part in together)))
        else:
            yield from together


def _lead(node: Node) -> str:
    """Return the text that a node begins with."""
    if isinstance(node, Row) and node.parts:
        return _lead(node.parts[0])
    return node.text if isinstance(node, Text) else ""


def _after(node: Node, length: int) -> Node:
    """Return the node without the start of the text that it begins with."""
    if isinstance(node, Row):
        return row(_after(node.parts[0], length), *node.parts[1:])
    assert isinstance(node, Text), node
    return Text(node.text[length:])
