"""Check that a prompt contains each word of a conversation exactly once and in order.

`judge` looks for the words of `benchmarks.conversations` in the messages and in the prompt. It knows nothing about
templates.

The words of one message come before those of the next. Within an assistant turn, text, reasoning and calls may have any
order, but the calls keep theirs. Each result comes after its call, and results keep their order unless `permuted`
allows another. Results may be between the calls of their turn.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any, Literal, TypeAlias

from benchmarks.conversations import DESCRIBED, KEY, ONCE, PARAMETER_DESCRIPTIONS, TOOL_DESCRIPTIONS, Message

REASONING = ("reasoning_content", "reasoning", "thinking")
"""The names that reasoning goes by in a message."""

Kind: TypeAlias = Literal["whole", "lost", "repeated", "reordered"]
Places: TypeAlias = dict[str, list[int]]

_WORD = re.compile(rf"{ONCE}|{KEY}|{DESCRIBED}")
_ONCE = re.compile(ONCE)
_KEY = re.compile(KEY)


@dataclass
class Judgement:
    """The content of one prompt. `words` are those that are lost, repeated or out of order; a word shows its role or
    part of the message. The rest is counted separately: missing reasoning, changed texts, and how the tools'
    definitions were rendered.
    """

    kind: Kind
    words: list[str] = field(default_factory=list)
    reasoning_left_out: bool = False
    changed: list[str] = field(default_factory=list)
    twice: list[str] = field(default_factory=list)
    """Descriptions of tools that are in the prompt more than once."""
    parameters_left_out: list[str] = field(default_factory=list)
    properties_reordered: bool = False


def judge(messages: Sequence[Message], tools: object, prompt: str, *, permuted: bool = False) -> Judgement:
    """The judgment of a prompt that was rendered from these messages and, unless it is None, `TOOLS`."""
    places: Places = {}
    for found in _WORD.finditer(prompt):
        places.setdefault(found.group(), []).append(found.start())
    thoughts = [word for message in messages for word in _once(_reasoning(message))]
    left_out = {word for word in thoughts if word not in places}
    expected = [word for message in messages for word in _once(message) if word not in left_out]
    keys = [word for message in messages for word in _KEY.findall(_all_text(message))]
    lost = [word for word in (*expected, *keys) if word not in places]
    repeated = [word for word in expected if len(places.get(word, ())) > 1]
    described = [*TOOL_DESCRIPTIONS] if tools is not None else []
    lost += [word for word in described if word not in places]
    judgement = Judgement(
        "whole",
        reasoning_left_out=bool(left_out),
        changed=list(_changed(messages, prompt)),
        twice=[word for word in described if len(places.get(word, ())) > 1],
    )
    if described:
        judgement.parameters_left_out = [word for word in PARAMETER_DESCRIPTIONS if word not in places]
        order = [places[word][0] for word in PARAMETER_DESCRIPTIONS if word in places]
        judgement.properties_reordered = order != sorted(order)
    if lost:
        judgement.kind, judgement.words = "lost", lost
    elif repeated:
        judgement.kind, judgement.words = "repeated", repeated
    else:
        first = {word: found[0] for word, found in places.items()}
        reordered, unnamed = _out_of_order(messages, first, prompt, permuted)
        if reordered:
            judgement.kind, judgement.words = "reordered", reordered
        elif unnamed:
            judgement.kind, judgement.words = "lost", [f"name of {name}" for name in unnamed]
    return judgement


def _out_of_order(
    messages: Sequence[Message], first: dict[str, int], prompt: str, permuted: bool
) -> tuple[list[str], list[str]]:
    """The words that come before what they should follow, and the names of tools whose call is missing."""
    wrong: list[str] = []
    unnamed: list[str] = []
    floor = -1

    def last_position(words: Sequence[str], bound: int, *, sorted_too: bool = True) -> int:
        """The last position of the words; those that are not after the bound are wrong."""
        last = bound
        for word in words:
            if word not in first:
                continue  # reasoning that was left out
            if first[word] <= (last if sorted_too else bound):
                wrong.append(word)
            last = max(last, first[word])
        return last

    at = 0
    while at < len(messages):
        message = messages[at]
        at += 1
        calls = message.get("tool_calls") or []
        if not calls:
            thought = last_position(_once(_reasoning(message)), floor)
            floor = max(thought, last_position(_once(message.get("content")), floor))
            continue
        results = []
        while at < len(messages) and messages[at]["role"] == "tool":
            results.append(messages[at])
            at += 1
        content_end = max(
            last_position(_once(_reasoning(message)), floor), last_position(_once(message.get("content")), floor)
        )
        ends: dict[int, int] = {}
        before = floor
        for number, call in enumerate(calls):
            words = _once(call)
            if last_position(words, before, sorted_too=False) < before:
                wrong += words
            before = ends[number] = max([before, *(first[word] for word in words if word in first)])
        first_result = min((first[word] for result in results for word in _once(result) if word in first), default=None)
        unnamed += [
            _name(call)
            for call in calls
            if not _named(_name(call), prompt[floor + 1 : first_result if len(calls) == 1 else None])
        ]
        last = content_end
        for number, result in enumerate(results):
            bound = max(content_end, ends[_answered(result, calls, number)])
            end = last_position(_once(result), max(bound, -1 if permuted else last))
            last = max(last, end)
        floor = max([last, before, content_end])
    return list(dict.fromkeys(wrong)), unnamed


def _answered(result: Message, calls: Sequence[Message], number: int) -> int:
    """The call that a result belongs to: that of its id, or by its position."""
    ids = [call.get("id") for call in calls]
    id = result.get("tool_call_id")
    return ids.index(id) if id is not None and id in ids else min(number, len(calls) - 1)


def _name(call: Message) -> str:
    return str(call["function"]["name"])


def _named(name: str, text: str) -> bool:
    return re.search(rf"(?<!\w){re.escape(name)}(?!\w)", text) is not None


def _once(value: Any) -> list[str]:
    """The words in a value that must appear once, in their order."""
    return list(_words_in(json.dumps(value, ensure_ascii=False)))


@cache
def _words_in(text: str) -> tuple[str, ...]:
    return tuple(_ONCE.findall(text))


def _all_text(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def _reasoning(message: Message) -> Any:
    """The reasoning of a message, also if it is in the content."""
    content = message.get("content")
    if message["role"] == "assistant" and isinstance(content, str) and content.startswith("<think>"):
        return content.partition("</think>")[0]
    return [message[name] for name in REASONING if message.get(name)]


def _changed(messages: Sequence[Message], prompt: str) -> Iterator[str]:
    """Texts that are in the prompt differently than verbatim (except for whitespace at their edges) or as a JSON
    string, and nested values that are; identified by their words.
    """
    for message in messages:
        reasoning = _reasoning(message)
        for text in _texts(message.get("content")):
            visible = text if not reasoning or not text.startswith("<think>") else text.partition("</think>")[2]
            if visible.strip() and not any(form in prompt for form in _forms(visible.strip())):
                yield " ".join(_once(text))
    for key, pattern in (("Kx50yes", "[Tt]rue"), ("Kx51none", "null|None")):
        if key in _all_text(list(messages)) and not re.search(rf"{key}\W+(?:{pattern})\b", prompt):
            yield key


def _texts(content: Any) -> list[str]:
    if isinstance(content, list):
        return [part["text"] for part in content]
    return [content] if content else []


@cache
def _forms(text: str) -> tuple[str, ...]:
    return text, *(json.dumps(text, ensure_ascii=ascii)[1:-1] for ascii in (False, True))
