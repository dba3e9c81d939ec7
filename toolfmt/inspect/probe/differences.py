"""Compare two strings: find what differs between their common prefix and their common suffix.

Linear in the length of the strings, since prompts of untrusted templates may have megabytes.
"""

from __future__ import annotations

import difflib
import re
from dataclasses import dataclass

_LONGEST_WORD = 40
_MARKER = re.compile(r"<[^<>\s]{1,60}>\Z")
_LONGEST_MARKER = 62
_MARKER_BEGIN, _MARKER_END = re.compile(r"<[^<>\s]{0,60}\Z"), re.compile(r"[^<>\s]{0,60}>")
_SHORT, _LOOKED_AT = 24, 400
_TOKENS = re.compile(r"\w+|\W")


def common_prefix(one: str, other: str) -> int:
    """Return the length of the common prefix."""
    low, high = 0, min(len(one), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        if one[low:middle] == other[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low


def common_ends(one: str, other: str) -> tuple[int, int]:
    """Return the length of the common prefix, and of the common suffix of the rest."""
    begin = common_prefix(one, other)
    return begin, common_prefix(one[begin:][::-1], other[begin:][::-1])


@dataclass(frozen=True)
class TextChange:
    """`removed` occurs only in the first string, `added` only in the second; `at_end` if no common text follows."""

    removed: str
    added: str
    at_end: bool


def change(one: str, other: str) -> TextChange:
    """Return the changed part of both strings, widened to whole words and markers if neither part is empty."""
    begin, end = common_ends(one, other)
    if begin + end < min(len(one), len(other)):
        begin, end = _to_markers(one, *_to_words(one, begin, end))
    return TextChange(one[begin : len(one) - end], other[begin : len(other) - end], end == 0)


def first_change(one: str, other: str) -> TextChange:
    """As `change`, but only the first difference if there are several."""
    whole = change(one, other)
    if min(len(whole.removed), len(whole.added)) < _SHORT:
        return whole
    was, becomes = (_TOKENS.findall(text[:_LOOKED_AT]) for text in (whole.removed, whole.added))
    matcher = difflib.SequenceMatcher(None, was, becomes, autojunk=False)
    for kind, begin, end, first, last in matcher.get_opcodes():
        if kind != "equal":
            shared = one[: common_prefix(one, other)][-_LONGEST_MARKER:] + "".join(was[:begin])
            removed, added = "".join(was[begin:end]), "".join(becomes[first:last])
            return TextChange(removed, added if removed else _from_marker(shared, added), at_end=False)
    return whole


def _from_marker(shared: str, added: str) -> str:
    """Shift an insertion between two equal markers to start with the first of them, as a turn does."""
    marker = _MARKER.search(shared)
    ends = marker is not None and added.endswith(marker[0])
    return marker[0] + added[: -len(marker[0])] if marker is not None and ends else added


def _to_words(text: str, begin: int, end: int) -> tuple[int, int]:
    """Move the two cuts outward to the ends of the words that they split."""
    for _ in range(_LONGEST_WORD):
        if begin and (text[begin - 1].isalnum() or text[begin - 1] == "_"):
            begin -= 1
        if end and (text[len(text) - end].isalnum() or text[len(text) - end] == "_"):
            end -= 1
    return begin, end


def _to_markers(text: str, begin: int, end: int) -> tuple[int, int]:
    """Move the two cuts outward to the ends of the markers (`<|user|>`) that they split."""
    if cut := _MARKER_BEGIN.search(text, max(0, begin - _LONGEST_MARKER), begin):
        begin = cut.start()
    last = len(text) - end
    if _MARKER_BEGIN.search(text, max(begin, last - _LONGEST_MARKER), last) and (cut := _MARKER_END.match(text, last)):
        end -= len(cut[0])
    return begin, end
