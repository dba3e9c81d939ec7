"""Split strings at known words, at markers, and where two strings have a common start or end.

Every function is linear, or looks at a bounded part. Nothing here knows what the words are.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence

from toolfmt.inspect.probe.differences import common_prefix


def _paired() -> dict[str, str]:
    """Return the non-ASCII brackets, as a map from start to end.

    These are Unicode's opening characters with an adjacent closing one, and two pairs of quotes used as brackets.
    """
    pairs = {"«": "»", "‹": "›"}
    for code in (
        *range(0x80, 0x3400),
        *range(0xFB00, 0x10000),
    ):  # the range in between has only ideographs and syllables
        if unicodedata.category(chr(code)) == "Ps":
            closing = [
                character for character in (chr(code + 1), chr(code + 2)) if unicodedata.category(character) == "Pe"
            ]
            pairs |= dict.fromkeys(chr(code), *closing[:1]) if closing else {}
    return pairs


_PAIRED = _paired()
_BEGIN, _END = "".join(_PAIRED), "".join(_PAIRED.values())
# Double brackets are one delimiter: `<<call`, `>>`, `<<end>>`, `[[call`, `]]`. Cut in two, their first character would
# become the start marker of every call.
_TOKEN = re.compile(
    r"<<[^\s<>][^<>\n]{0,60}>>|<[^\s<>][^<>\n]{0,60}>|<<?[^\s<>]*|\[\[[^\[\]\s<>]{1,60}(?:\]\])?|\[/?[^\[\]\s<>]*\]|"
    r">>|\]\]|\s+|"
    + "|".join(f"{begin}[^{begin}{end}\n]*{end}?" for begin, end in _PAIRED.items())
    + rf"|[^\s<>\[\]{_BEGIN}]+|.",
    re.S,
)
_CHUNK = re.compile(
    r"<<[^<>]*>>|<[^<>]*>|\[\[[^\[\]]*\]\]|\[[^\[\]]*\]|"
    rf"[{_BEGIN}][^{_BEGIN}{_END}]*[{_END}]?|[^<\[\s{_BEGIN}][^<\[{_BEGIN}]*|<[^<>]*\Z|.",
    re.S,
)
_MARKER = re.compile(rf"<[^<>\n]+>|\[[^\[\]\s]+\]|[{_BEGIN}][^\s]*")
_TAG = re.compile(r"<[^\s<>][^<>\n]{0,80}>")
_OPENS, _CLOSES = frozenset("<[{(" + _BEGIN), frozenset(">]})" + _END)
_WORD_ENDS, _WORD_GOES_ON = re.compile(r"[\w▁|｜/]"), re.compile(r"[\w▁|｜]")
_MOST_SHARED = 400
"""Common text of two strings is one or a few markers: only this many characters are compared."""


def cut(text: str, words: Sequence[str]) -> list[str]:
    """Split at the words: literals and words in turn, starting and ending with a literal, which may be empty."""
    pattern = "|".join(re.escape(word) for word in sorted(set(words), key=len, reverse=True))
    return re.split(f"({pattern})", text)


def markers(text: str) -> list[str]:
    """Return the markers, words and delimiters of a string, without whitespace."""
    return [token for token in _TOKEN.findall(text) if token.strip()]


def chunks(text: str) -> list[str]:
    """As `markers`, but other text after a marker is one piece, and tags with attributes are not split."""
    return [piece for piece in _CHUNK.findall(text.strip()) if piece.strip()]


def is_marker(text: str) -> bool:
    """Return whether the string is a single marker: text in brackets."""
    return _MARKER.fullmatch(text) is not None


def begins_with_marker(text: str) -> bool:
    return _MARKER.match(text) is not None


def holds_marker(text: str) -> bool:
    return _MARKER.search(text) is not None


def common_start(one: str, other: str) -> str:
    """Return the common start, not ending within a marker or a word; empty if it is only whitespace."""
    one, other = one[:_MOST_SHARED], other[:_MOST_SHARED]
    length, longest = common_prefix(one, other), max(len(one), len(other))
    while length and (
        (length < longest and (inside_marker(one[:length]) or cuts_tag(one, length) or cuts_tag(other, length)))
        or parts_word(one[:length], one[length:])
        or parts_word(other[:length], other[length:])
    ):
        length -= 1
    return one[:length] if one[:length].strip() else ""


def common_end(one: str, other: str) -> str:
    """Return the common end, not starting within a marker or a word; empty if it is only whitespace."""
    one, other = one[-_MOST_SHARED:], other[-_MOST_SHARED:]
    length = common_prefix(one[::-1], other[::-1])
    while length and any(
        inside_marker(text[: len(text) - length])
        or cuts_tag(text, len(text) - length)
        or parts_word(text[: len(text) - length], text[len(text) - length :])
        for text in (one, other)
    ):
        length -= 1
    kept = one[len(one) - length :]
    return kept if kept.strip() else ""


def inside_marker(text: str) -> bool:
    """Return whether a string ends within a tag or bracket: one is open, without whitespace after it."""
    for character in reversed(text):
        if character in _OPENS:
            return True
        if character in _CLOSES or character.isspace():
            return False
    return False


def cuts_tag(text: str, at: int) -> bool:
    """Return whether a cut splits a complete tag that contains whitespace."""
    begin = text.rfind("<", 0, at)
    found = _TAG.match(text, begin) if begin >= 0 else None
    return found is not None and at < found.end()


def parts_word(left: str, right: str) -> bool:
    """Return whether a cut between the two splits a word."""
    return bool(left and right and _WORD_ENDS.match(left[-1]) and _WORD_GOES_ON.match(right[0]))


def before_marker(text: str, end: int) -> int:
    """Return the cut, moved to the start of a nearby marker or word that it splits."""
    for at in range(end, max(0, end - _MOST_SHARED), -1):
        if not inside_marker(text[max(0, at - _MOST_SHARED) : at]) and not parts_word(text[:at][-1:], text[at:][:1]):
            return at
    return max(0, end - _MOST_SHARED)


def leading_whitespace(text: str) -> str:
    """Return the leading whitespace."""
    return text[: len(text) - len(text.lstrip())]


def trailing_whitespace(text: str) -> str:
    """Return the trailing whitespace."""
    return text[len(text.rstrip()) :]
