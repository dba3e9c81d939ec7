"""A template's source by the places of its words, and edits of it that leave every other character where it is.

`words` cuts what stands between a template's brackets as jinja2 does, `edited` puts edits in. Line ends are newlines in
here: `as_newlines` and `with_line_ends_of` go there and back.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from toolfmt.templates import lexed


@dataclass(frozen=True, order=True)
class Edit:
    """The text that takes the place of the characters from `start` up to `end`."""

    start: int
    end: int
    text: str


@dataclass(frozen=True)
class Word:
    """A word of an expression or statement: its kind and text as jinja2's lexer has them, and where it stands."""

    kind: str
    text: str
    start: int
    end: int

    def is_one(self, *texts: str) -> bool:
        """Whether it is one of these names, operators or brackets; never a string."""
        return self.text in texts and self.kind != "string"

    @property
    def string(self) -> str | None:
        """What a string says, as far as that is told without an escape; None for anything else."""
        return self.text[1:-1] if self.kind == "string" and "\\" not in self.text else None


def words(source: str) -> list[Word]:
    """The words between brackets, the brackets among them, without blanks and comments; the texts outside are words
    of the kind `data`.

    Empty where the places of the words cannot be told.
    """
    found, at = [], 0
    for kind, text in lexed(source):
        start = source.find(text, at)
        # What the lexer leaves out are blanks beside a bracket with a dash.
        if start < 0 or source[at:start].strip():
            return []
        at = start + len(text)
        if text and kind not in ("whitespace", "comment", "comment_begin", "comment_end"):
            found.append(Word(kind, text, start, at))
    return found


def edited(source: str, edits: Iterable[Edit]) -> str:
    """The source with these edits, none of which overlap."""
    for edit in sorted(edits, reverse=True):
        source = source[: edit.start] + edit.text + source[edit.end :]
    return source


def line_at(source: str, offset: int) -> int:
    """The line of a character, from 1."""
    return source.count("\n", 0, offset) + 1


def as_newlines(source: str) -> str | None:
    """The source with a newline at the end of every line; None where its lines end in several ways."""
    alike = source.replace("\r\n", "\n")
    return None if "\r" in alike or (alike != source and source.count("\r\n") != source.count("\n")) else alike


def with_line_ends_of(source: str, changed: str) -> str:
    """The changed text with the line ends of the source that it was made of."""
    return changed.replace("\n", "\r\n") if "\r\n" in source else changed
