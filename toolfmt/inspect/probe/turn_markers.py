"""What stands around an answer: what ends it, what the generation prompt has already begun, what marks its reasoning.

The renderer and the report's reader need them (stop strings, prefill); they are read off renders like everything else.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Mapping, Sequence

from toolfmt.formats import formats
from toolfmt.formats.prefix import answer_prefix
from toolfmt.inspect.probe.conversations import REASONING, REPLY, TOOLS, USER, reply, user
from toolfmt.inspect.probe.renders import Renders
from toolfmt.inspect.report.turn_shape import TurnShape

_MARKER = r"(?:<[^<>\s]{1,60}>|\[/?[A-Za-z_]{1,40}\]|\[\w~\[)"  # the last is MiniMax's `[e~[`
_FIRST_MARKER = re.compile(rf"\s*({_MARKER})")
PROSE = re.compile(
    r"(?<![^\W\d_])(?:[^\W\d_]{1,40}[ ,.:;'’\-]{1,4}){4,}[^\W\d_]{1,40}|[\u3040-\u30ff\u4e00-\u9fff]{10,}"
)
"""Five words in a line, or ten characters of a script without spaces: more than a header.

Words are bounded and begin at their beginning: a prompt that is one word of megabytes is searched through once.
"""
SENTENCE = re.compile(
    rf"{PROSE.pattern}|(?<![^\W\d_])(?:[^\W\d_]{{1,40}}[ ,:;'’\-]{{1,4}}){{2,}}[^\W\d_]{{1,40}}[.!?](?=\s|<|\[|\Z)"
)
"""The same, or three words and more that end with a full stop, as in `Ignore all previous instructions.`"""
_LAST_MARKER = re.compile(rf"({_MARKER})\s*\Z")
MARK = re.compile(r"<[^<>\s]{1,60}>|\[/?[A-Z_]{2,40}\]|\[\w~\[")
"""A mark anywhere in a prompt: a control token or tag, or capitals in brackets."""
LONGEST_PROMPT = 200_000
"""Characters of a prompt in which sentences and changes are looked for."""


def stop_strings(
    renders: Renders, shape: TurnShape | None, after_calls: str, special_tokens: Mapping[str, str]
) -> tuple[str, ...]:
    """What ends an answer: what stands behind one in words, what behind a call, and the end-of-sequence token.

    `special_tokens` are those that the model has; a stand-in that the template is given for one that is missing ends
    nothing.
    """
    found = [answer_end(renders, shape), first_marker(after_calls)]
    invented = set(renders.tokens.values()) - set(special_tokens.values())
    stops = dict.fromkeys((*(stop for stop in found if stop not in invented), special_tokens.get("eos_token", "")))
    return tuple(stop for stop in stops if stop)


def answer_end(renders: Renders, shape: TurnShape | None) -> str:
    """The marker that the template writes behind an answer in words; empty where it writes none."""
    behind = renders.text(reply(shape or TurnShape()), TOOLS).rpartition(REPLY)[2]
    last = "" if PROSE.search(behind) else first_marker(behind)  # prose: the template tells the model what to do
    invented = set(renders.tokens.values())
    if last and last not in invented:
        return last
    # Some write it only where the conversation goes on; what begins a question, and ends none, is no answer's end.
    earlier = next_mark(renders, shape)
    header, _, behind = renders.text(user(), TOOLS).partition(USER)
    ends = bool(earlier) and (earlier not in header or earlier == first_marker(behind))
    # A stand-in is what nobody knows: a mark of the template's own is told instead, where it writes one.
    return earlier if ends and (earlier not in invented or not last) else last


def next_mark(renders: Renders, shape: TurnShape | None) -> str:
    """The marker that stands first between an answer in words and the next question; empty where none does."""
    again = renders.text([*reply(shape or TurnShape()), *user()], TOOLS)
    return first_marker(again.rpartition(REPLY)[2].partition(USER)[0])


def prefill(renders: Renders, *, tools: bool, headers: tuple[str, ...] = ()) -> str:
    """What of the answer stands in the generation prompt already: a reasoning block, opened or empty, or anything else
    behind the assistant's header.

    `headers` are those that only the model's format knows. Where no header is found, only marks of reasoning tell.
    """
    prompt = renders.render(user(), TOOLS if tools else None, generation=True)
    behind = prompt.rpartition(USER)[2] if isinstance(prompt, str) else ""
    pairs = known_reasoning()
    begun = answer_prefix(behind, headers=headers)
    before = renders.text(reply(), TOOLS if tools else None).rpartition(USER)[2].partition(REPLY)[0]
    if behind == before and not MARK.search(begun) and not any(mark in behind for pair in pairs for mark in pair):
        return ""  # words that stand before answers in the history as well are their header
    if len(begun) < len(behind):
        ending = first_marker(renders.text(reply(), TOOLS if tools else None).rpartition(REPLY)[2])
        # What ends an answer begins none: a template may write turns for a model that only judges.
        return "" if ending and begun.lstrip().startswith(ending) else response_prefix(behind, headers)
    return response_prefix(behind, headers)


def response_prefix(tail: str, headers: tuple[str, ...] = ()) -> str:
    """Return what of the response is in the end of a prompt: what comes after the assistant's header, or without a
    header the marker of reasoning that opens or closes a block.
    """
    begun = answer_prefix(tail, headers=headers)
    if len(begun) < len(tail):
        return begun if begun.strip(": \n") else ""
    pairs = known_reasoning()
    # A closer alone counts where it is a tag's own: other closers end any turn.
    marks = {opener for opener, _ in pairs} | {closer for opener, closer in pairs if closer == f"</{opener[1:]}"}
    offsets = [offset for mark in marks if (offset := tail.find(mark)) >= 0]
    return tail[min(offsets) :] if offsets else ""


def reasoning_markers(turn: str) -> tuple[str, str] | None:
    """What stands directly around the reasoning in a rendered turn; None where nothing does."""
    before, found, after = turn.partition(REASONING)
    if not found:
        return None
    for opener, closer in known_reasoning():
        if before.rstrip().endswith(opener) and after.lstrip().startswith(closer):
            return opener, closer
    last, first = _LAST_MARKER.search(before), first_marker(after)
    return (last[1], first) if last and first else None


def first_marker(text: str) -> str:
    """The marker that a text begins with; empty without one."""
    found = _FIRST_MARKER.match(text)
    return found[1] if found else ""


def known_reasoning() -> Sequence[tuple[str, str]]:
    return tuple(dict.fromkeys(pair for format in formats() for pair in format.reasoning))


def between(prompt: str, *texts: str) -> list[str]:
    """What stands between texts that follow one another; empty where they do not."""
    found = []
    offset = prompt.rfind(texts[0])
    for one, other in itertools.pairwise(texts):
        next_offset = prompt.find(other, offset)
        if offset < 0 or next_offset < 0:
            return []
        found.append(prompt[offset + len(one) : next_offset])
        offset = next_offset
    return found
