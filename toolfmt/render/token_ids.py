"""Encode a finished prompt as token ids without control tokens in untrusted text.

`Prompt.token_ids` calls `token_ids`. A string with markers is cut after the first character of each marker, so that the
tokenizer never sees a whole marker. The pieces are tokenized separately. A piece after a cut is tokenized with a
character before it, and that character's tokens are removed again. So the piece gets no leading space or prefix from
the tokenizer. This module imports no tokenizer package.
"""

from __future__ import annotations

import json
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import Any

from toolfmt.errors import ToolfmtError
from toolfmt.formats.parser.tokens.added_tokens import added_tokens
from toolfmt.inspect.probe.differences import common_prefix
from toolfmt.messages.tools import kind_of
from toolfmt.render.adapt.control_tokens import beginnings, dot_for

Offsets = list[tuple[int, int]]

# Characters that do not merge with what follows; the first is tried first.
_LEADS = ("\n", "\ue000", ".", "a", "0")

OF_OTHERS = ("", "user", "tool")
"""Roles whose texts may contain markers that must not become control tokens. The empty one is that of definitions."""
_UNKNOWN = "\U0010fffd"
"""A character that is not in any vocabulary."""


def token_ids(text: str, spans: Iterable[tuple[int, int]], tokenizer: Any, *, markers: Sequence[str] = ()) -> list[int]:
    """Return the token ids of a prompt, without control tokens that contain a character of the `spans`.

    `spans` are the (begin, end) ranges of untrusted text. `tokenizer` is one of transformers, fast or slow, a
    `tokenizers.Tokenizer`, or an object with `encode(text, add_special_tokens=False)`. `markers` are the control
    tokens, for a tokenizer that does not list them. Outside the spans, and if no span contains a marker, the ids are
    those of the tokenizer. Nothing is added at either end.

    Raises `ToolfmtError` if a control token cannot be prevented.
    """
    return token_ids_and_offsets(text, spans, tokenizer, markers=markers)[0]


def token_ids_and_offsets(
    text: str, spans: Iterable[tuple[int, int]], tokenizer: Any, *, markers: Sequence[str] = (), continued: bool = False
) -> tuple[list[int], Offsets | None]:
    """Return what `token_ids` returns, and the (begin, end) offsets of each token; None if the tokenizer has none.

    `continued` is whether the text continues another one, so that the tokenizer must not put a space before it.
    """
    reader = _Reader(tokenizer, markers, continued=continued)
    others = _Stretches(spans)
    cuts = {at for at, end in beginnings(text, reader.texts) if others.touch(at - 1, end)}
    while True:
        ids, offsets = reader.read(text, sorted(cuts))
        if offsets is None:
            reader.check(ids, others.replaced(text, _LEADS[0]))
            return ids, None
        controls = (at for id, at in zip(ids, offsets, strict=True) if reader.is_control(id))
        found = {
            _cut(text, begin, end) for begin, end in controls if others.touch(*_without_whitespace(text, begin, end))
        }
        if not found:
            return ids, offsets
        if found & cuts or None in found:
            raise _cannot()
        cuts |= {at for at in found if at is not None}


def markers_in(tokenizer: Any) -> tuple[str, ...]:
    """Return the texts of the tokenizer's control tokens, empty if it does not list its added tokens.

    Raises `ToolfmtError` if it is not a tokenizer.
    """
    check_tokenizer(tokenizer)
    return tuple(dict.fromkeys(text.strip() for text in added_tokens(tokenizer).values()))


def spans_between(plain: str, changed: str, markers: Sequence[str]) -> list[tuple[int, int]] | None:
    """Return the spans in a prompt where untrusted text contains markers.

    `neutralized` is the same prompt with neutralized markers. The spans are the characters on both sides of each dot
    that only it has, plain or JSON-escaped. This finds markers everywhere, also in definitions. Return None if the
    prompts differ in anything else.
    """
    marker_dot = dot_for(markers)
    spellings = (marker_dot, json.dumps(marker_dot)[1:-1])
    spans, at, offset = [], 0, 0
    while offset < len(changed):
        same = common_prefix(plain[at:], changed[offset:])
        at, offset = at + same, offset + same
        if offset == len(changed):
            break
        put = next((dot for dot in spellings if changed.startswith(dot, offset)), None)
        if put is None:
            return None
        spans.append((max(0, at - 1), at + 1))
        offset += len(put)
    return spans if at == len(plain) else None


def check_tokenizer(tokenizer: Any) -> None:
    """Raise `ToolfmtError` if this is not a tokenizer."""
    # A string has `encode` too, and a class has the methods of its instances.
    if isinstance(tokenizer, (str, type)) or not callable(getattr(tokenizer, "encode", None)):
        given = "a class" if isinstance(tokenizer, type) else kind_of(tokenizer)
        raise _no_tokenizer(given)


def _no_tokenizer(given: str) -> ToolfmtError:
    return ToolfmtError(
        f"the tokenizer is {given}; give one of transformers or of tokenizers, or an object that has "
        "encode(text, add_special_tokens=False)"
    )


def encoded(tokenizer: Any, text: str) -> tuple[list[int], Offsets | None]:
    """Return the token ids of the text without additions, and the offsets of the tokens if the tokenizer has them.

    Raises `ToolfmtError` if it is not a tokenizer.
    """
    check_tokenizer(tokenizer)
    if getattr(tokenizer, "is_fast", False):
        batch = tokenizer(text, add_special_tokens=False, return_offsets_mapping=True, verbose=False)
        return list(batch["input_ids"]), list(batch["offset_mapping"])
    try:
        encoding = tokenizer.encode(text, add_special_tokens=False)
    except TypeError as error:
        raise _no_tokenizer(f"{kind_of(tokenizer)} that encodes otherwise ({error})") from None
    if hasattr(encoding, "ids"):
        return list(encoding.ids), list(encoding.offsets)
    return list(encoding), None


class _Reader:
    """A tokenizer of any kind. `texts` are the texts of its control tokens."""

    def __init__(self, tokenizer: Any, markers: Sequence[str], *, continued: bool = False) -> None:
        self._tokenizer = tokenizer
        self._continued = continued
        added = {id: text.strip() for id, text in added_tokens(tokenizer).items()}
        # The unknown token may be a special token, but it does not belong to one marker.
        self._controls = frozenset(added).difference(encoded(tokenizer, _UNKNOWN)[0])
        self.texts = tuple(dict.fromkeys([*added.values(), *(text.strip() for text in markers)]))

    def read(self, text: str, cuts: Sequence[int]) -> tuple[list[int], Offsets | None]:
        """Return the ids of the pieces between the cuts, and the offsets of their tokens if known."""
        ids: list[int] = []
        offsets: Offsets | None = []
        for begin, end in zip([0, *cuts], [*cuts, len(text)], strict=True):
            piece = text[begin:end]
            found, places = self._after_cut(piece) if begin or self._continued else encoded(self._tokenizer, piece)
            ids += found
            if places is None or offsets is None:
                offsets = None
                continue
            offsets += [(first + begin, last + begin) for first, last in places]
        return ids, offsets

    def is_control(self, id: int) -> bool:
        return id in self._controls

    def check(self, ids: Sequence[int], without: str) -> None:
        """Raise if there are more control tokens than in the prompt without untrusted text."""
        own = Counter(encoded(self._tokenizer, without)[0])
        found = Counter(id for id in ids if id in self._controls)
        if any(number > own[id] for id, number in found.items()):
            raise _cannot()

    def _after_cut(self, piece: str) -> tuple[list[int], Offsets | None]:
        for lead, before in self._leads.items():
            ids, offsets = encoded(self._tokenizer, lead + piece)
            size = len(before)
            if ids[:size] != before:
                continue
            if offsets is None:
                return ids[size:], None
            if all(begin >= len(lead) for begin, _ in offsets[size:]):
                return ids[size:], [(begin - len(lead), end - len(lead)) for begin, end in offsets[size:]]
        raise _cannot()

    @cached_property
    def _leads(self) -> dict[str, list[int]]:
        """Return the characters that can precede a piece, with their ids. Skips those that the tokenizer drops."""
        read = {lead: encoded(self._tokenizer, lead)[0] for lead in _LEADS}
        return {lead: ids for lead, ids in read.items() if ids}


class _Stretches:
    """Ranges in a string, in any order; they may overlap."""

    def __init__(self, spans: Iterable[tuple[int, int]]) -> None:
        self._merged: list[tuple[int, int]] = []
        for begin, end in sorted((begin, end) for begin, end in spans if begin < end):
            if self._merged and begin <= self._merged[-1][1]:
                self._merged[-1] = (self._merged[-1][0], max(end, self._merged[-1][1]))
            else:
                self._merged.append((begin, end))
        self._begins = [begin for begin, _ in self._merged]

    def touch(self, begin: int, end: int) -> bool:
        """Return whether a character between the two offsets is in a range."""
        last = bisect_right(self._begins, end - 1) - 1
        return begin < end and last >= 0 and self._merged[last][1] > begin

    def replaced(self, text: str, by: str) -> str:
        ends = [0, *(end for _, end in self._merged)]
        return by.join(text[begin:end] for begin, end in zip(ends, [*self._begins, len(text)], strict=True))


def _cut(text: str, begin: int, end: int) -> int | None:
    """Return the offset at which to cut a control token, or None if it has only one character."""
    begin, end = _without_whitespace(text, begin, end)
    return begin + 1 if end - begin > 1 else None


def _without_whitespace(text: str, begin: int, end: int) -> tuple[int, int]:
    """Return the range of a control token without surrounding whitespace, which some tokens include."""
    held = text[begin:end]
    return begin + len(held) - len(held.lstrip()), end - len(held) + len(held.rstrip())


def _cannot() -> ToolfmtError:
    return ToolfmtError(
        "the tokenizer turns text of others into a control token however it is split; render with neutralize=True"
    )
