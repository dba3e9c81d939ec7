"""Token ids as text, one token at a time: a character that several tokens form is returned once it is complete."""

from __future__ import annotations

from codecs import utf_8_decode
from collections.abc import Iterable, Mapping
from operator import index
from typing import Any

from toolfmt.formats.parser.tokens.vocabulary import Tokens, without_noncharacters


class Detokenizer:
    """The text of one output.

    Args:
        tokens: The tokens of the tokenizer.
        markers: The texts of tokens that are returned as markers, by id.

    Attributes:
        length: The number of characters returned so far.
        starts: For each token, the number of characters before it. Tokens that form one character start together.
    """

    def __init__(self, tokens: Tokens, markers: Mapping[int, str]) -> None:
        self._tokens, self._markers = tokens, markers
        self._texts, self._pieces = tokens.vocabulary.markers, tokens.vocabulary.pieces
        self._incomplete = b""
        self.length = 0
        self.starts: list[int] = []

    def feed(self, ids: Iterable[int]) -> list[tuple[str, bool]]:
        """Return pairs of a text and whether it is a marker. Each marker is its own pair.

        Raises:
            TypeError: An id is not an integer.
        """
        found: list[tuple[str, bool]] = []
        text, length, starts = "", self.length, self.starts
        for id in ids:
            starts.append(length)
            piece = self._pieces.get(id)
            if piece is None:
                id = index(id)  # `_pieces` must have no other keys, and a tensor with one id equals no key
                piece = self._texts.get(id)
                if piece is None:
                    piece = self._tokens.piece(id)
                elif id in self._markers:
                    if self._incomplete:
                        text, length = text + self.finish(), length + 1
                        starts[-1] = length
                    if text:
                        found.append((text, False))
                    found.append((piece, True))
                    text, length = "", length + len(piece)
                    continue
            if self._incomplete or isinstance(piece, bytes):
                piece = self._completed(piece)
            text += piece
            length += len(piece)
        self.length = length
        if text:
            found.append((text, False))
        return found

    def finish(self) -> str:
        """Return U+FFFD if a character is incomplete, otherwise an empty string."""
        text, _ = utf_8_decode(self._incomplete, "replace", True)
        self._incomplete = b""
        return text

    def copy(self) -> Detokenizer:
        """Return an independent one in the same state."""
        twin = object.__new__(Detokenizer)
        twin.__dict__.update(self.__dict__)
        twin.starts = self.starts[:]
        return twin

    def _completed(self, piece: str | bytes) -> str:
        """Return the text that a piece completes. A str replaces pending bytes with U+FFFD."""
        if isinstance(piece, str):
            return self.finish() + piece if piece else ""
        data = self._incomplete + piece
        text, read = utf_8_decode(data, "replace", False)
        self._incomplete = data[read:]
        return without_noncharacters(text)


def text_of(ids: Iterable[int], tokenizer: Any) -> str:
    """Return the text of an output. Takes the kinds of tokenizers that `TokenParser` does, and raises its errors."""
    detokenizer = Detokenizer(Tokens(tokenizer), {})
    return "".join(text for text, _ in detokenizer.feed(ids)) + detokenizer.finish()
