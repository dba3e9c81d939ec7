"""Split a prompt into segments by the strings that were rendered into it and by the difference to another render.

Pure functions on strings, for the sample prompt and the effects of variables. Templates are untrusted, so all of it is
linear in the length. An insertion that repeats the text before it has several possible positions. The preferred one is
outside of brackets and tags, then before a control token, then at the start of a line.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from toolfmt.inspect.probe.differences import common_ends
from toolfmt.inspect.report.report import SampleSpanKind

_FURTHEST = 2_000
"""Maximum number of characters that a cut is moved."""
_MARKER_BEGIN = re.compile(r"<(?!/|[^\s<>|]{1,60}\|>)[^\s<>]|\[[A-Z_]{2,60}\]")
_TAG = re.compile(r"<(/?)[A-Za-z][^\s<>|]{0,60}(?![^\s<>|]|\|>)")
"""A tag, and whether it closes. Control tokens such as `<|tool>` and `<tool|>` do not match."""
_TOKEN_BEGIN = re.compile(r"<[^<>\s]*\Z")
_TOKEN_END = re.compile(r"[^<>\s]*>")
_LONGEST_TOKEN = 60


@dataclass(frozen=True)
class PromptSegment:
    """A part of a prompt with a kind; `name` is the tool that it belongs to."""

    begin: int
    end: int
    kind: SampleSpanKind
    name: str = ""


def occurrences(prompt: str, texts: Mapping[str, SampleSpanKind]) -> list[PromptSegment]:
    """Return every occurrence of one of the strings, in order."""
    return [PromptSegment(offset, offset + len(text), texts[text]) for offset, text in _offsets(prompt, texts)]


def added(prompt: str, other: str, anchors: Sequence[str]) -> list[tuple[int, int]]:
    """Return the ranges of the prompt that the other prompt lacks: at most one between two anchors.

    Anchors are strings that both prompts contain.
    """
    found = []
    here = there = 0
    missing: set[str] = set()
    for begin, anchor in _offsets(prompt, anchors):
        offset = -1 if anchor in missing else other.find(anchor, there)
        if offset < 0:
            missing.add(anchor)
            continue
        found.append(_difference(prompt, here, begin, other[there:offset]))
        here, there = begin + len(anchor), offset + len(anchor)
    found.append(_difference(prompt, here, len(prompt), other[there:]))
    return [(begin, end) for begin, end in found if begin < end]


def overlaid(below: Sequence[PromptSegment], above: Sequence[PromptSegment]) -> list[PromptSegment]:
    """Merge both lists; `above` hides what it covers of `below`. Each list is sorted and has no overlaps."""
    left: list[PromptSegment] = []
    at = 0
    for stretch in below:
        begin = stretch.begin
        while at < len(above) and above[at].end <= begin:
            at += 1
        cover = at
        while cover < len(above) and above[cover].begin < stretch.end:
            if begin < above[cover].begin:
                left.append(PromptSegment(begin, above[cover].begin, stretch.kind, stretch.name))
            begin = above[cover].end
            cover += 1
        if begin < stretch.end:
            left.append(PromptSegment(begin, stretch.end, stretch.kind, stretch.name))
        at = max(at, cover - 1)
    return sorted([*left, *above], key=lambda stretch: stretch.begin)


def _offsets(prompt: str, texts: Iterable[str]) -> Iterator[tuple[int, str]]:
    """Yield the offset of each occurrence of one of the strings; at the same offset the longest wins.

    Uses `find`: a regular expression would compare a long string again at every position.
    """
    ahead = {text: prompt.find(text) for text in sorted({text for text in texts if text}, key=lambda text: -len(text))}
    while ahead := {text: offset for text, offset in ahead.items() if offset >= 0}:
        text = min(ahead, key=lambda text: ahead[text])
        offset = ahead[text]
        yield offset, text
        end = offset + len(text)
        ahead = {text: offset if offset >= end else prompt.find(text, end) for text, offset in ahead.items()}


def _difference(prompt: str, begin: int, end: int, other: str) -> tuple[int, int]:
    """Return the range between `begin` and `end` of the prompt that differs from `other`."""
    text = prompt[begin:end]
    same, same_end = common_ends(text, other)
    first, last = begin + same, end - same_end
    if first == last:
        return first, last
    if same + same_end == len(other):
        moved = _moved_left(prompt, begin, first, last)
        return first - moved, last - moved
    return _line_begin(prompt, begin, first), _token_end(prompt, last, end)


def _moved_left(prompt: str, lowest: int, begin: int, end: int) -> int:
    """Return how far to move an insertion left, among the positions that produce the same prompt."""
    best, best_rank = 0, (0, not _is_marker(prompt, begin), not _is_line(prompt, begin))
    depth = moved = 0
    passed = False
    while begin - moved > lowest and moved < _FURTHEST and prompt[begin - moved - 1] == prompt[end - moved - 1]:
        moved += 1
        at = begin - moved
        depth += _closes(prompt, at)
        passed = (
            passed or depth > best_rank[0]
        )  # a complete bracket or tag lies in between, which belongs to the text before
        rank = (depth, not _is_marker(prompt, at), not _is_line(prompt, at))
        if rank < best_rank and not (passed and depth == best_rank[0]):
            best, best_rank, passed = moved, rank, False
    return best


def _closes(prompt: str, at: int) -> int:
    """Return 1 if a bracket or a tag closes at this offset, -1 if one opens, else 0."""
    char = prompt[at]
    if char == "<":
        tag = _TAG.match(prompt, at)
        return 0 if tag is None else 1 if tag[1] else -1
    return 1 if char in "}]" else -1 if char in "{[" else 0


def _is_marker(prompt: str, at: int) -> bool:
    return _MARKER_BEGIN.match(prompt, at) is not None


def _is_line(prompt: str, at: int) -> bool:
    return at == 0 or prompt[at - 1] == "\n"


def _line_begin(prompt: str, lowest: int, at: int) -> int:
    """Return the start of the control token or, if it is near, of the line that a cut splits."""
    token = token_begin(prompt, lowest, at)
    if token < at:
        return token
    line = max(lowest, prompt.rfind("\n", lowest, at) + 1, prompt.rfind(">", lowest, at) + 1)
    return line if at - line < _FURTHEST else at


def token_begin(prompt: str, lowest: int, at: int) -> int:
    """Return the start of the control token that a cut splits."""
    token = _TOKEN_BEGIN.search(prompt[max(lowest, at - _LONGEST_TOKEN) : at])
    goes_on = _TOKEN_END.match(prompt, at, at + _LONGEST_TOKEN)
    return at if token is None or goes_on is None else at - len(token[0])


def _token_end(prompt: str, at: int, highest: int) -> int:
    """Return the end of the control token that a cut splits."""
    if _TOKEN_BEGIN.search(prompt[max(0, at - _LONGEST_TOKEN) : at]) is None:
        return at
    token = _TOKEN_END.match(prompt, at, min(highest, at + _LONGEST_TOKEN))
    return at if token is None else token.end()
