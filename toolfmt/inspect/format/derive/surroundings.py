"""What belongs to a response but not to its calls: header, reasoning, text for the user, markers without a meaning.

The engine modules use it to find which part of the text before a call belongs to the call (`lead`). The format takes
everything else about responses from it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from toolfmt.formats.format import COMMON_REASONING, THINK
from toolfmt.formats.parser.prompt_prefix import answer_prefix
from toolfmt.inspect.format.derive.rendered_calls import KEYS, NAMES, SENTINELS, Rendered
from toolfmt.inspect.format.derive.text_cuts import (
    before_marker,
    begins_with_marker,
    common_end,
    holds_marker,
    is_marker,
    markers,
)
from toolfmt.inspect.probe.conversations import REASONING, REPLY, USER
from toolfmt.inspect.probe.differences import common_prefix

Pair = tuple[str, str]

_LONGEST_MARK = 40
_LONGEST_START = 60
_LONGEST_HEADER = 80
_SHORTEST_MARK = 3
_TAIL = 400
_LINE_IN_BRACKETS = re.compile(r"\[[^\[\]\n]{3,36}\]|<[^<>\n]{3,36}>")
_THOUGHT = re.compile(r"think|reason|plan|thought|analysis", re.IGNORECASE)
_LAST_MARK = re.compile(r"(?:<[^<>]+>[^<>]*|\[[^\[\]]+\]\s*)\Z")


class Surroundings:
    """The text that the template writes around a call, next to text and next to reasoning."""

    def __init__(self, rendered: Rendered) -> None:
        self.rendered = rendered
        self.own_reasoning = tuple(dict.fromkeys(_reasoning(rendered)))
        """The pairs that the template itself writes around reasoning."""
        self.wrapped = _wrapped(rendered, self.own_reasoning)
        """The markers around text, or a plan, before a call."""
        self.content, self.at_start = _around_words(rendered, self.own_reasoning)
        """The markers around a text response, as pairs, or only before it."""
        self.headers = _headers(rendered)
        """Generation prompts that are not recognizable by their form, as regular expressions."""
        self._turns = _turns_between(rendered)

    @property
    def reasoning(self) -> tuple[Pair, ...]:
        """The pairs that the template shows, else the most common one."""
        plans = (pair for pair in self.wrapped if _THOUGHT.search(pair[0]))
        return tuple(dict.fromkeys((*plans, *self.own_reasoning))) or (THINK,)

    @property
    def ignored(self) -> tuple[str, ...]:
        """Markers around text for the user, or between it and a call, without a meaning."""
        around = tuple(mark for pair in self.wrapped if not _THOUGHT.search(pair[0]) for mark in pair)
        return tuple(dict.fromkeys((*around, *self._turns)))

    def lead(self, before: str, with_text: str | None) -> str:
        """Return the part of the text before a call that belongs to it, without header, reasoning and text.

        `with_text` is the text before the same call with text for the user: the common end belongs to the call.
        """
        header = self.rendered.header.strip()
        if header and header in before:
            before = before[before.rfind(header) + len(header) :]
        for opener, closer in (*self.own_reasoning, *COMMON_REASONING, *self.wrapped):
            closed, opened = before.rfind(closer), before.rfind(opener)
            if closed >= 0:
                before = before[closed + len(closer) :]
            elif opened >= 0 and not before[opened + len(opener) :].strip():
                before = before[opened + len(opener) :]
        if with_text is not None and REPLY in with_text:
            same = common_end(before, with_text[with_text.rfind(REPLY) + len(REPLY) :])
            before = before[len(before) - len(same) :] if same.strip() else before
        return before


def _wrapped(rendered: Rendered, own_reasoning: tuple[Pair, ...]) -> tuple[Pair, ...]:
    """Return the markers around the text for the user before a call."""
    if rendered.with_text is None or REPLY not in rendered.with_text.text:
        return ()
    before, _, after = rendered.with_text.text.partition(REPLY)
    if NAMES[0] not in after:
        return ()  # the text follows the call
    opener, closer = _last(markers(before)), _first(markers(after))
    if not is_marker(opener) or not is_marker(closer) or opener.startswith("</") or opener in rendered.header:
        return ()
    if any(word in closer for word in SENTINELS):
        return ()
    if any(pair[0].endswith(opener) and pair[1] == closer for pair in own_reasoning):
        return ()  # the text is rendered as reasoning
    one, two = rendered.one.text, rendered.two
    if two is not None and two.text.count(closer) > one.count(closer):
        return ()  # a marker of calls
    empty = re.search(re.escape(opener) + r"\s*" + re.escape(closer), one)
    return ((opener, closer),) if empty or closer not in one else ()


def _reasoning(rendered: Rendered) -> Iterator[Pair]:
    """Yield the markers around reasoning, in a text response or else next to a call."""
    for response in rendered.thinking:
        pair = _around_reasoning(rendered, response)
        if pair is not None:
            yield pair
            return
    thought = rendered.thought
    if thought is None or REASONING not in thought.text:
        return
    before, _, after = thought.text.partition(REASONING)
    opener = before.strip() if 0 < len(before.strip()) < _LONGEST_MARK else _last(markers(thought.before + before))
    closer = _first(markers(after))
    if holds_marker(opener) and is_marker(closer) and not any(word in closer for word in (*NAMES, *KEYS)):
        yield opener, closer


def _around_reasoning(rendered: Rendered, response: str) -> Pair | None:
    """Return the markers around the reasoning of a text response; the generation prompt may contain the first."""
    if REASONING not in response or REPLY not in response or not rendered.question:
        return None
    at = response.find(REASONING)
    same = common_prefix(response, rendered.question)
    start = before_marker(
        response, min(same, at, common_prefix(response, rendered.text_response) if rendered.text_response else at)
    )
    closer = _closer(response[at + len(REASONING) : response.find(REPLY)])
    prompted = rendered.question[same:].strip() if same >= at and closer not in rendered.question[same:] else ""
    opener = prompted or response[start:at].strip()
    if not 0 < len(opener) < _LONGEST_MARK:
        last = _LAST_MARK.search(response[max(0, at - _LONGEST_MARK) : at])
        opener = last[0].strip() if last else ""
    header = rendered.header.removesuffix(rendered.question[same:]) if prompted else ""
    if not opener or len(closer) < _SHORTEST_MARK or (opener == header.strip()) or len(opener) >= _LONGEST_MARK:
        return None
    common = (pair for pair in COMMON_REASONING if opener.endswith(pair[0]) and pair[1] == closer)
    return next(common, (opener, closer))


def _closer(after: str) -> str:
    """Return the end marker of reasoning: the first marker, or a whole line in brackets."""
    line = after.strip().split("\n")[0].strip()
    if _LINE_IN_BRACKETS.fullmatch(line):
        return line
    closer = _first(markers(after))
    return closer if len(closer) < _LONGEST_MARK else ""


def _around_words(rendered: Rendered, pairs: tuple[Pair, ...]) -> tuple[tuple[Pair, ...], tuple[str, ...]]:
    """Return what surrounds a text response after the generation prompt: a tag with its end tag, or only a start."""
    if not rendered.question or not rendered.text_response.startswith(rendered.question):
        return (), ()
    first, _, after = rendered.text_response[len(rendered.question) :].partition(REPLY)
    for _, closer in (*pairs, *COMMON_REASONING):
        first = first[first.rfind(closer) + len(closer) :] if closer in first else first
    if not first.strip() or len(first) >= _LONGEST_START:
        return (), ()
    opener = first.strip()
    closer = _first(markers(after))
    if is_marker(opener) and closer == f"</{opener[1:]}":
        return ((opener, closer),), ()
    return (), (first.lstrip(),)


def _headers(rendered: Rendered) -> tuple[str, ...]:
    """Return the text between a question and the response, if it is recognizable only for this template."""
    header = rendered.header.strip() or rendered.question.rpartition(USER)[2].strip()
    for mark in (*(closer for _, closer in COMMON_REASONING), *(opener for opener, _ in COMMON_REASONING)):
        header = header.removesuffix(mark).strip()
    tail = rendered.question[-_TAIL:]
    if not 0 < len(header) < _LONGEST_HEADER or not holds_marker(header) or header not in tail:
        return ()
    return (re.escape(header),) if header in answer_prefix(tail) else ()


def _turns_between(rendered: Rendered) -> tuple[str, ...]:
    """Return the markers between text for the user and the call after it.

    Only if the template ends a turn there and starts another one.
    """
    header = rendered.header.strip()
    if rendered.with_text is None or REPLY not in rendered.with_text.text or not is_marked_header(header):
        return ()
    after = rendered.with_text.text.rpartition(REPLY)[2].partition(NAMES[0])[0]
    before, found, _ = after.partition(header)
    return (*(mark for mark in markers(before) if is_marker(mark)), header) if found else ()


def is_marked_header(header: str) -> bool:
    """Return whether a header is short and starts with a marker."""
    return 0 < len(header) < _LONGEST_HEADER and begins_with_marker(header)


def ignored_after(marks: Iterator[str] | tuple[str, ...], between: str) -> tuple[str, ...]:
    """Return the markers among what follows and separates calls, which have no meaning."""
    found = [mark for mark in marks if is_marker(mark)]
    if begins_with_marker(between.strip()):
        found += [part.strip() for part in re.findall(r"<[^<>]+>[^<]*", between)]
    return tuple(dict.fromkeys(found))


def _first(marks: list[str]) -> str:
    return marks[0] if marks else ""


def _last(marks: list[str]) -> str:
    return marks[-1] if marks else ""
