"""Characters of a template's source that no editor shows, or that make it show other characters in another order."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from jinja2 import nodes

from toolfmt.templates.analysis.variables import descendants

_TAGS = "\U000e0001\U000e0020-\U000e007f"
_BIDIRECTIONAL = "\u202a-\u202e\u2066-\u2069"
_OTHERS = "\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180e\u200b-\u200f\u2060-\u2064\u206a-\u206f\u3164\ufeff\uffa0"
_HIDDEN = re.compile(f"[{_TAGS}]+|[{_BIDIRECTIONAL}]|[{_OTHERS}]")
_MOST = 100


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
    """Return what is hidden in the source, comments included, and in its strings by an escape such as `\\u202e`."""
    found = dict.fromkeys(_found(source, tree))
    return tuple(sorted(found, key=lambda one: one.line)[:_MOST])


def _found(source: str, tree: nodes.Template) -> Iterator[HiddenText]:
    for number, line in enumerate(source.split("\n"), 1):
        yield from _hidden(line, number)
    for node in descendants(tree):
        if isinstance(node, nodes.Const) and isinstance(node.value, str):
            yield from _hidden(node.value, node.lineno)


def _hidden(text: str, line: int) -> Iterator[HiddenText]:
    for match in _HIDDEN.finditer(text):
        character = match[0][0]
        if character >= "\U000e0000":
            if text[match.start() - 1 : match.start()] != "\U0001f3f4":  # the flags of England, Scotland and Wales
                yield HiddenText("unicode-tags", ord(character), line, _spelled(match[0]))
        elif re.match(f"[{_BIDIRECTIONAL}]", character):
            yield HiddenText("bidirectional-override", ord(character), line)
        elif not _joins(text, match.start()):
            yield HiddenText("invisible-character", ord(character), line)


def _joins(text: str, offset: int) -> bool:
    """Whether the character at the offset joins two that are no ASCII, as in emoji and in Indic and Persian text."""
    before, after = text[max(0, offset - 1) : offset], text[offset + 1 : offset + 2]
    return text[offset] in "\u200c\u200d" and before > "\x7f" and after > "\x7f"


def _spelled(tags: str) -> str:
    return "".join(chr(ord(tag) - 0xE0000) for tag in tags if 0xE0020 <= ord(tag) < 0xE007F)
