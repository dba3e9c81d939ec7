"""What a prompt has between its texts, beside what the prompt of its twin has there; for prompts that cannot be
aligned.

`toolfmt.render.verify.delivery` asks. A template that writes a call's name, a key, `true` or a role otherwise for what
a text says, repeats a text or adds a sentence, differs from the twin in what stands between the texts. The texts are
looked for one behind the other, each where what is written around it is the twin's, if there is such a place. Words are
compared, so that a template may wrap and indent as it likes. Nothing here raises.
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
"""So many characters around a text tell its place."""
_MOST_PLACES = 200
_DEEPEST = 64
_WORDS = re.compile(r"\w+")
_LETTER = re.compile("[A-Za-z0-9_]")
_TWIN_ENDS = re.compile("[0-9]z")

Place = tuple[int, int, RequestSpan]


@dataclass(frozen=True)
class Gap:
    """What stands between two texts, or at an edge, in the twin's prompt and in the prompt."""

    before: RequestSpan | None
    behind: RequestSpan | None
    expected: str
    shown: str

    @property
    def beside_reasoning(self) -> bool:
        """Whether reasoning is at one of its edges, whose marks a template may take away or write itself."""
        return any(piece is not None and piece.kind == "reasoning" for piece in (self.before, self.behind))


@dataclass(frozen=True)
class Around:
    """What was found: the `places` of the texts, those of the messages that are `missing`, `gaps` between the rest."""

    places: list[Place]
    missing: list[RequestSpan]
    gaps: list[Gap]


def around(prompt: str, twin_prompt: str, twin: SentinelRequest, judged: Sequence[str]) -> Around:
    """The texts in the prompt, each behind the one before it; pieces of the kinds `judged` may be missing.

    Where some are missing only because others were taken for what stands elsewhere, these are not looked for, or
    wherever they stand first.
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
    offset, told, reached = 0, 0, 0
    before: RequestSpan | None = None
    seen: set[int] = set()
    for at, (begin, end, number) in enumerate(words):
        piece = twin.pieces[number]
        behind = twin_prompt[end : words[at + 1][0] if at + 1 < len(words) else len(twin_prompt)]
        ahead = twin_prompt[max(reached, begin - near) : begin]
        found = _place(prompt, offset, piece, ahead, behind[:near])
        if found is not None:
            gaps.append(Gap(before, piece, twin_prompt[told:begin], prompt[offset : found[0]]))
            places += [] if number in seen or piece.kind not in judged else [(*found, piece)]
            offset, told, before = found[1], end, piece
        elif number not in seen and piece.kind in judged:
            missing.append(piece)
        seen.add(number)
        reached = end
    gaps.append(Gap(before, None, twin_prompt[told:], prompt[offset:]))
    return Around(places, missing, gaps)


def _place(prompt: str, offset: int, piece: RequestSpan, before: str, behind: str) -> tuple[int, int] | None:
    """Where the text stands: the first place with the same on both sides, else on one side, else the first."""
    best, places = -1, None
    for found in itertools.islice(_pattern(piece).finditer(prompt, offset), _MOST_PLACES):
        alike = prompt.endswith(before, offset, found.start()) + prompt.startswith(behind, found.end())
        if alike > best:
            best, places = alike, found.span()
        if alike == 2:
            break
    return places


def _pattern(piece: RequestSpan) -> re.Pattern[str]:
    """The piece in any spelling: a number is no part of a longer one, a name none of a longer word."""
    if piece.kind == "definition":
        return re.compile(in_lines(piece.text))
    one_of = "|".join(map(re.escape, dict.fromkeys(spellings_of(piece))))
    if piece.number:
        return re.compile(rf"(?<![0-9.])(?:{one_of})(?!\.?[0-9])")
    alone = f"(?<!{_LETTER.pattern})(?:{one_of})(?!{_LETTER.pattern})"
    return re.compile(alone if piece.kind == "call" else one_of)


# --- what differs


def otherwise(gap: Gap) -> bool:
    """Whether other words stand there than in the twin's prompt."""
    return _WORDS.findall(WORD.sub(" ", gap.expected)) != _WORDS.findall(gap.shown)


def said_again(gap: Gap) -> Iterator[RequestSpan]:
    """The texts at the edges of a gap that stand in it once more, which they do not in the twin's prompt."""
    for piece in (gap.before, gap.behind):
        if piece and stands_alone(piece.text, gap.shown) > stands_alone(piece.text, gap.expected):
            yield piece


def lost_in(gap: Gap, request: Sequence[Message]) -> Iterator[str]:
    """What of the request stands in the twin's prompt there and not in this one, in words, its message first."""
    for message, word, told in _own(gap, request):
        if stands_alone(word, gap.shown) < stands_alone(word, gap.expected):
            yield f"messages[{message}] ({request[message]['role']}): {told}"


def _own(gap: Gap, request: Sequence[Message]) -> Iterator[tuple[int, str, str]]:
    """The names, keys and truth values of the calls at the edges of a gap, and the role of the last of them."""
    messages = dict.fromkeys(piece.message for piece in (gap.before, gap.behind) if piece and piece.message >= 0)
    for message in messages:
        for call in calls_of(request[message]):
            name = str(function_of(call)["name"])
            yield message, name, f"its call of {name}"
            for key, value in entries_of(call):
                told = f"the argument {name}: {key}"
                yield from ((message, word, told) for word in (key, *truths(value)))
    behind = gap.behind
    if behind and behind.message >= 0:
        yield behind.message, request[behind.message]["role"], "its role"


def stands_alone(word: str, text: str) -> int:
    """How often the word stands in a text, in any spelling, and is no part of a longer one; words of a twin are none.

    It is asked for each of a thousand keys, which takes too long by regular expressions.
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
    """Whether a word may begin behind these two characters."""
    return not _LETTER.match(before[-1:]) or _TWIN_ENDS.match(before) is not None


def _begins(behind: str) -> bool:
    """Whether a word may end before these two characters."""
    return not _LETTER.match(behind) or behind == "Zq"


def truths(value: object) -> tuple[str, ...]:
    """How templates write true or false; nothing else is either."""
    return (str(value).lower(), str(value)) if isinstance(value, bool) else ()


def entries_of(call: Message) -> Iterator[tuple[str, Any]]:
    """The keys of all objects in the arguments of a call, each with its value; none if they are not an object."""
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
