"""What stands in the tag of a name or a key: the word alone, or the word in quotes with attributes behind it.

A parameter of `Tagged`, as data. Its reader asks for the word and for the types that the tag states of the value; what
the family does not write is a fault with a name.
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
    """What stands in the tag of a name or a key."""

    @property
    def quote(self) -> str:
        """What ends the name in the tag; empty where the tag's own end does."""

    def read(self, text: str) -> tuple[str, Types]:
        """The name or key in the tag's text, and the types that the tag allows for the value, if it tells."""

    def fault(self, text: str) -> str:
        """What the tag's text holds that the family does not write, as it is noted; malformed where the tag is torn."""

    def write(self, text: str, value: Any, at: int) -> str:
        """The tag's text: from a key and its value and place, or from a name and the call's number."""


@dataclass(frozen=True)
class Plain:
    """The tag's text is the name."""

    quote: ClassVar[str] = ""

    def read(self, text: str) -> tuple[str, Types]:
        return text, None

    def fault(self, text: str) -> str:
        return ""

    def write(self, text: str, value: Any, at: int) -> str:
        return text


@dataclass(frozen=True)
class Attributes:
    """The name in quotes, the first of which belongs to the tag's opener, then perhaps further attributes.

    `type_attribute` tells whether the value's text is the string that it is (where its own value is `string`) or JSON
    (any other word: one of `other_types`, the name of the value's type where there are several). `index_attribute`
    counts the calls, or the arguments of one, from 1 on. They are written in this order, and read in any.
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

    def fault(self, text: str) -> str:
        name, quote, rest = text.partition(self.quote)
        if not quote:
            return DAMAGED
        if not rest and name[-1:] != "=":
            return ""
        if rest.count(self.quote) % 2 or name.endswith("=") or _WORD_ALONE.fullmatch(rest):
            raise Malformed(expected=f"{shown(self.quote)} after the name in the tag")
        if not _ATTRIBUTES.fullmatch(rest):
            return DAMAGED
        found = _ATTRIBUTE.findall(rest)
        twice = len({word for word, _ in found}) < len(found)
        others = [word for word in found if not self._knows(*word)]
        return "other_attributes" if others or twice or rest.endswith("/") else ""

    def _knows(self, word: str, value: str) -> bool:
        """Whether the family writes this attribute so."""
        if word == self.type_attribute:
            return value.strip("\"'").lower() in {known.lower() for known in (*self.other_types, self.string)}
        return word == self.index_attribute

    def write(self, text: str, value: Any, at: int) -> str:
        attributes = [(self.type_attribute, self._type_of(value))] if self.type_attribute else []
        if self.index_attribute:
            attributes.append((self.index_attribute, str(at + 1)))
        return f'{text}"' + "".join(f' {name}="{word}"' for name, word in attributes)

    def _type_of(self, value: Any) -> str:
        """The word for a value's type."""
        if isinstance(value, str):
            return self.string
        kind = type_of(value)
        return next((word for word in self.other_types if word.lower() == kind), self.other_types[0])


@dataclass(frozen=True)
class EscapedAttributes(Attributes):
    """The same with `&` and `"` in the name written `&amp;` and `&quot;`."""

    def read(self, text: str) -> tuple[str, Types]:
        name, types = super().read(text)
        return name.replace("&quot;", '"').replace("&amp;", "&"), types

    def write(self, text: str, value: Any, at: int) -> str:
        return super().write(text.replace("&", "&amp;").replace('"', "&quot;"), value, at)


PLAIN = Plain()
QUOTED = Attributes()
STRING_ATTRIBUTE = Attributes(type_attribute="string")
"""The header of keys that say `string="true"` where the text is the string, and `string="false"` where it is JSON."""
