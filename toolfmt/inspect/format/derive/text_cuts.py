"""Texts cut at words that are known, at markers, and where two of them begin or end alike.

Every verb is linear in its text, or looks at a bounded stretch of it. Nothing here knows what the words are.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence

from toolfmt.inspect.probe.differences import common_prefix


def _paired() -> dict[str, str]:
    """Brackets beyond ASCII by what opens them: whatever Unicode calls an opening one with its closing one beside it,
    and the two pairs of quotes that are written as brackets."""
    pairs = {"«": "»", "‹": "›"}
    for code in (*range(0x80, 0x3400), *range(0xFB00, 0x10000)):  # between them stand ideographs and syllables alone
        if unicodedata.category(chr(code)) == "Ps":
            closing = [sign for sign in (chr(code + 1), chr(code + 2)) if unicodedata.category(sign) == "Pe"]
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
"""What two texts share is a marker, or a few: it is looked for within so many characters."""


def cut(text: str, words: Sequence[str]) -> list[str]:
    """Literals and words, one after the other, beginning and ending with a literal, which may be empty."""
    pattern = "|".join(re.escape(word) for word in sorted(set(words), key=len, reverse=True))
    return re.split(f"({pattern})", text)


def markers(text: str) -> list[str]:
    """The markers, words and signs of a text, one by one, without blanks."""
    return [token for token in _TOKEN.findall(text) if token.strip()]


def chunks(text: str) -> list[str]:
    """As `markers`, but what stands behind a marker and is none is one piece, and tags with attributes are not cut."""
    return [piece for piece in _CHUNK.findall(text.strip()) if piece.strip()]


def is_marker(text: str) -> bool:
    """Whether the text is one marker: what stands in brackets, and is not said to a user."""
    return _MARKER.fullmatch(text) is not None


def begins_with_marker(text: str) -> bool:
    return _MARKER.match(text) is not None


def holds_marker(text: str) -> bool:
    return _MARKER.search(text) is not None


def common_start(one: str, other: str) -> str:
    """What both begin with, never ending within a marker or a word; empty where that is blank."""
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
    """What both end with, never beginning within a marker or a word; empty where that is blank."""
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
    """Whether a text ends within a tag or bracket: one has been opened, and no blank stands behind."""
    for sign in reversed(text):
        if sign in _OPENS:
            return True
        if sign in _CLOSES or sign.isspace():
            return False
    return False


def cuts_tag(text: str, at: int) -> bool:
    """Whether a cut goes through a whole tag that has blanks in it."""
    begin = text.rfind("<", 0, at)
    found = _TAG.match(text, begin) if begin >= 0 else None
    return found is not None and at < found.end()


def parts_word(left: str, right: str) -> bool:
    """Whether a cut between the two goes through a word."""
    return bool(left and right and _WORD_ENDS.match(left[-1]) and _WORD_GOES_ON.match(right[0]))


def before_marker(text: str, end: int) -> int:
    """A cut in a text, moved to the beginning of the marker or word that it goes through, if that is near."""
    for at in range(end, max(0, end - _MOST_SHARED), -1):
        if not inside_marker(text[max(0, at - _MOST_SHARED) : at]) and not parts_word(text[:at][-1:], text[at:][:1]):
            return at
    return max(0, end - _MOST_SHARED)


def blanks_before(text: str) -> str:
    """The blanks that a text begins with."""
    return text[: len(text) - len(text.lstrip())]


def blanks_behind(text: str) -> str:
    """The blanks that a text ends with."""
    return text[len(text.rstrip()) :]
