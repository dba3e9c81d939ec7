"""What belongs to an answer but not to its calls: header, reasoning, text for the user, what says nothing.

Asked by the modules of the engines for what of the text before a call is the call's (`lead`), and where a format is
put together for everything else that its record says about answers.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from toolfmt.inspect.derivation.cutting import (
    before_marker,
    begins_with_marker,
    common_end,
    holds_marker,
    is_marker,
    markers,
)
from toolfmt.inspect.derivation.reasoning_pairs import COMMON
from toolfmt.inspect.derivation.seen import KEYS, NAMES, SENTINELS, Rendered
from toolfmt.inspect.probe.conversations import REASONING, REPLY
from toolfmt.inspect.probe.differences import common_prefix

Pair = tuple[str, str]

_LONGEST_MARK = 40
_LONGEST_START = 60
_THOUGHT = re.compile(r"think|reason|plan|thought|analysis", re.IGNORECASE)
_LAST_MARK = re.compile(r"(?:<[^<>]+>[^<>]*|\[[^\[\]]+\]\s*)\Z")


class Surroundings:
    """What the template writes around a call, beside text and beside reasoning."""

    def __init__(self, rendered: Rendered) -> None:
        self.rendered = rendered
        self.own_reasoning = tuple(dict.fromkeys(_reasoning(rendered)))
        """The pairs that the template itself puts around reasoning."""
        self.wrapped = _wrapped(rendered)
        """What it puts around the text, or the plan, that stands before a call."""
        self.at_start = _at_start(rendered, self.own_reasoning)
        """What it writes before an answer in words."""

    @property
    def reasoning(self) -> tuple[Pair, ...]:
        """All pairs, the template's own first."""
        plans = (pair for pair in self.wrapped if _THOUGHT.search(pair[0]))
        return tuple(dict.fromkeys((*plans, *self.own_reasoning, *COMMON)))

    @property
    def ignored(self) -> tuple[str, ...]:
        """What stands around text for the user and says nothing."""
        return tuple(mark for pair in self.wrapped if not _THOUGHT.search(pair[0]) for mark in pair)

    def lead(self, before: str, told: str | None) -> str:
        """What of the text before a call belongs to it: not the header, no reasoning, no text.

        `told` is what stands before the same call beside a text for the user: what both end with is the call's.
        """
        header = self.rendered.header.strip()
        if header and header in before:
            before = before[before.rfind(header) + len(header) :]
        for opener, closer in (*self.own_reasoning, *COMMON, *self.wrapped):
            closed, opened = before.rfind(closer), before.rfind(opener)
            if closed >= 0:
                before = before[closed + len(closer) :]
            elif opened >= 0 and not before[opened + len(opener) :].strip():
                before = before[opened + len(opener) :]
        if told is not None and REPLY in told:
            same = common_end(before, told[told.rfind(REPLY) + len(REPLY) :])
            before = before[len(before) - len(same) :] if same.strip() else before
        return before


def _wrapped(rendered: Rendered) -> tuple[Pair, ...]:
    """Marks around the text for the user that stands before a call."""
    if rendered.told is None or REPLY not in rendered.told.text:
        return ()
    before, _, behind = rendered.told.text.partition(REPLY)
    opener, closer = _last(markers(before)), _first(markers(behind))
    if not is_marker(opener) or not is_marker(closer) or opener.startswith("</") or opener in rendered.header:
        return ()
    if any(word in closer for word in SENTINELS):
        return ()
    one, two = rendered.one.text, rendered.two
    if two is not None and two.text.count(closer) > one.count(closer):
        return ()  # a marker of calls
    empty = re.search(re.escape(opener) + r"\s*" + re.escape(closer), one)
    return ((opener, closer),) if empty or closer not in one else ()


def _reasoning(rendered: Rendered) -> Iterator[Pair]:
    """What stands around reasoning, in an answer in words or else beside a call."""
    for said in rendered.thinking:
        pair = _around_reasoning(rendered, said)
        if pair is not None:
            yield pair
            return
    thought = rendered.thought
    if thought is None or REASONING not in thought.text:
        return
    before, _, behind = thought.text.partition(REASONING)
    opener = before.strip() if 0 < len(before.strip()) < _LONGEST_MARK else _last(markers(thought.before + before))
    closer = _first(markers(behind))
    if holds_marker(opener) and is_marker(closer) and not any(word in closer for word in (*NAMES, *KEYS)):
        yield opener, closer


def _around_reasoning(rendered: Rendered, said: str) -> Pair | None:
    """What stands around the reasoning of an answer in words."""
    if REASONING not in said or REPLY not in said or not rendered.asked:
        return None
    at = said.find(REASONING)
    start = min(common_prefix(said, rendered.asked), at)
    if rendered.spoken:
        start = min(start, common_prefix(said, rendered.spoken))
    start = before_marker(said, start)
    opener = said[start:at].strip()
    if not 0 < len(opener) < _LONGEST_MARK:
        last = _LAST_MARK.search(said[max(0, at - _LONGEST_MARK) : at])
        opener = last[0].strip() if last else ""
    closer = _first(markers(said[at + len(REASONING) : said.find(REPLY)]))
    return (opener, closer) if opener and closer and max(map(len, (opener, closer))) < _LONGEST_MARK else None


def _at_start(rendered: Rendered, pairs: tuple[Pair, ...]) -> tuple[str, ...]:
    """What the template writes before an answer in words, behind what asks for the answer."""
    if not rendered.asked or not rendered.spoken.startswith(rendered.asked):
        return ()
    first = rendered.spoken[len(rendered.asked) :].partition(REPLY)[0]
    for _, closer in (*pairs, *COMMON):
        first = first[first.rfind(closer) + len(closer) :] if closer in first else first
    return (first.lstrip(),) if first.strip() and len(first) < _LONGEST_START else ()


def ignored_behind(marks: Iterator[str] | tuple[str, ...], between: str) -> tuple[str, ...]:
    """Of what stands behind and between calls, the markers: they say nothing."""
    found = [mark for mark in marks if is_marker(mark)]
    if begins_with_marker(between.strip()):
        found += [part.strip() for part in re.findall(r"<[^<>]+>[^<]*", between)]
    return tuple(dict.fromkeys(found))


def _first(marks: list[str]) -> str:
    return marks[0] if marks else ""


def _last(marks: list[str]) -> str:
    return marks[-1] if marks else ""
