"""Compare what is between the texts of a prompt and of its sentinel prompt, if the two cannot be aligned.

`toolfmt.render.verify.delivery` calls it. A template differs here if, depending on a string, it changes a call's name,
a key, `true` or a role, repeats a string, or adds a sentence. The texts are searched in order, each preferably at a
position with the same surroundings as in the sentinel prompt. Words are compared, so wrapping and indentation do not
matter. Nothing here raises.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from toolfmt.errors import BadMessages
from toolfmt.render.request.messages import Message, arguments_of, calls_of, function_of
from toolfmt.render.verify.sentinel_request import WORD, RequestSpan, SentinelRequest, spellings, spellings_of, words_in
from toolfmt.render.verify.tool_coverage import in_lines

_NEAR = 12
"""Number of characters around a string that identify its position."""
_MOST_PLACES = 200
_DEEPEST = 64
_WORDS = re.compile(r"\w+")
_LETTER = re.compile("[A-Za-z0-9_]")
_TWIN_ENDS = re.compile("[0-9]z")

Place = tuple[int, int, RequestSpan]


@dataclass(frozen=True)
class Gap:
    """What is between two adjacent texts, or at an edge, in the sentinel prompt and in the prompt."""

    before: RequestSpan | None
    after: RequestSpan | None
    expected: str
    shown: str

    @property
    def next_to_reasoning(self) -> bool:
        """Whether one of its edges is reasoning, whose markers a template may remove or write itself."""
        return any(piece is not None and piece.kind == "reasoning" for piece in (self.before, self.after))


@dataclass(frozen=True)
class Around:
    """Result: the `places` of the texts, the `missing` texts of messages, and the `gaps` between the others."""

    places: list[Place]
    missing: list[RequestSpan]
    gaps: list[Gap]


def around(prompt: str, twin_prompt: str, twin: SentinelRequest, judged: Sequence[str]) -> Around:
    """Find the texts in the prompt, in order. Texts of the kinds `judged` may be missing.

    A string may be missing only because another one matched at a wrong position. So if any is missing, only strings of
    these kinds are searched again, each at its first position.
    """
    words = words_in(twin_prompt, twin)
    by_place = _walked(prompt, twin_prompt, twin, judged, words, near=_NEAR)
    if not by_place.missing:
        return by_place
    first = _walked(prompt, twin_prompt, twin, judged, [w for w in words if twin.pieces[w[2]].kind in judged], near=0)
    return by_place if first.missing else first


def _walked(
    prompt: str,
    twin_prompt: str,
    twin: SentinelRequest,
    judged: Sequence[str],
    words: Sequence[tuple[int, int, int]],
    near: int,
) -> Around:
    places, missing, gaps = list[Place](), list[RequestSpan](), list[Gap]()
    offset, matched, reached = 0, 0, 0
    before: RequestSpan | None = None
    seen: set[int] = set()
    for at, (begin, end, number) in enumerate(words):
        piece = twin.pieces[number]
        after = twin_prompt[end : words[at + 1][0] if at + 1 < len(words) else len(twin_prompt)]
        ahead = twin_prompt[max(reached, begin - near) : begin]
        found = _place(prompt, offset, piece, ahead, after[:near])
        if found is not None:
            gaps.append(Gap(before, piece, twin_prompt[matched:begin], prompt[offset : found[0]]))
            places += [] if number in seen or piece.kind not in judged else [(*found, piece)]
            offset, matched, before = found[1], end, piece
        elif number not in seen and piece.kind in judged:
            missing.append(piece)
        seen.add(number)
        reached = end
    gaps.append(Gap(before, None, twin_prompt[matched:], prompt[offset:]))
    return Around(places, missing, gaps)


def _place(prompt: str, offset: int, piece: RequestSpan, before: str, after: str) -> tuple[int, int] | None:
    """Return the first position with the same text on both sides, else on one side, else the first of all."""
    best, places = -1, None
    for found in itertools.islice(_pattern(piece).finditer(prompt, offset), _MOST_PLACES):
        matches = prompt.endswith(before, offset, found.start()) + prompt.startswith(after, found.end())
        if matches > best:
            best, places = matches, found.span()
        if matches == 2:
            break
    return places


def _pattern(piece: RequestSpan) -> re.Pattern[str]:
    """Return a pattern for the text in any variant, as a whole number or name, not as part of a longer one."""
    if piece.kind == "definition":
        return re.compile(in_lines(piece.text))
    one_of = "|".join(map(re.escape, dict.fromkeys(spellings_of(piece))))
    if piece.number:
        return re.compile(rf"(?<![0-9.])(?:{one_of})(?!\.?[0-9])")
    alone = f"(?<!{_LETTER.pattern})(?:{one_of})(?!{_LETTER.pattern})"
    return re.compile(alone if piece.kind == "call" else one_of)


# --- what differs


def differs(gap: Gap) -> bool:
    """Return whether a gap has different words than in the sentinel prompt."""
    return _WORDS.findall(WORD.sub(" ", gap.expected)) != _WORDS.findall(gap.shown)


def repeated_texts(gap: Gap) -> Iterator[RequestSpan]:
    """Yield the texts at a gap's edges that the gap repeats, if the sentinel prompt does not."""
    for piece in (gap.before, gap.after):
        if piece and count_word(piece.text, gap.shown) > count_word(piece.text, gap.expected):
            yield piece


def lost_in(gap: Gap, request: Sequence[Message]) -> Iterator[str]:
    """Yield descriptions of what the sentinel prompt has in this gap and the prompt lacks, the message first."""
    for message, word, label in _own(gap, request):
        if count_word(word, gap.shown) < count_word(word, gap.expected):
            yield f"messages[{message}] ({request[message]['role']}): {label}"


def _own(gap: Gap, request: Sequence[Message]) -> Iterator[tuple[int, str, str]]:
    """Yield names, keys and truth values of the calls at a gap's edges, and the role of the last one."""
    messages = dict.fromkeys(piece.message for piece in (gap.before, gap.after) if piece and piece.message >= 0)
    for message in messages:
        for call in calls_of(request[message]):
            name = str(function_of(call)["name"])
            yield message, name, f"its call of {name}"
            for key, value in entries_of(call):
                label = f"the argument {key} of {name}"
                yield from ((message, word, label) for word in (key, *truths(value)))
    after = gap.after
    if after and after.message >= 0:
        yield after.message, request[after.message]["role"], "its role"


def count_word(word: str, text: str) -> int:
    """Count occurrences of the word in a string, in any variant, as a whole word. Sentinel words do not count.

    This runs for up to a thousand keys; regular expressions would be too slow.
    """
    times = 0
    for written in set(spellings(word)) if word else ():
        at = text.find(written)
        while at >= 0:
            end = at + len(written)
            times += _ends(text[max(0, at - 2) : at]) and _begins(text[end : end + 2])
            at = text.find(written, end)
    return times


def _ends(before: str) -> bool:
    """Return whether a word may begin after these two characters."""
    return not _LETTER.match(before[-1:]) or _TWIN_ENDS.match(before) is not None


def _begins(after: str) -> bool:
    """Return whether a word may end before these two characters."""
    return not _LETTER.match(after) or after == "Zq"


def truths(value: object) -> tuple[str, ...]:
    """Return how templates write true or false; empty for any other value."""
    return (str(value).lower(), str(value)) if isinstance(value, bool) else ()


def entries_of(call: Message) -> Iterator[tuple[str, Any]]:
    """Return the keys and values of all objects in a call's arguments. Empty if they are not an object."""
    try:
        return _entries(arguments_of(call, ""))
    except BadMessages:
        return iter(())


def _entries(value: Any, depth: int = 0) -> Iterator[tuple[str, Any]]:
    if depth > _DEEPEST:
        return
    if isinstance(value, Mapping):
        for key, inner in value.items():
            yield str(key), inner
            yield from _entries(inner, depth + 1)
    elif isinstance(value, (list, tuple)):
        for inner in value:
            yield from _entries(inner, depth + 1)
