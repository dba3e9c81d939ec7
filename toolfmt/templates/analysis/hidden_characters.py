"""Find characters in a template's source that editors do not show, or that change the displayed order of others."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from jinja2 import nodes

from toolfmt.templates.analysis.variables import descendants

_TAGS = "\U000e0000-\U000e007f"
_BIDIRECTIONAL = "\u202a-\u202e\u2066-\u2069"
_CANDIDATE = re.compile(f"[{_TAGS}]+|[^\\t\\n\\r\\x20-\\x7e]")
_INVISIBLE = "\u034f\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0"
"""Characters that are invisible although Unicode classifies them as letters, marks or symbols."""
_SHOWN_AS_NOTHING = frozenset({"Cf", "Cc", "Co", "Cs", "Zl", "Zp"})
_FLAG = re.compile(
    "|".join(
        "\U0001f3f4" + "".join(chr(0xE0000 + ord(letter)) for letter in region) + "\U000e007f"
        for region in ("gbeng", "gbsct", "gbwls")
    )
)
"""The flags of England, Scotland and Wales."""
_SELECTORS = re.compile("[\ufe00-\ufe0d\U000e0100-\U000e01ef]")
"""Variation selectors, except for the two that choose between the text and the emoji form of a character."""
_MOST = 100
"""Per kind."""


@dataclass(frozen=True)
class HiddenText:
    """A hidden character, or several Unicode tags in a row, and the ASCII text that tags spell."""

    kind: Literal["unicode-tags", "bidirectional-override", "invisible-character"]
    code_point: int
    line: int
    spelled: str = ""

    @property
    def name(self) -> str:
        """`U+202E RIGHT-TO-LEFT OVERRIDE`."""
        return f"U+{self.code_point:04X} {unicodedata.name(chr(self.code_point), 'unnamed')}"


def hidden_characters(source: str, tree: nodes.Template) -> tuple[HiddenText, ...]:
    """Return the hidden characters in the source, including comments, and escapes such as `\\u202e` in its strings."""
    found: dict[str, dict[HiddenText, None]] = {}
    for one in _found(source, tree):
        kept = found.setdefault(one.kind, {})
        if len(kept) < _MOST:
            kept[one] = None
    return tuple(sorted((one for kept in found.values() for one in kept), key=lambda one: one.line))


def _found(source: str, tree: nodes.Template) -> Iterator[HiddenText]:
    for number, line in enumerate(source.split("\n"), 1):
        yield from _hidden(line, number)
    for node in descendants(tree):
        if isinstance(node, nodes.Const) and isinstance(node.value, str):
            yield from _hidden(node.value, node.lineno)


def _hidden(text: str, line: int) -> Iterator[HiddenText]:
    for match in _CANDIDATE.finditer(_FLAG.sub("", text)):
        character = match[0][0]
        if "\U000e0000" <= character <= "\U000e007f":
            yield HiddenText("unicode-tags", ord(character), line, _spelled(match[0]))
        elif re.match(f"[{_BIDIRECTIONAL}]", character):
            yield HiddenText("bidirectional-override", ord(character), line)
        elif _is_invisible(character) and not _joins(match.string, match.start()):
            yield HiddenText("invisible-character", ord(character), line)


def _is_invisible(character: str) -> bool:
    if unicodedata.category(character) in _SHOWN_AS_NOTHING or character in _INVISIBLE:
        return True
    noncharacter = ord(character) & 0xFFFE == 0xFFFE or 0xFDD0 <= ord(character) <= 0xFDEF
    return noncharacter or bool(_SELECTORS.match(character))


def _joins(text: str, offset: int) -> bool:
    """Return whether the character at the offset joins two non-ASCII ones, as in emoji, Indic and Persian text."""
    before, after = text[max(0, offset - 1) : offset], text[offset + 1 : offset + 2]
    return text[offset] in "\u200c\u200d" and before > "\x7f" and after > "\x7f"


def _spelled(tags: str) -> str:
    return "".join(chr(ord(tag) - 0xE0000) for tag in tags if 0xE0020 <= ord(tag) < 0xE007F)
