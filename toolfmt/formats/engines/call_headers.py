"""How name and id of a call make the words of its header, and the other way round: as data, for the named JSON engine.

A header has one word, or two with a marker between them. Whatever is no such header is refused with `ValueError` when
the value is made.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Protocol

from toolfmt.formats.engines.frame import NAME_CHARACTERS
from toolfmt.formats.values.call_id_template import check_id_form, made_id

_NAMELIKE, _NUMBER = re.compile(f"[{NAME_CHARACTERS}]*"), re.compile("[0-9]+")
_WORD = re.compile(rf"[\w$@][{NAME_CHARACTERS}]*")


class Identity(Protocol):
    """How a family tells name and id."""

    @property
    def marker(self) -> str:
        """What stands between the two words of a header; empty where there is one."""

    @property
    def always(self) -> bool:
        """Whether no call of the family is without an id."""

    def read(self, first: str, second: str) -> tuple[str, str | None]:
        """Name and id of the words; the second is empty where the marker does not stand."""

    def write(self, name: str, at: int) -> str:
        """The header of the call with this number."""


def _check_word(marker: str, id: str) -> None:
    """Raises `ValueError` where the marker before a word, or the form of an id makes no word."""
    if not marker.strip() or _NAMELIKE.fullmatch(marker.strip()):
        raise ValueError(f"marker is {marker!r:.80}, which cannot be distinguished from part of the name")
    check_id_form(id, "id")
    if id and not _WORD.fullmatch(made_id(id, "f", 1)):
        raise ValueError(f"id is {id!r:.80}, which is not a single word of a header")


@dataclass(frozen=True)
class NameOnly:
    """The name, and no id."""

    marker = ""
    always = False

    def read(self, first: str, second: str) -> tuple[str, str | None]:
        return first, second or None

    def write(self, name: str, at: int) -> str:
        return name


@dataclass(frozen=True)
class NameThenId:
    """The name, and behind a marker the id, where it stands. Without the form of an `id` the writer leaves it out."""

    marker: str
    id: str = ""
    always = False

    def __post_init__(self) -> None:
        _check_word(self.marker, self.id)

    def read(self, first: str, second: str) -> tuple[str, str | None]:
        return first, second or None

    def write(self, name: str, at: int) -> str:
        return name + self.marker + made_id(self.id, name, at) if self.id else name


@dataclass(frozen=True)
class IdThenName:
    """The id, a marker, the name; `id` is the form of ids that are written."""

    marker: str
    id: str
    always = True

    def __post_init__(self) -> None:
        _check_word(self.marker, self.id)
        if not self.id:
            raise ValueError("id is empty, but an id is required before the marker")

    def read(self, first: str, second: str) -> tuple[str, str | None]:
        return (second, first) if second else (first, None)

    def write(self, name: str, at: int) -> str:
        return made_id(self.id, name, at) + self.marker + name


@dataclass(frozen=True)
class Indexed:
    """`functions.NAME:3` is the id as a whole; the number counts the calls of the conversation. Names may hold either
    delimiter."""

    marker = ""
    always = True

    def read(self, first: str, second: str) -> tuple[str, str | None]:
        rest = first.removeprefix("functions.")
        name, colon, number = rest.rpartition(":")
        if colon and _NUMBER.fullmatch(number):
            return name, first
        return ("", first) if rest.isdecimal() else (rest, None)

    def write(self, name: str, at: int) -> str:
        return f"functions.{name}:{at}"


NAME_ONLY = NameOnly()
INDEXED = Indexed()
