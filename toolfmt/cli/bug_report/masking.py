"""Mask text: letters become x, digits 1, every other character outside ASCII ö. Lengths stay the same.

Names of tools and parameters become different words instead, so that they stay different from each other. Only known
text is kept: the markers of toolfmt's formats and a list of words. So text of a user can never be kept by mistake.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import cache
from typing import Any


def words_of(text: str) -> frozenset[str]:
    """Return the words of a string."""
    return frozenset(re.findall(r"\w+", text))


WORDS = words_of(
    "name arguments parameters function type id index true false null True False None NaN Infinity json python "
    "tool tools tool_call tool_calls tool_name call calls action string number integer boolean object array "
    "properties required items enum to all user assistant system analysis commentary final content"
)
"""Words that tool calls of some format contain."""
_LETTERS = "abcdefghijklmnopqrstuvwyz"
_LONGEST_MARKER = 120
_SHORTEST_CUT = 3
"""Characters of a marker that are kept at the end of truncated text."""
_PARTS = (
    r"(?P<escape>\\(?:u[0-9a-fA-F]{4}|x[0-9a-fA-F]{2}|.))"
    r"|(?P<number>(?<![\w.])[0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?(?!\w))"
    r"|(?P<word>\w+)"
    r"|(?P<character>.)"
)


class Masking:
    """Masks text. `words` are kept in addition to the standard ones. `names` stay different from each other."""

    def __init__(self, words: Iterable[str] = (), names: Iterable[str] = ()) -> None:
        named = sorted({word for name in names for word in words_of(name)} - WORDS)
        self._names = {word: _spelled(word, number) for number, word in enumerate(named)}
        self._markers = sorted(known_markers(), key=lambda mark: (-len(mark), mark))
        self._words = WORDS | frozenset(words)
        markers_expression = "|".join(map(_whole, self._markers))
        self._parts = re.compile(f"(?P<marker>{markers_expression})|{_PARTS}", re.DOTALL)

    def masked(self, text: str) -> str:
        """Return the masked text, which has the same length."""
        cut = self._cut_marker(text)
        return self._parts.sub(self._part, text[: len(text) - len(cut)]) + cut

    def _part(self, found: re.Match[str]) -> str:
        kind, text = found.lastgroup, found[0]
        if kind == "marker" or (kind == "word" and text in self._words):
            return text
        if text in self._names:
            return self._names[text]
        if kind == "escape":
            return _escape(text)
        return re.sub("[0-9]", "1", text) if kind == "number" else "".join(map(_character, text))

    def _cut_marker(self, text: str) -> str:
        """Return the part of a marker at the end of the text. Truncated output is parsed differently without it."""
        for length in range(min(len(text), _LONGEST_MARKER), _SHORTEST_CUT - 1, -1):
            end = text[-length:]
            if not end[0].isalnum() and any(mark.startswith(end) for mark in self._markers):
                return end
        return ""


@cache
def known_markers() -> frozenset[str]:
    """Return the markers of toolfmt's own formats, of calls and of reasoning."""
    from toolfmt.formats.format import COMMON_REASONING
    from toolfmt.formats.known import KNOWN
    from toolfmt.formats.serialization.format_data import format_to_dict

    found = {mark for pair in COMMON_REASONING for mark in pair}
    for known in KNOWN:
        marks = known.markers
        found |= {*marks.output_literals, *marks.ends, *_texts(format_to_dict(known).get("engine"))}
    return frozenset(filter(_is_marker, map(str.strip, found)))


def _is_marker(text: str) -> bool:
    """Return whether the text is short and has letters and a delimiter."""
    letters = any(map(str.isalnum, text))
    return letters and len(text) <= _LONGEST_MARKER and not all(char.isalnum() or char in "_ " for char in text)


def _texts(data: Any) -> Iterator[str]:
    if isinstance(data, str):
        yield data
    elif isinstance(data, (dict, list, tuple)):
        for one in data.values() if isinstance(data, dict) else data:
            yield from _texts(one)


def _whole(mark: str) -> str:
    """Return the marker as a regular expression. A letter at its edge must not continue a word."""
    before = r"(?<!\w)" if re.match(r"\w", mark) else ""
    return before + re.escape(mark) + (r"(?!\w)" if re.search(r"\w\Z", mark) else "")


def _spelled(word: str, number: int) -> str:
    """Return a word of this length without x. It is different for each number if it is long enough."""
    spelled = ""
    for char in reversed(word):
        if char.isascii() and char.isalpha():
            number, letter = divmod(number, len(_LETTERS))
            spelled += _LETTERS[letter].upper() if char.isupper() else _LETTERS[letter]
        else:
            spelled += _character(char)
    return spelled[::-1]


def _character(char: str) -> str:
    if not char.isascii():
        return "ö"
    if char.isalpha():
        return "X" if char.isupper() else "x"
    return "1" if char.isdigit() else char


def _escape(text: str) -> str:
    """Return an escape sequence of the same length, valid in JSON if the text is."""
    if len(text) == 2:
        return text if text[1] in "\"'\\/bfnrt\n" else f"\\{_character(text[1])}"
    if text[1] == "x":
        return r"\x78"
    code = int(text[2:], 16)
    return r"\ud83d" if 0xD800 <= code < 0xDC00 else r"\ude42" if 0xDC00 <= code < 0xE000 else r"\u0078"
