"""The text in the tag of a name or a key: the word alone, or the word in quotes with attributes after it.

This is a parameter of `Tagged`, as data. The engine gets the word from it, the types that the tag declares for the
value, and a tolerance if the tag has text that the family does not write.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Protocol

from toolfmt.formats.scanner.scanner import Malformed
from toolfmt.formats.values.schema_types import STRING, Types, type_of
from toolfmt.messages.rejections import shown

_ATTRIBUTES = re.compile(r"""(?:\s+[\w:.-]+=(?:"[^"]*"|'[^']*'|[^\s"'{}]+))*\s*/?""")
_ATTRIBUTE = re.compile(r"""\s([\w:.-]+)=("[^"]*"|'[^']*'|[^\s"'{}]+)""")
_WORD_ALONE = re.compile(r"(?:.*\s)?[\w:.-]+\s*")
_ATTRIBUTE_NAME = re.compile(r"[\w:.-]+")
DAMAGED = "damaged_attribute"
NOT_STRING = frozenset({"number", "integer", "boolean", "object", "array", "null"})


class Header(Protocol):
    """How a family writes the text in the tag of a name or a key."""

    @property
    def quote(self) -> str:
        """The character that ends the name in the tag. Empty if only the end of the tag does."""

    def read(self, text: str) -> tuple[str, Types]:
        """Return the name or key in a tag, and the types that the tag declares for the value, or None.

        Args:
            text: The text of the tag.
        """

    def tolerance(self, text: str) -> str:
        """Return the tolerance for text that the family does not write. Empty if the tag has no such text.

        Args:
            text: The text of the tag.

        Raises:
            Malformed: The tag is incomplete.
        """

    def value(self, text: str) -> str | None:
        """Return the value that models write in an attribute instead of after the tag. None if there is none.

        Args:
            text: The text of the tag.
        """

    def write(self, text: str, value: Any, at: int) -> str:
        """Return the text of a tag.

        Args:
            text: The key or the name.
            value: The value of the key.
            at: The position of the key in the call, or the number of the call.
        """


@dataclass(frozen=True)
class Plain:
    """The text of the tag is the name."""

    quote: ClassVar[str] = ""

    def read(self, text: str) -> tuple[str, Types]:
        return text, None

    def tolerance(self, text: str) -> str:
        return ""

    def value(self, text: str) -> str | None:
        return None

    def write(self, text: str, value: Any, at: int) -> str:
        return text


@dataclass(frozen=True)
class Attributes:
    """The name in quotes, optionally followed by attributes. The first quote is part of the tag's start marker.

    The two attributes are written in this order and parsed in any order.

    Attributes:
        type_attribute: The attribute that declares the type of a value. Empty if there is none.
        string: Its value for a string, whose text is the value itself.
        other_types: Its values for JSON. The writer uses the name of the value's type if it is listed, or else the
            first.
        index_attribute: The attribute that counts the calls, or the arguments of a call, from 1. Empty if there is
            none.

    Raises:
        ValueError: An attribute is invalid.
    """

    type_attribute: str = ""
    string: str = "true"
    other_types: tuple[str, ...] = ("false",)
    index_attribute: str = ""
    quote: ClassVar[str] = '"'

    def __post_init__(self) -> None:
        for parameter, name in (("type_attribute", self.type_attribute), ("index_attribute", self.index_attribute)):
            if name and not _ATTRIBUTE_NAME.fullmatch(name):
                raise ValueError(f"{parameter}: invalid attribute name {name!r:.80}")
        words = [word.lower() for word in (self.string, *self.other_types)]
        if self.type_attribute and (not self.other_types or words.count(self.string.lower()) > 1):
            raise ValueError(f"other_types: {self.other_types!r:.80} must differ from {self.string!r:.80}")
        if self.type_attribute and not all(re.fullmatch(r"[^\s\"'/<>]+", word) for word in words):
            raise ValueError(f"other_types: types must be words without quotes, not {words!r:.80}")

    def read(self, text: str) -> tuple[str, Types]:
        name, _, rest = text.partition(self.quote)
        found = self._type.search(rest) if self.type_attribute else None
        return name, None if found is None else STRING if found[1].lower() == self.string.lower() else NOT_STRING

    @cached_property
    def _type(self) -> re.Pattern[str]:
        return re.compile(rf"""\b{re.escape(self.type_attribute)}=["']?([^\s"'/]*)""")

    def tolerance(self, text: str) -> str:
        name, quote, rest = text.partition(self.quote)
        if not quote:
            return DAMAGED
        if rest in self._written and name[-1:] != "=":
            return ""
        if rest.count(self.quote) % 2 or name.endswith("=") or _WORD_ALONE.fullmatch(rest):
            raise Malformed(expected=f"{shown(self.quote)} after the name in the tag")
        if not _ATTRIBUTES.fullmatch(rest):
            return DAMAGED
        found = _ATTRIBUTE.findall(rest)
        twice = len({word for word, _ in found}) < len(found)
        others = [word for word in found if not self._knows(*word)]
        return "other_attributes" if others or twice or rest.endswith("/") else ""

    @cached_property
    def _written(self) -> frozenset[str]:
        """Attributes as the family writes them, with the space before them; also none."""
        kinds = (self.string, *self.other_types) if self.type_attribute and not self.index_attribute else ()
        return frozenset(("", *(f' {self.type_attribute}="{kind}"' for kind in kinds)))

    def value(self, text: str) -> str | None:
        rest = text.partition(self.quote)[2]
        if not rest:
            return None
        found = [each for each in _ATTRIBUTE.findall(rest) if each[0] in ("value", self.type_attribute)]
        values = [value for word, value in found if not self._knows(word, value)]
        if len(values) != 1 or values[0][0] not in "\"'" or "&" in values[0]:
            return None  # more than one reading is possible
        return str(values[0][1:-1])

    def _knows(self, word: str, value: str) -> bool:
        """Return whether the family writes this attribute with such a value."""
        if word == self.type_attribute:
            return value.strip("\"'").lower() in {known.lower() for known in (*self.other_types, self.string)}
        return word == self.index_attribute

    def write(self, text: str, value: Any, at: int) -> str:
        attributes = [(self.type_attribute, self._type_of(value))] if self.type_attribute else []
        if self.index_attribute:
            attributes.append((self.index_attribute, str(at + 1)))
        return f'{text}"' + "".join(f' {name}="{word}"' for name, word in attributes)

    def _type_of(self, value: Any) -> str:
        """Return the value of `type_attribute` for a value."""
        if isinstance(value, str):
            return self.string
        kind = type_of(value)
        return next((word for word in self.other_types if word.lower() == kind), self.other_types[0])


@dataclass(frozen=True)
class EscapedAttributes(Attributes):
    """Like `Attributes`, but `&` and `"` in the name are written as `&amp;` and `&quot;`."""

    def read(self, text: str) -> tuple[str, Types]:
        name, types = super().read(text)
        return name.replace("&quot;", '"').replace("&amp;", "&"), types

    def write(self, text: str, value: Any, at: int) -> str:
        return super().write(text.replace("&", "&amp;").replace('"', "&quot;"), value, at)


PLAIN = Plain()
QUOTED = Attributes()
STRING_ATTRIBUTE = Attributes(type_attribute="string")
"""The header of keys with `string="true"` if the text is the string itself, and `string="false"` if it is JSON."""
