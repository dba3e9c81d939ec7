"""Replace the markers of a grammar that are one token of the model, for XGrammar."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from toolfmt.formats.values.nodes import EMPTY, FreeText, Node, RawText, Repeated, Row, Text, maybe, row, with_inner
from toolfmt.grammars.expressions import Characters


@dataclass(frozen=True)
class Token(Node):
    """The token with this id."""

    id: int


class MarkerTokens:
    """The markers that are one token, with their ids."""

    def __init__(self, tokens: Mapping[str, int]) -> None:
        self._tokens = tokens
        longest_first = sorted(filter(None, tokens), key=len, reverse=True)
        self._marker = re.compile("|".join(map(re.escape, longest_first)) or r"(?!)")

    def pieces(self, text: str) -> list[str]:
        """Return the text split into markers and the text between them."""
        pieces: list[str] = []
        at = 0
        for found in self._marker.finditer(text):
            pieces += [text[at : found.start()], found.group()]
            at = found.end()
        return [piece for piece in (*pieces, text[at:]) if piece]

    def split_end(self, text: str) -> tuple[str, list[str]]:
        """Return the text before the first marker, and the pieces from it on."""
        pieces = self.pieces(text)
        first = next((at for at, piece in enumerate(pieces) if piece in self._tokens), len(pieces))
        return "".join(pieces[:first]), pieces[first:]

    def replaced(self, node: Node) -> tuple[Node, bool]:
        """Return the node with tokens in place of its markers, and whether it allows fewer texts.

        A parser of token ids ignores a marker that is written in several tokens. A parser of text does not. So a raw
        text contains its end marker and other excluded markers in neither form. With a limited length, it does not
        contain the first character of one either.
        """
        narrower = False

        def change(node: Node) -> Node:
            nonlocal narrower
            match node:
                case Text(text):
                    return row(*map(self._piece, self.pieces(text)))
                case Row(parts):
                    return row(*map(change, parts))
                case RawText(end, never, least, most):
                    last, after = self.split_end(end)
                    if not after:
                        return node
                    without = tuple(dict.fromkeys((*never, end.strip())))
                    inside: Node = FreeText(without)
                    if least or most is not None:
                        narrower = True
                        starts = sorted({text[0] for text in without if text})
                        one = Characters(tuple((start, start) for start in starts), but=True)
                        inside = Repeated(one, EMPTY, max(least, 1), most)
                        inside = inside if least else maybe(inside)
                    return row(inside, last, *map(self._piece, after))
            return with_inner(node, change)

        return change(node), narrower

    def _piece(self, piece: str) -> Node:
        return Token(self._tokens[piece]) if piece in self._tokens else Text(piece)
