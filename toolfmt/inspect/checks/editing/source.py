"""A template's source as words with offsets, and edits of it that keep every other character.

`words` splits the code between a template's delimiters as jinja2 does; `edited` applies edits. Line ends are newlines
here: `as_newlines` and `with_line_ends_of` convert.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from toolfmt.templates import lexed


@dataclass(frozen=True, order=True)
class Edit:
    """The text that replaces the characters from `start` to `end` (exclusive)."""

    start: int
    end: int
    text: str


@dataclass(frozen=True)
class Word:
    """A word of an expression or statement: its kind and text as in jinja2's lexer, and its offsets."""

    kind: str
    text: str
    start: int
    end: int

    def is_one(self, *texts: str) -> bool:
        """Return whether it is one of these names, operators or brackets; false for strings."""
        return self.text in texts and self.kind != "string"

    @property
    def string(self) -> str | None:
        """The value of a string literal without escapes; None for anything else."""
        return self.text[1:-1] if self.kind == "string" and "\\" not in self.text else None


def words(source: str) -> list[Word]:
    """Return the words of the code, including the delimiters, without whitespace and comments.

    Text outside the code is a word of the kind `data`. Empty if the offsets of the words cannot be determined.
    """
    found, at = [], 0
    for kind, text in lexed(source):
        start = source.find(text, at)
        # The lexer only leaves out whitespace next to a delimiter with a dash.
        if start < 0 or source[at:start].strip():
            return []
        at = start + len(text)
        if text and kind not in ("whitespace", "comment", "comment_begin", "comment_end"):
            found.append(Word(kind, text, start, at))
    return found


def edited(source: str, edits: Iterable[Edit]) -> str:
    """Return the source with these edits, which must not overlap."""
    for edit in sorted(edits, reverse=True):
        source = source[: edit.start] + edit.text + source[edit.end :]
    return source


def line_at(source: str, offset: int) -> int:
    """Return the line of a character, counted from 1."""
    return source.count("\n", 0, offset) + 1


def as_newlines(source: str) -> str | None:
    """Return the source with a newline at the end of every line; None if its line ends are mixed."""
    unified = source.replace("\r\n", "\n")
    return None if "\r" in unified or (unified != source and source.count("\r\n") != source.count("\n")) else unified


def with_line_ends_of(source: str, changed: str) -> str:
    """Return the changed text with the line ends of the original source."""
    return changed.replace("\n", "\r\n") if "\r\n" in source else changed
