"""The tokenizer.json of a model directory: tokenize strings, list special tokens, look up ids.

Used by the tokens section and for stop strings. The `tokenizers` package reads the file once, on first use or in
`loaded` (for a process that opens no files). If it cannot be read, `problem` has the reason. Models with another kind
of tokenizer (SentencePiece, tiktoken) have no such file and therefore no `TokenizerFile`.
"""

from __future__ import annotations

import hashlib
import os
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from toolfmt.errors import ToolfmtError
from toolfmt.formats.parser.tokens.added_tokens import is_marker
from toolfmt.templates.files.safe_open import NoFile, opened, read_at_most

if TYPE_CHECKING:
    from tokenizers import Encoding, Tokenizer

NAME = "tokenizer.json"

# The largest files of known models have about 35 MB (a vocabulary of 262,144).
LARGEST = 100_000_000
"""Maximum size of the file in bytes."""

_LFS_POINTER = b"version https://git-lfs"
_LONGEST_REASON = 160
_LARGEST_ID = 2**32 - 1


class TokenizerFailure(ToolfmtError):
    """The tokenizer cannot be read or cannot tokenize a string; the message is its `problem`."""


class TokenizerFile:
    """A tokenizer.json at `path`, in the directory of its model.

    `problem` is the reason why it cannot be used, in one sentence, or empty. Pickling keeps the bytes of the file, not
    the tokenizer built from it.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._data: bytes | None = None
        self._unread = ""

    def __getstate__(self) -> dict[str, Any]:
        return {name: self.__dict__[name] for name in ("path", "_data", "_unread")}

    def loaded(self) -> TokenizerFile:
        """Read the file and return self. Raise `BadModelDirectory` if it is a link out of its directory."""
        if self._data is None and not self._unread:
            try:
                self._data = _read(self.path)
            except TokenizerFailure as failure:
                self._unread = str(failure)
        return self

    @cached_property
    def digest(self) -> str:
        """The hash that identifies this file, once it is `loaded`."""
        return hashlib.sha256(self._data or self._unread.encode()).hexdigest()

    @cached_property
    def problem(self) -> str:
        try:
            self._special  # noqa: B018 - evaluated for its errors
        except TokenizerFailure as failure:
            return str(failure)
        return ""

    def pieces(self, text: str) -> tuple[str, ...]:
        """Return the tokens as slices of the string if they cover it exactly, else the names of the tokens."""
        encoding = self._encoded(text)
        shown = tuple(text[begin:end] for begin, end in encoding.offsets)
        return shown if "".join(shown) == text and all(shown) else tuple(encoding.tokens)

    def count(self, text: str) -> int:
        """Return the number of tokens, without those that the tokenizer adds automatically."""
        return len(self._encoded(text).ids)

    def special(self, text: str) -> tuple[str, ...]:
        """Return the special tokens in the string, in order: those dropped by `skip_special_tokens`."""
        return tuple(self._special[number] for number in self._encoded(text).ids if number in self._special)

    def text(self, number: object) -> str | None:
        """Return the token with this id, or None."""
        if not isinstance(number, int) or isinstance(number, bool) or not 0 <= number <= _LARGEST_ID:
            return None
        return self.tokenizer.id_to_token(number)

    @property
    def markers(self) -> list[str]:
        """The added tokens that are markers, special or not (`is_marker`), ordered by id."""
        added = self.tokenizer.get_added_tokens_decoder()
        return [token.content for _, token in sorted(added.items()) if is_marker(token.content, special=token.special)]

    @property
    def marker_ids(self) -> dict[str, int]:
        """The added tokens that are markers, with their ids."""
        added = self.tokenizer.get_added_tokens_decoder()
        return {
            token.content: number for number, token in added.items() if is_marker(token.content, special=token.special)
        }

    @cached_property
    def _special(self) -> dict[int, str]:
        added = self.tokenizer.get_added_tokens_decoder()
        return {number: token.content for number, token in added.items() if token.special}

    def _encoded(self, text: str) -> Encoding:
        tokenizer = self.tokenizer
        try:
            return tokenizer.encode(text, add_special_tokens=False)
        except BaseException as error:  # noqa: BLE001 - a panic is not an Exception; `_failure` reraises others
            raise _failure(f"{NAME} cannot cut a text into tokens", error) from None

    @cached_property
    def tokenizer(self) -> Tokenizer:
        """The tokenizer. Raises `TokenizerFailure` if it cannot be used."""
        data = self.loaded()._data
        if data is None:
            raise TokenizerFailure(self._unread)
        try:
            from tokenizers import Tokenizer
        except ImportError as error:  # not installed, or installed for another platform
            raise ToolfmtError(f"{NAME} needs the package tokenizers ({error}); pip install tokenizers") from None

        try:
            tokenizer = Tokenizer.from_buffer(data)
            # Truncation and padding in the file are meant for training and classifiers.
            tokenizer.no_truncation()
            tokenizer.no_padding()
        except BaseException as error:  # noqa: BLE001 - as above
            raise _failure(f"{NAME} is not a tokenizer that can be read", error) from None
        return tokenizer


def find_tokenizer(directory: Path) -> TokenizerFile | None:
    """Return the tokenizer of a model directory, or None if it has no such file."""
    path = directory / NAME
    return TokenizerFile(path) if os.path.lexists(path) else None


def _read(path: Path) -> bytes:
    """Return the bytes of the file. Raise if it is not a file, too large, or a Git LFS pointer."""
    try:
        with opened(path, path.parent) as file:
            size = os.fstat(file.fileno()).st_size
            data = b"" if size > LARGEST else read_at_most(file, LARGEST + 1)
    except NoFile:
        raise TokenizerFailure(f"{NAME} is not a file") from None
    except OSError as error:
        raise TokenizerFailure(f"{NAME} cannot be read ({error.strerror})") from None
    if max(size, len(data)) > LARGEST:
        raise TokenizerFailure(f"{NAME} has {max(size, len(data)):,} bytes, over the limit of {LARGEST:,}")
    if data.startswith(_LFS_POINTER):
        raise TokenizerFailure(f"{NAME} is a pointer of Git LFS, not the file itself")
    return data


def _failure(what: str, error: BaseException) -> TokenizerFailure:
    """Return the failure to raise. The package reports most errors as `Exception`, unexpected ones as a panic."""
    if not isinstance(error, Exception) and type(error).__name__ != "PanicException":
        raise error
    lines = str(error).splitlines() or [type(error).__name__]
    return TokenizerFailure(f"{what}: {lines[0][:_LONGEST_REASON]}")
