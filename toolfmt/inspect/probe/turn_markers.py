"""Detect what surrounds a response: what ends it, its start in the generation prompt, and its reasoning markers.

The renderer and the report need them (stop strings, prefill). They come from renders.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Mapping, Sequence

from toolfmt.formats import formats
from toolfmt.formats.parser.prompt_prefix import answer_prefix
from toolfmt.inspect.probe.conversations import REASONING, REPLY, TOOLS, USER, reply, user
from toolfmt.inspect.probe.renders import Renders
from toolfmt.inspect.report.turn_shape import TurnShape

_MARKER = r"(?:<[^<>\s]{1,60}>|\[/?[A-Za-z_]{1,40}\]|\[\w~\[)"  # the last alternative is MiniMax's `[e~[`
_FIRST_MARKER = re.compile(rf"\s*({_MARKER})")
PROSE = re.compile(
    r"(?<![^\W\d_])(?:[^\W\d_]{1,40}[ ,.:;'’\-]{1,4}){4,}[^\W\d_]{1,40}|[\u3040-\u30ff\u4e00-\u9fff]{10,}"
)
"""Five words in a row, or ten characters of a script without spaces: more than a header.

Word length is bounded and matches start at word boundaries, so that a prompt that is one word of megabytes is searched
only once.
"""
SENTENCE = re.compile(
    rf"{PROSE.pattern}|(?<![^\W\d_])(?:[^\W\d_]{{1,40}}[ ,:;'’\-]{{1,4}}){{2,}}[^\W\d_]{{1,40}}[.!?](?=\s|<|\[|\Z)"
)
"""The same, or three or more words that end with a period, as in `Ignore all previous instructions.`"""
_LAST_MARKER = re.compile(rf"({_MARKER})\s*\Z")
MARK = re.compile(r"<[^<>\s]{1,60}>|\[/?[A-Z_]{2,40}\]|\[\w~\[")
"""A marker anywhere in a prompt: a control token or tag, or capitals in brackets."""
LONGEST_PROMPT = 200_000
"""Maximum length of prompts in which sentences and changes are searched."""


def stop_strings(
    renders: Renders, shape: TurnShape | None, after_calls: str, special_tokens: Mapping[str, str]
) -> tuple[str, ...]:
    """Return what ends a response: the marker after text, the marker after a call, and the end-of-sequence token.

    `special_tokens` are those of the model. A substitute for a missing special token does not end a response.
    """
    found = [answer_end(renders, shape), first_marker(after_calls)]
    invented = set(renders.tokens.values()) - set(special_tokens.values())
    stops = dict.fromkeys((*(stop for stop in found if stop not in invented), special_tokens.get("eos_token", "")))
    return tuple(stop for stop in stops if stop)


def answer_end(renders: Renders, shape: TurnShape | None) -> str:
    """Return the marker that the template writes after a text response, or an empty string."""
    after = renders.text(reply(shape or TurnShape()), TOOLS).rpartition(REPLY)[2]
    last = "" if PROSE.search(after) else first_marker(after)  # prose is an instruction to the model
    invented = set(renders.tokens.values())
    if last and last not in invented:
        return last
    # Some templates write the marker only if the conversation continues. A marker that starts a question and does not
    # end one does not end responses either.
    earlier = next_mark(renders, shape)
    header, _, after = renders.text(user(), TOOLS).partition(USER)
    ends = bool(earlier) and (earlier not in header or earlier == first_marker(after))
    # A substitute token is not in the model's vocabulary: prefer a marker of the template's own.
    return earlier if ends and (earlier not in invented or not last) else last


def next_mark(renders: Renders, shape: TurnShape | None) -> str:
    """Return the first marker between a text response and the next question, or an empty string."""
    again = renders.text([*reply(shape or TurnShape()), *user()], TOOLS)
    return first_marker(again.rpartition(REPLY)[2].partition(USER)[0])


def prefill(renders: Renders, *, tools: bool, headers: tuple[str, ...] = ()) -> str:
    """Return the part of the response that the generation prompt contains.

    It is a reasoning block, open or empty, or anything else after the assistant's header. `headers` are those that
    only the model's format knows. Without a header, only reasoning markers count.
    """
    prompt = renders.render(user(), TOOLS if tools else None, generation=True)
    after = prompt.rpartition(USER)[2] if isinstance(prompt, str) else ""
    pairs = known_reasoning()
    response_start = answer_prefix(after, headers=headers)
    before = renders.text(reply(), TOOLS if tools else None).rpartition(USER)[2].partition(REPLY)[0]
    if (
        after == before
        and not MARK.search(response_start)
        and not any(mark in after for pair in pairs for mark in pair)
    ):
        return ""  # words that come before responses in the history as well are their header
    if len(response_start) < len(after):
        ending = first_marker(renders.text(reply(), TOOLS if tools else None).rpartition(REPLY)[2])
        # An end marker does not start a response: a template may render turns for a model that only evaluates them.
        return "" if ending and response_start.lstrip().startswith(ending) else response_prefix(after, headers)
    return response_prefix(after, headers)


def response_prefix(tail: str, headers: tuple[str, ...] = ()) -> str:
    """Return the part of the response at the end of a prompt.

    It is what comes after the assistant's header, or without a header everything from the first reasoning marker.
    """
    response_start = answer_prefix(tail, headers=headers)
    if len(response_start) < len(tail):
        return response_start if response_start.strip(": \n") else ""
    pairs = known_reasoning()
    # An end marker alone counts only if it is the closing tag of the start marker: others end any turn.
    marks = {opener for opener, _ in pairs} | {closer for opener, closer in pairs if closer == f"</{opener[1:]}"}
    offsets = [offset for mark in marks if (offset := tail.find(mark)) >= 0]
    return tail[min(offsets) :] if offsets else ""


def reasoning_markers(turn: str) -> tuple[str, str] | None:
    """Return the markers directly around the reasoning in a rendered turn, or None."""
    before, found, after = turn.partition(REASONING)
    if not found:
        return None
    for opener, closer in known_reasoning():
        if before.rstrip().endswith(opener) and after.lstrip().startswith(closer):
            return opener, closer
    last, first = _LAST_MARKER.search(before), first_marker(after)
    return (last[1], first) if last and first else None


def first_marker(text: str) -> str:
    """Return the marker that the string starts with, or an empty string."""
    found = _FIRST_MARKER.match(text)
    return found[1] if found else ""


def known_reasoning() -> Sequence[tuple[str, str]]:
    return tuple(dict.fromkeys(pair for format in formats() for pair in format.reasoning))


def between(prompt: str, *texts: str) -> list[str]:
    """Return the gaps between strings that follow one another in the prompt. Empty if they do not."""
    found = []
    offset = prompt.rfind(texts[0])
    for one, other in itertools.pairwise(texts):
        next_offset = prompt.find(other, offset)
        if offset < 0 or next_offset < 0:
            return []
        found.append(prompt[offset + len(one) : next_offset])
        offset = next_offset
    return found
