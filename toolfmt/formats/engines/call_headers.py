"""Convert the name and id of a call to the header of the call and back, as data for the named JSON engine.

A header has one word, or two words with a marker between them. A constructor raises `ValueError` for parameters that
do not result in such a header.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Protocol

from toolfmt.formats.engines.frame import NAME_CHARACTERS
from toolfmt.formats.values.call_id_template import check_id_form, format_call_id

_NAMELIKE, _NUMBER = re.compile(f"[{NAME_CHARACTERS}]*"), re.compile("[0-9]+")
_WORD = re.compile(rf"[\w$@][{NAME_CHARACTERS}]*")


class Identity(Protocol):
    """How a family writes the name and the id of a call."""

    @property
    def marker(self) -> str:
        """The marker between the two words of a header. Empty if a header has one word."""

    @property
    def always(self) -> bool:
        """Whether every call of the family has an id."""

    def read(self, first: str, second: str) -> tuple[str, str | None]:
        """Return the name and the id in a header.

        Args:
            first: The first word.
            second: The second word. Empty if the marker is missing.
        """

    def write(self, name: str, at: int) -> str:
        """Return the header of a call.

        Args:
            name: The tool's name.
            at: The number of the call.
        """


def _check_word(marker: str, id: str) -> None:
    """Raise `ValueError` unless the marker can separate two words and the ids are single words."""
    if not marker.strip() or _NAMELIKE.fullmatch(marker.strip()):
        raise ValueError(f"marker is {marker!r:.80}, which cannot be distinguished from part of the name")
    check_id_form(id, "id")
    if id and not _WORD.fullmatch(format_call_id(id, "f", 1)):
        raise ValueError(f"id is {id!r:.80}, which is not a single word of a header")


@dataclass(frozen=True)
class NameOnly:
    """The name without an id."""

    marker = ""
    always = False

    def read(self, first: str, second: str) -> tuple[str, str | None]:
        return first, second or None

    def write(self, name: str, at: int) -> str:
        return name


@dataclass(frozen=True)
class NameThenId:
    """The name, optionally followed by a marker and the id. The writer omits both if the template `id` is empty."""

    marker: str
    id: str = ""
    always = False

    def __post_init__(self) -> None:
        _check_word(self.marker, self.id)

    def read(self, first: str, second: str) -> tuple[str, str | None]:
        return first, second or None

    def write(self, name: str, at: int) -> str:
        return name + self.marker + format_call_id(self.id, name, at) if self.id else name


@dataclass(frozen=True)
class IdThenName:
    """The id, a marker and the name. `id` is the template of written ids."""

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
        return format_call_id(self.id, name, at) + self.marker + name


@dataclass(frozen=True)
class Indexed:
    """The id contains the name: `functions.NAME:3`. The number counts the calls of the conversation.

    The name may contain both delimiters.
    """

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
