"""A finished prompt as token ids in which the texts of others hold no control token.

`Prompt.token_ids` calls `token_ids`. A text with markers in it is cut behind the first character of each, so that the
tokenizer never meets one whole, and the pieces are tokenised one by one. A piece behind a cut is tokenised with a
character before it, whose tokens are taken away again: so it gets no blank or prefix of its own, whatever the
tokenizer puts before a text. No package of tokenizers is imported here.
"""

from __future__ import annotations

import json
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from typing import Any

from toolfmt.errors import ToolfmtError
from toolfmt.inspect.probe.added_tokens import is_marker
from toolfmt.inspect.probe.differences import common_prefix
from toolfmt.messages.tools import kind_of
from toolfmt.render.adapt.control_tokens import beginnings, sign_for

Offsets = list[tuple[int, int]]

# Characters that join no token with what follows: the first is tried first.
_LEADS = ("\n", "\ue000", ".", "a", "0")

_UNKNOWN = "\U0010fffd"
"""A character that no vocabulary holds."""


def token_ids(text: str, spans: Iterable[tuple[int, int]], tokenizer: Any, *, markers: Sequence[str] = ()) -> list[int]:
    """The ids of a prompt's tokens, without any control token made of a character in the `spans`.

    `spans` are the stretches (begin, end) that others wrote. `tokenizer` is one of transformers, fast or slow, a
    `tokenizers.Tokenizer`, or has `encode(text, add_special_tokens=False)`; `markers` are the texts of control tokens
    where it cannot tell them itself. Outside the spans, and where none holds a marker, the ids are those that the
    tokenizer gives the text; nothing is added to either end. Raises `ToolfmtError` where a control token cannot be
    kept out.
    """
    reader = _Reader(tokenizer, markers)
    others = _Stretches(spans)
    cuts = {at for at, end in beginnings(text, reader.texts) if others.touch(at - 1, end)}
    while True:
        ids, controls = reader.read(text, sorted(cuts))
        if controls is None:
            reader.check(ids, others.replaced(text, _LEADS[0]))
            return ids
        found = {_cut(text, begin, end) for begin, end in controls if others.touch(*_without_blanks(text, begin, end))}
        if not found:
            return ids
        if found & cuts or None in found:
            raise _cannot()
        cuts |= {at for at in found if at is not None}


def markers_in(tokenizer: Any) -> tuple[str, ...]:
    """The texts of the tokenizer's control tokens; empty where it does not tell its added tokens. Raises `ToolfmtError`
    for what is no tokenizer.
    """
    check_tokenizer(tokenizer)
    return tuple(dict.fromkeys(_added(tokenizer).values()))


def spans_between(plain: str, changed: str, markers: Sequence[str]) -> list[tuple[int, int]] | None:
    """The spans of a prompt in which others wrote markers, told by the prompt of the same request `neutralized`.

    They are the characters on both sides of each dot that only the changed prompt has, plain or as JSON spells it: so
    markers are found wherever they went, in definitions too. None where the prompts differ in anything else.
    """
    sign = sign_for(markers)
    spellings = (sign, json.dumps(sign)[1:-1])
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
    """Raises `ToolfmtError` for what is no tokenizer."""
    # A string can be encoded as well, and a class has the methods of its objects.
    if isinstance(tokenizer, (str, type)) or not callable(getattr(tokenizer, "encode", None)):
        given = "a class" if isinstance(tokenizer, type) else kind_of(tokenizer)
        raise _no_tokenizer(given)


def _no_tokenizer(given: str) -> ToolfmtError:
    return ToolfmtError(
        f"the tokenizer is {given}; give one of transformers or of tokenizers, or an object that has "
        "encode(text, add_special_tokens=False)"
    )


def encoded(tokenizer: Any, text: str) -> tuple[list[int], Offsets | None]:
    """The ids of the text's tokens with nothing added, and where each token stands, if the tokenizer tells that.

    Raises `ToolfmtError` for what is no tokenizer.
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
    """A tokenizer, whatever its kind. `texts` are the texts of its control tokens."""

    def __init__(self, tokenizer: Any, markers: Sequence[str]) -> None:
        self._tokenizer = tokenizer
        added = _added(tokenizer)
        # What stands for characters that the vocabulary lacks may be a special token: it is no marker's alone.
        self._controls = frozenset(added).difference(encoded(tokenizer, _UNKNOWN)[0])
        self.texts = tuple(dict.fromkeys([*added.values(), *(text.strip() for text in markers)]))

    def read(self, text: str, cuts: Sequence[int]) -> tuple[list[int], Offsets | None]:
        """The ids of the pieces between the cuts, and where the control tokens stand, if the tokenizer tells that."""
        ids: list[int] = []
        controls: Offsets | None = []
        for begin, end in zip([0, *cuts], [*cuts, len(text)], strict=True):
            piece = text[begin:end]
            found, offsets = self._behind_a_cut(piece) if begin else encoded(self._tokenizer, piece)
            ids += found
            if offsets is None or controls is None:
                controls = None
                continue
            places = zip(found, offsets, strict=True)
            controls += [(first + begin, last + begin) for id, (first, last) in places if id in self._controls]
        return ids, controls

    def check(self, ids: Sequence[int], without: str) -> None:
        """Raises where there are more control tokens than in the prompt without the texts of others."""
        own = Counter(encoded(self._tokenizer, without)[0])
        found = Counter(id for id in ids if id in self._controls)
        if any(number > own[id] for id, number in found.items()):
            raise _cannot()

    def _behind_a_cut(self, piece: str) -> tuple[list[int], Offsets | None]:
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
        """The characters that can be put before a piece, with their ids; one that the tokenizer drops is none."""
        read = {lead: encoded(self._tokenizer, lead)[0] for lead in _LEADS}
        return {lead: ids for lead, ids in read.items() if ids}


class _Stretches:
    """Stretches of a text, in any order; they may overlap."""

    def __init__(self, spans: Iterable[tuple[int, int]]) -> None:
        self._merged: list[tuple[int, int]] = []
        for begin, end in sorted((begin, end) for begin, end in spans if begin < end):
            if self._merged and begin <= self._merged[-1][1]:
                self._merged[-1] = (self._merged[-1][0], max(end, self._merged[-1][1]))
            else:
                self._merged.append((begin, end))
        self._begins = [begin for begin, _ in self._merged]

    def touch(self, begin: int, end: int) -> bool:
        """Whether a character between the two stands in one of them."""
        last = bisect_right(self._begins, end - 1) - 1
        return begin < end and last >= 0 and self._merged[last][1] > begin

    def replaced(self, text: str, by: str) -> str:
        ends = [0, *(end for _, end in self._merged)]
        return by.join(text[begin:end] for begin, end in zip(ends, [*self._begins, len(text)], strict=True))


def _added(tokenizer: Any) -> dict[int, str]:
    """The texts of the tokens that mark something, by id, as far as the tokenizer tells its added tokens."""
    tell = getattr(tokenizer, "get_added_tokens_decoder", None)
    told = tell() if callable(tell) else getattr(tokenizer, "added_tokens_decoder", None)
    found = {}
    for number, token in told.items() if isinstance(told, Mapping) else ():
        text, special = str(getattr(token, "content", token)).strip(), bool(getattr(token, "special", True))
        # A special token that is a word is no marker that a text shows, but is kept out all the same.
        if len(text) > 1 and (special or is_marker(text, special=False)):
            found[int(number)] = text
    return found


def _cut(text: str, begin: int, end: int) -> int | None:
    """Where a control token is cut; None where it is made of one character."""
    begin, end = _without_blanks(text, begin, end)
    return begin + 1 if end - begin > 1 else None


def _without_blanks(text: str, begin: int, end: int) -> tuple[int, int]:
    """The place of a control token without the blanks beside it, which some take along."""
    held = text[begin:end]
    return begin + len(held) - len(held.lstrip()), end - len(held) + len(held.rstrip())


def _cannot() -> ToolfmtError:
    return ToolfmtError(
        "the tokenizer turns text of others into a control token however it is split; render with neutralize=True"
    )
