"""A text without what it says: its letters and digits are others, its length, signs, blanks and markers are its own.

What stands as it was is known beforehand: the markers of toolfmt's own formats and a list of words. So nothing of a
user's text can come through by being overlooked; a word of hers does only where it is one of these.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator
from functools import cache
from typing import Any


def words_of(text: str) -> frozenset[str]:
    """The words of a text, to be kept."""
    return frozenset(re.findall(r"\w+", text))


WORDS = words_of(
    "name arguments parameters function type id index true false null True False None NaN Infinity json python "
    "tool tools tool_call tool_calls tool_name call calls action string number integer boolean object array "
    "properties required items enum to all user assistant system analysis commentary final content"
)
"""Words that calls are written with in one family or another."""

_LONGEST_MARKER = 120
_MARKERS_KEPT_OF = 3
"""How much of a marker the end of a cut text has to hold to be the beginning of one."""
_LETTERS, _OTHERS = "abcdefghijklmnopqrstuvwyz", "".join(map(chr, range(0x3B1, 0x3CA)))
"""What names are spelled in: no x, which is every other letter of a text."""
_ESCAPES = frozenset("\"'\\/bfnrt\n")
_STAND_INS = {"M": "\u0301", "So": "\u263a", "Cf": "\u200b", "Co": "\ufffd", "Cn": "\ufffd", "Cs": "\ud800", "N": "1"}
"""What stands for signs that can spell words, by their category: accents, flags and letters in circles, tags."""
_REST = (
    r"(?P<escape>\\(?:u[0-9a-fA-F]{4}|x[0-9a-fA-F]{2}|.))"
    r"|(?P<entity>&(?:amp|lt|gt|quot|apos);)"
    r"|(?P<number>(?<![\w.])[0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?(?!\w))"
    r"|(?P<run>\w+)"
    r"|(?P<sign>.)"
)


class Masking:
    """Masks texts alike: the same name is another one, the same everywhere.

    `names` are those of tools and parameters, whose words have to stay apart from each other; `markers` and `words`
    stand as they are beside what always does.
    """

    def __init__(self, names: Iterable[str] = (), markers: Iterable[str] = (), words: Iterable[str] = ()) -> None:
        self._markers = tuple(sorted({*known_markers(), *markers}, key=lambda mark: (-len(mark), mark)))
        self._words = WORDS | frozenset(words)
        literal = "|".join(map(_whole, self._markers))
        self._parts = re.compile(f"(?P<marker>{literal})|{_REST}", re.DOTALL)
        self._names: dict[str, str] = {}
        counts: dict[int, int] = {}
        for piece in _pieces(names, self._words):
            if piece not in self._names:
                number = counts[len(piece)] = counts.get(len(piece), -1) + 1
                self._names[piece] = _spelled(piece, number)

    def masked(self, text: str) -> str:
        """The text, masked: as long as it was."""
        cut = self._begun(text)
        parts = (self._part(found) for found in self._parts.finditer(text, 0, len(text) - len(cut)))
        return "".join(parts) + cut

    def _part(self, found: re.Match[str]) -> str:
        kind, text = found.lastgroup, found[0]
        if kind in ("marker", "entity"):
            return text
        if kind == "escape":
            return _escape(text)
        if kind == "number":
            return re.sub("[0-9]", "1", text)
        if kind == "run":
            return text if text in self._words else "_".join(map(self._piece, text.split("_")))
        return _sign(text)

    def _piece(self, piece: str) -> str:
        name = self._names.get(piece.lower())
        return "".join(map(_letter, piece)) if name is None else _in_case_of(piece, name)

    def _begun(self, text: str) -> str:
        """The beginning of a marker that the text ends in the midst of."""
        for length in range(min(len(text), _LONGEST_MARKER), _MARKERS_KEPT_OF - 1, -1):
            end = text[-length:]
            if not end[0].isalnum() and any(mark.startswith(end) for mark in self._markers):
                return end
        return ""


@cache
def known_markers() -> frozenset[str]:
    """What the formats of toolfmt itself mark calls and reasoning with: what holds a sign beside letters."""
    from toolfmt.formats.known import KNOWN
    from toolfmt.formats.markers import markers_of
    from toolfmt.formats.reasoning_pairs import COMMON
    from toolfmt.formats.stored import as_data

    found = {mark for pair in COMMON for mark in pair}
    for known in KNOWN:
        marks = markers_of(known)
        found |= {*marks.in_answers, *marks.ends, *_texts(as_data(known).get("engine"))}
    return frozenset(mark for mark in map(str.strip, found) if is_marker(mark))


def is_marker(text: str) -> bool:
    """Whether it is worth keeping as a whole: letters and a sign, of no great length."""
    letters = any(map(str.isalnum, text))
    return letters and len(text) <= _LONGEST_MARKER and not all(char.isalnum() or char in "_ " for char in text)


def markers_in(data: Any) -> frozenset[str]:
    """The markers among the texts of a format as data."""
    return frozenset(mark for mark in map(str.strip, _texts(data)) if is_marker(mark))


def _texts(data: Any) -> Iterator[str]:
    if isinstance(data, str):
        yield data
    elif isinstance(data, (dict, list, tuple)):
        for one in data.values() if isinstance(data, dict) else data:
            yield from _texts(one)


def _whole(mark: str) -> str:
    """The marker as an expression: one that begins or ends with a letter is no part of a word."""
    before = r"(?<!\w)" if re.match(r"\w", mark) else ""
    return before + re.escape(mark) + (r"(?!\w)" if re.search(r"\w\Z", mark) else "")


def _pieces(names: Iterable[str], words: frozenset[str]) -> Iterator[str]:
    """The words that names are made of, in small letters."""
    for name in names:
        for run in re.findall(r"\w+", name):
            if run not in words:
                yield from (piece.lower() for piece in run.split("_") if any(map(str.isalpha, piece)))


def _spelled(piece: str, number: int) -> str:
    """Another word of that length, another one for every number as far as there are so many."""
    spelled = []
    for char in reversed(piece):
        if char.isalpha():
            number, place = divmod(number, len(_LETTERS))
            spelled.append((_LETTERS if char.isascii() else _OTHERS)[place])
        else:
            spelled.append(_letter(char))
    return "".join(reversed(spelled))


def _in_case_of(piece: str, name: str) -> str:
    if len(piece) != len(name):  # a letter of which the small one is two
        return "".join(map(_letter, piece))
    return "".join(new.upper() if old.isupper() else new for old, new in zip(piece, name, strict=True))


def _letter(char: str) -> str:
    """What stands for a letter or a digit."""
    if char.isalpha():
        small = "x" if char.isascii() else "ö"
        return small.upper() if char.isupper() else small
    return "1" if char.isalnum() else char


def _sign(char: str) -> str:
    """What stands for a sign."""
    if char.isascii():
        return char
    kind = unicodedata.category(char)
    if kind == "So" and char == "▁":  # in markers, where other families have a blank
        return char
    return next((other for begin, other in _STAND_INS.items() if kind.startswith(begin)), char)


def _escape(text: str) -> str:
    """An escape of the same length and kind that says nothing."""
    if len(text) == 2:
        return text if text[1] in _ESCAPES else "\\" + ("q" if text[1].isalnum() else _sign(text[1]))
    if text[1] == "x":
        return "\\x78"
    code = int(text[2:], 16)
    if code < 0x80 and not chr(code).isalnum():
        return text
    return "\\ud83d" if 0xD800 <= code < 0xDC00 else "\\ude42" if 0xDC00 <= code < 0xE000 else "\\u0078"
