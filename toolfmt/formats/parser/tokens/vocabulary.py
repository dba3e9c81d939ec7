"""The vocabulary of a tokenizer: the text of each token, and which tokens are markers.

A token's text must not depend on the tokens around it, because a parser gets one token at a time. A tokenizer drops the
space that a SentencePiece token at the start of a text begins with, so each token is decoded after another one. If it
is only a part of a character, its bytes are taken from its name instead: `<0xE2>` in SentencePiece, and in byte-level
vocabularies a character for each byte (`bytes_to_unicode` in GPT-2's encoder.py).

Contracts: transformers 5.24 and tokenizers 0.23; mistral-common 1.13, `tokens/tokenizers/tekken.py` and
`sentencepiece.py`; llama-cpp-python 0.3.36, `llama_cpp.py`. This module imports none of them.
"""

from __future__ import annotations

import ctypes
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from functools import cache, cached_property
from operator import index
from typing import Any, TypeAlias
from weakref import WeakKeyDictionary

from toolfmt.formats.parser.tokens.added_tokens import added_tokens, is_marker

Piece: TypeAlias = str | bytes
"""The text of a token, or its bytes if they are not whole characters."""

NONCHARACTERS = tuple(map(chr, range(0xFDD0, 0xFDF0)))
"""Characters that Unicode reserves for internal use."""
_NONCHARACTER = re.compile(f"[{NONCHARACTERS[0]}-{NONCHARACTERS[-1]}]")
_BROKEN = "\ufffd"
_BYTE = re.compile(r"<0x([0-9A-Fa-f]{2})>")
_BEFORE = ("a", "1", ".")
"""Candidate prefixes: each token is decoded after one of them."""
_NO_TOKEN = (IndexError, KeyError, OverflowError, ValueError, TypeError)
"""What tokenizers raise for an id that they do not have."""


class Vocabulary:
    """The tokens of a tokenizer. It holds no reference to the tokenizer, so its cache entry is dropped with it.

    Attributes:
        markers: The texts of the tokens that are markers, by id.
        size: The number of tokens.
        pieces: The texts of the other tokens that were needed so far, by id.
        format_markers: What `token_markers` returned, by its arguments.
    """

    def __init__(self, markers: Mapping[int, str], size: int) -> None:
        self.markers, self.size = markers, size
        self.pieces: dict[int, Piece] = {}
        self.format_markers: dict[Any, Any] = {}


_known: WeakKeyDictionary[Any, Vocabulary] = WeakKeyDictionary()


class Tokens:
    """The tokens of a tokenizer of transformers, tokenizers, mlx-lm, mistral-common or llama-cpp-python.

    Also takes a list of added tokens as strings; then ids are not supported. Raises `TypeError` for anything else.
    """

    def __init__(self, tokenizer: Any) -> None:
        self.has_ids = not isinstance(tokenizer, (list, tuple, set, frozenset))
        if not self.has_ids:
            self.vocabulary = Vocabulary(dict(enumerate(map(_special_text, tokenizer))), 0)
            return
        kind = _kind(tokenizer)
        known = _known.get(kind.tokenizer)
        if known is None or known.size != kind.size:
            known = _known[kind.tokenizer] = Vocabulary(kind.markers(), kind.size)
        self.vocabulary, self._kind = known, kind

    def piece(self, id: int) -> Piece:
        """Return the text of a token that is not a marker; "" if there is no such token.

        Raises `TypeError` if the id is not an integer.
        """
        pieces, id = self.vocabulary.pieces, index(id)
        piece = pieces.get(id)
        if piece is None:
            try:
                piece = self._kind.piece(id)
            except _NO_TOKEN:
                piece = ""
            pieces[id] = piece = piece if isinstance(piece, bytes) else without_noncharacters(piece)
        return piece


def without_noncharacters(text: str) -> str:
    """Return text in which noncharacters, which no text should have, are replaced. The parser uses them itself."""
    return _NONCHARACTER.sub(_BROKEN, text)


def _special_text(text: object) -> str:
    if not isinstance(text, str):
        raise TypeError(f"added tokens must be strings, not {type(text).__name__}")
    return text


class _HuggingFace:
    """A tokenizer of transformers, or of tokenizers."""

    def __init__(self, tokenizer: Any) -> None:
        self.tokenizer = tokenizer
        fast = hasattr(tokenizer, "id_to_token")
        self._name: Callable[[int], str | bytes | None]
        self._name = tokenizer.id_to_token if fast else tokenizer.convert_ids_to_tokens
        self._options = {} if fast else {"clean_up_tokenization_spaces": False}
        self.size: int = tokenizer.get_vocab_size() if fast else len(tokenizer)

    @staticmethod
    def matches(tokenizer: Any) -> bool:
        fast = hasattr(tokenizer, "id_to_token") and hasattr(tokenizer, "get_added_tokens_decoder")
        return fast or (hasattr(tokenizer, "convert_ids_to_tokens") and hasattr(tokenizer, "added_tokens_decoder"))

    def markers(self) -> dict[int, str]:
        return added_tokens(self.tokenizer)

    def piece(self, id: int) -> Piece:
        name = self._name(id)
        if name is None:
            return ""
        if isinstance(name, bytes):
            return _piece(name)
        before, dropped = self._before
        text = self._decode([*before, id])[dropped:]
        return _bytes_of(name) or text if _BROKEN in text else text

    @cached_property
    def _before(self) -> tuple[list[int], int]:
        """The ids that are decoded before each token, and the length of their text."""
        for text in _BEFORE:
            encoded = self.tokenizer.encode(text, add_special_tokens=False)
            ids = list(getattr(encoded, "ids", encoded))
            if ids and self._decode(ids).strip() == text:
                return ids, len(self._decode(ids))
        return [], 0

    def _decode(self, ids: Sequence[int]) -> str:
        return str(self.tokenizer.decode(ids, skip_special_tokens=False, **self._options))


class _MistralCommon:
    """A Tekkenizer or SentencePieceTokenizer of mistral-common."""

    def __init__(self, tokenizer: Any) -> None:
        self.tokenizer = tokenizer
        self.size: int = tokenizer.n_words

    @staticmethod
    def matches(tokenizer: Any) -> bool:
        return hasattr(tokenizer, "special_ids") and hasattr(tokenizer, "id_to_piece")

    def markers(self) -> dict[int, str]:
        return {id: text for id in self.tokenizer.special_ids if len(text := self.tokenizer.id_to_piece(id)) > 1}

    def piece(self, id: int) -> Piece:
        if not 0 <= id < self.size:
            return ""
        if hasattr(self.tokenizer, "id_to_byte_piece"):
            return _piece(self.tokenizer.id_to_byte_piece(id))
        name = str(self.tokenizer.id_to_piece(id))
        return _bytes_of(name) if _BYTE.fullmatch(name) else name.replace("▁", " ")


class _LlamaCpp:
    """A `llama_cpp.Llama`."""

    def __init__(self, tokenizer: Any) -> None:
        self.tokenizer = tokenizer
        self.size: int = tokenizer.n_vocab()
        self._llama_cpp: Any = sys.modules["llama_cpp"]  # already imported: the tokenizer comes from it
        self._vocab = self._llama_cpp.llama_model_get_vocab(tokenizer.model)

    @staticmethod
    def matches(tokenizer: Any) -> bool:
        return hasattr(tokenizer, "n_vocab") and hasattr(tokenizer, "detokenize")

    def markers(self) -> dict[int, str]:
        llama_cpp, vocab = self._llama_cpp, self._vocab
        found = {}
        for id in range(self.size):
            attributes = llama_cpp.llama_vocab_get_attr(vocab, id)
            if attributes & (llama_cpp.LLAMA_TOKEN_ATTR_CONTROL | llama_cpp.LLAMA_TOKEN_ATTR_USER_DEFINED):
                text = llama_cpp.llama_vocab_get_text(vocab, id).decode("utf-8", "replace")
                if is_marker(text, special=bool(attributes & llama_cpp.LLAMA_TOKEN_ATTR_CONTROL)):
                    found[id] = text
        return found

    def piece(self, id: int) -> Piece:
        if not 0 <= id < self.size:
            return ""  # llama.cpp aborts on unknown ids
        size = 64
        while True:
            buffer = ctypes.create_string_buffer(size)
            length = self._llama_cpp.llama_token_to_piece(self._vocab, id, buffer, size, 0, True)
            if length >= 0:
                return _piece(buffer.raw[:length])
            size = -length


_Kind: TypeAlias = _LlamaCpp | _MistralCommon | _HuggingFace


def _kind(tokenizer: Any) -> _Kind:
    """Return the adapter for a tokenizer, or for the one inside a wrapper of transformers or mlx-lm."""
    outer, found = None, tokenizer
    while found is not None and not isinstance(found, type):
        for kind in (_LlamaCpp, _MistralCommon, _HuggingFace):
            if kind.matches(found):
                if kind is not _HuggingFace or hasattr(found, "id_to_token"):
                    return kind(found)
                outer = found
        inner = (getattr(found, name, None) for name in ("_tokenizer", "tokenizer", "instruct_tokenizer"))
        found = next((one for one in inner if one is not None), None)
    if outer is None:
        raise TypeError(
            f"{type(tokenizer).__name__} is not a tokenizer; pass one from transformers, tokenizers, mlx-lm, "
            "mistral-common or llama-cpp-python, or a list of added tokens"
        )
    return _HuggingFace(outer)


def _piece(data: bytes) -> Piece:
    try:
        return data.decode()
    except UnicodeDecodeError:
        return data


def _bytes_of(name: str) -> bytes:
    """Return the bytes of a token with this name; none if its name does not show them."""
    if byte := _BYTE.fullmatch(name):
        return bytes([int(byte[1], 16)])
    alphabet = _byte_alphabet()
    return bytes(alphabet[character] for character in name) if all(map(alphabet.__contains__, name)) else b""


@cache
def _byte_alphabet() -> dict[str, int]:
    """Return the byte of each character in the names of byte-level tokens.

    Printable characters of Latin-1 are themselves; the other bytes, in order, are the characters from U+0100 on.
    """
    printable = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    others = [byte for byte in range(256) if byte not in printable]
    return {chr(byte): byte for byte in printable} | {chr(0x100 + at): byte for at, byte in enumerate(others)}
