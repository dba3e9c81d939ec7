"""A whole conversation with tools as the template renders it, split into labeled spans.

`sample` uses everything that the template supports (a system message, reasoning, two calls, results, a response,
another question) in the shape that it accepts, and leaves out what it rejects. Markers are not used. Texts that were
passed in are searched for. The other spans are differences to renders without tools, without one tool, without a call,
or without the generation prompt.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from toolfmt.errors import TemplateError
from toolfmt.inspect.facts import Facts
from toolfmt.inspect.probe.conversations import (
    REASONING,
    REPLY,
    RESULT,
    SYSTEM,
    USER,
    Call,
    Message,
    conversation,
    user,
)
from toolfmt.inspect.probe.differences import common_prefix
from toolfmt.inspect.probe.renders import Renders
from toolfmt.inspect.probe.segments import PromptSegment, added, occurrences, overlaid, token_begin
from toolfmt.inspect.report.report import SampleSpan, SampleSpanKind
from toolfmt.inspect.report.turn_shape import TurnShape

LONGEST = 200_000
"""Longer prompts are too long to read."""

_LONGEST_TAIL = 200

_QUESTION = "I am on my way to Lisbon. What is it like there right now?"
_ANOTHER = "Thank you. And what about Porto?"
_SYSTEM = "You help people who travel, in a few plain words."
_THOUGHT = "Lisbon as it is now: that is something the tools can tell."
_AFTERTHOUGHT = "That is all I need for an answer."
_SAYING = "One moment, I will look it up."
_RESULTS = ("Light rain from the west, 18 degrees", "Five past two in the afternoon")
_ANSWER = "It rains a little in Lisbon: take an umbrella along."

_TEXTS: dict[str, SampleSpanKind] = {
    _QUESTION: "user",
    _ANOTHER: "user",
    _SYSTEM: "system",
    _THOUGHT: "reasoning",
    _AFTERTHOUGHT: "reasoning",
    _SAYING: "answer",
    _ANSWER: "answer",
    **dict.fromkeys(_RESULTS, "result"),
}

_CITY = {"city": {"type": "string", "description": "The name of the city."}}
SAMPLE_TOOLS: list[Message] = [
    {
        "type": "function",
        "function": {
            "name": name,
            "description": description,
            "parameters": {"type": "object", "properties": properties, "required": ["city"]},
        },
    }
    for name, description, properties in (
        (
            "get_weather",
            "Tells the weather in a city.",
            _CITY | {"days": {"type": "integer", "description": "How many days ahead."}},
        ),
        ("get_time", "Tells what time it is in a city.", _CITY),
    )
]
_NAMES = tuple(tool["function"]["name"] for tool in SAMPLE_TOOLS)
_SAMPLE_CITY = "Lisbon"
_CALLS: tuple[Call, ...] = tuple((name, {"city": _SAMPLE_CITY}) for name in _NAMES)


@dataclass(frozen=True)
class _Conversation:
    """The content of the conversation: the number of calls, and which other parts. `shape` is None without calls."""

    shape: TurnShape | None
    tools: bool = True
    calls: int = 2
    system: bool = True
    reasoning: bool = True
    results: bool = True
    ending: bool = True

    @property
    def given(self) -> Sequence[Message] | None:
        return SAMPLE_TOOLS if self.tools else None

    def messages(self) -> list[Message]:
        if self.shape is None or not self.calls:
            turns = user(system=self.system)
            turns.append({"role": "assistant", "content": REPLY})
        else:
            shape = replace(self.shape, system=self.system, reasoning=self.reasoning, follows="nothing")
            shape = replace(shape, follows="answer") if self.results else shape
            turns = conversation(shape, _CALLS[: self.calls])
        if self.ending:
            turns.append({"role": "user", "content": _ANOTHER})
        return _in_plain_words(turns)


def sample(facts: Facts) -> tuple[SampleSpan, ...]:
    """Return the spans, which join to exactly the prompt; empty if no conversation renders. Never raises."""
    renders, probed = facts.renders, facts.probed
    if renders is None or probed is None:
        return ()
    shape = facts.shape
    fullest = _Conversation(
        shape,
        tools=shape is None or shape.tools,
        calls=0 if shape is None else 2 if probed.parallel else 1,
        reasoning=facts.yes("reasoning"),
    )
    for talk in _poorer(fullest):
        prompt = renders.render(talk.messages(), talk.given, generation=True)
        if isinstance(prompt, str):
            return _cut(renders, talk, prompt) if len(prompt) <= LONGEST else ()
    return ()


def _poorer(fullest: _Conversation) -> Iterator[_Conversation]:
    """Yield the conversation, then variants without one or more parts that a template may reject."""
    smaller = [
        fullest,
        replace(fullest, reasoning=False),
        replace(fullest, system=False),
        replace(fullest, system=False, reasoning=False),
        replace(fullest, calls=min(fullest.calls, 1)),
        replace(fullest, ending=False),
        replace(fullest, results=False, ending=False),
        replace(fullest, tools=False),
        replace(fullest, calls=0),
        replace(fullest, calls=0, system=False),
        replace(fullest, calls=0, system=False, tools=False),
    ]
    yield from dict.fromkeys(smaller)


def _in_plain_words(turns: Sequence[Message]) -> list[Message]:
    """Replace the sentinels with sentences. The first response next to a call announces it."""
    last = max((at for at, turn in enumerate(turns) if turn["role"] == "assistant"), default=-1)
    plain = []
    for at, turn in enumerate(turns):
        finishes = at == last and "tool_calls" not in turn
        words = {
            USER: _QUESTION,
            SYSTEM: _SYSTEM,
            REPLY: _ANSWER if finishes else _SAYING,
            REASONING: _AFTERTHOUGHT if finishes else _THOUGHT,
            RESULT: _RESULTS[0],
            f"{RESULT}1": _RESULTS[1],
        }
        plain.append({key: _worded(value, words) for key, value in turn.items()})
    return plain


def _worded(value: Any, words: dict[str, str]) -> Any:
    if isinstance(value, str):
        return words.get(value, value)
    if isinstance(value, list):
        return [
            part | {"text": words.get(part["text"], part["text"])}
            if isinstance(part, dict) and "text" in part
            else part
            for part in value
        ]
    return value


# --- the kind of each span


def _cut(renders: Renders, talk: _Conversation, prompt: str) -> tuple[SampleSpan, ...]:
    texts = occurrences(prompt, _TEXTS)
    calls = _calls(renders, talk, prompt)
    layers = [_generation(renders, talk, prompt, texts), *_tools(renders, talk, prompt, calls), calls, texts]
    stretches: list[PromptSegment] = []
    for layer in layers:
        stretches = overlaid(stretches, layer)
    pieces: list[SampleSpan] = []
    at = 0
    for stretch in [*stretches, PromptSegment(len(prompt), len(prompt), "frame")]:
        if at < stretch.begin:
            pieces.append(SampleSpan("frame", prompt[at : stretch.begin]))
        if stretch.begin < stretch.end:
            pieces.append(SampleSpan(stretch.kind, prompt[stretch.begin : stretch.end], stretch.name))
        at = stretch.end
    return tuple(pieces)


def _generation(
    renders: Renders, talk: _Conversation, prompt: str, texts: Sequence[PromptSegment]
) -> list[PromptSegment]:
    """Return what `add_generation_prompt` adds after the last text of the conversation."""
    without = renders.render(talk.messages(), talk.given)
    if isinstance(without, TemplateError) or without == prompt:
        return []
    begin = max(token_begin(prompt, 0, common_prefix(prompt, without)), texts[-1].end if texts else 0)
    return [PromptSegment(begin, len(prompt), "generation")] if begin < len(prompt) else []


def _tools(
    renders: Renders, talk: _Conversation, prompt: str, calls: Sequence[PromptSegment]
) -> tuple[list[PromptSegment], list[PromptSegment]]:
    """Return what appears if tools are passed and, inside it, what appears for each tool."""
    if not talk.tools:
        return [], []
    shown = _shown_with(renders, talk, prompt, (None, []), calls, ())
    definitions = [
        PromptSegment(begin, end, "tools", name)
        for name, tool in zip(_NAMES, SAMPLE_TOOLS, strict=True)
        for begin, end in _shown_with(
            renders, talk, prompt, ([other for other in SAMPLE_TOOLS if other != tool],), calls, set(_NAMES) - {name}
        )
        if _is_about(prompt[begin:end], name)
    ]
    return [PromptSegment(begin, end, "tools") for begin, end in shown], _trimmed(prompt, definitions)


def _shown_with(
    renders: Renders,
    talk: _Conversation,
    prompt: str,
    fewer: Sequence[Sequence[Message] | None],
    calls: Sequence[PromptSegment],
    shared: Collection[str],
) -> list[tuple[int, int]]:
    """Return what the prompt has in addition to one with fewer tools, except calls and the model's own turns.

    `fewer` lists choices; the first one that the template accepts is used. `shared` are names that both prompts
    contain.
    """
    texts = [*_TEXTS, *(prompt[call.begin : call.end] for call in calls), *shared]
    for tools in fewer:
        other = renders.render(talk.messages(), tools, generation=True)
        if isinstance(other, str):
            own = sorted([*calls, *occurrences(prompt, _TEXTS)], key=lambda stretch: stretch.begin)
            return [span for span in added(prompt, other, texts) if _is_input(prompt, span, own)]
    return []


def _is_input(prompt: str, span: tuple[int, int], texts: Sequence[PromptSegment]) -> bool:
    """Return whether a span is input to the model: without a call, and about a tool or before other input."""
    begin, end = span
    first, last = (bisect_left(texts, at, key=lambda text: text.begin) for at in span)
    if any(text.kind == "call" for text in texts[first:last]):
        return False
    following = texts[last].kind if last < len(texts) else "user"
    return following in ("system", "user") or any(name in prompt[begin:end] for name in _NAMES)


def _is_about(text: str, name: str) -> bool:
    return name in text and not any(other in text for other in _NAMES if other != name)


def _trimmed(prompt: str, stretches: Sequence[PromptSegment]) -> list[PromptSegment]:
    """Return the segments in order, without whitespace and commas between them and without overlaps."""
    trimmed: list[PromptSegment] = []
    at = 0
    for stretch in sorted(stretches, key=lambda stretch: stretch.begin):
        text = prompt[max(at, stretch.begin) : stretch.end]
        begin = stretch.end - len(text.lstrip(", \n"))
        end = begin + len(text.strip(", \n"))
        if begin < end:
            trimmed.append(replace(stretch, begin=begin, end=end))
            at = end
    return trimmed


def _calls(renders: Renders, talk: _Conversation, prompt: str) -> list[PromptSegment]:
    """Return the calls, each with its name if two calls in one turn can be separated."""
    if talk.shape is None or not talk.calls:
        return []
    region = renders.calls(talk.shape, _CALLS[: talk.calls], SAMPLE_TOOLS)
    text = "" if isinstance(region, TemplateError) else region.text.strip()
    begin, end = _again(prompt, text)
    if begin < 0:
        return []
    if talk.calls == 1:
        return [PromptSegment(begin, end, "call", _NAMES[0])]
    second = _second_call(renders, talk)
    offset = prompt.find(second, begin, end) if second else -1
    if offset < 0:
        return [PromptSegment(begin, end, "call")]
    first = begin + len(prompt[begin:offset].rstrip(", \n"))
    return [PromptSegment(begin, first, "call", _NAMES[0]), PromptSegment(offset, end, "call", _NAMES[1])]


def _again(prompt: str, text: str) -> tuple[int, int]:
    """Find calls in the middle of a conversation that were rendered at its end; (-1, -1) if not found.

    They may be written slightly differently there, so only their start and end have to match.
    """
    question = max(0, prompt.find(_QUESTION))  # text before the question has example calls
    begin = prompt.find(text, question) if text else -1
    if begin >= 0:
        return begin, begin + len(text)
    opening, name, _ = text.partition(_NAMES[0])
    # Reasoning before the calls may have become part of the start marker.
    openings = [opening[cut:] for cut in range(min(len(opening), _LONGEST_TAIL))] if name else []
    begin = next((offset for shown in openings if (offset := prompt.find(shown + name, question)) >= 0), -1)
    if begin < 0:
        return -1, -1
    until = min((offset for result in _RESULTS if (offset := prompt.find(result, begin)) >= 0), default=len(prompt))
    city = prompt.rfind(_SAMPLE_CITY, begin, until)
    tail = text.partition(RESULT)[0].rpartition(_SAMPLE_CITY)[2][-_LONGEST_TAIL:]
    for cut in range(len(tail)):
        end = prompt.find(tail[cut:], city, until)
        if city >= 0 and end >= 0:
            return begin, end + len(tail) - cut
    return -1, -1


def _second_call(renders: Renders, talk: _Conversation) -> str:
    """Return the start of the second call, up to its name: what a turn with both calls adds to one with the first."""
    messages = replace(talk, results=False, ending=False).messages()
    fewer = [*messages[:-1], messages[-1] | {"tool_calls": messages[-1]["tool_calls"][:1]}]
    both, first = renders.render(messages, talk.given), renders.render(fewer, talk.given)
    if isinstance(both, TemplateError) or isinstance(first, TemplateError):
        return ""
    texts = [both[begin:end] for begin, end in added(both, first, list(_TEXTS))]
    opening, name, _ = (
        next((text for text in texts if _is_about(text, _NAMES[1])), "").lstrip(", \n").partition(_NAMES[1])
    )
    return opening + name
