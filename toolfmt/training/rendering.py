"""Render a conversation for training: find the parts that the model writes, and verify them.

A response begins where the prompt that the model got ends. That prompt is rendered from the messages before it. The
response ends with the stop strings that the template writes. What is between them must parse as exactly the message;
otherwise it is not trained.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Literal, TypeAlias

from toolfmt.errors import BadMessages, ToolfmtError, WorkerUnavailable
from toolfmt.formats import Parser, default_format
from toolfmt.formats.parser.prompt_prefix import answer_prefix
from toolfmt.formats.prompting.tool_descriptions import RESULT_HEADING
from toolfmt.inspect.probe.differences import common_prefix
from toolfmt.inspect.probe.turn_markers import MARK
from toolfmt.messages.events import Content, Event, Reasoning, ToolCallEnd
from toolfmt.messages.message import Message as ParsedMessage
from toolfmt.render.prompt import Prompt
from toolfmt.render.request.messages import (
    Message,
    calls_of,
    checked_with_own_roles,
    media_of,
    reasoning_of,
    text_of,
)
from toolfmt.render.verify.delivery import Span
from toolfmt.training.responses import FoundResponse, ReadResponse, difference, without_reasoning
from toolfmt.training.spans import Problem, ProblemKind, TrainingSpan
from toolfmt.training.training_text import TrainingText

Train: TypeAlias = Literal["all", "last"] | Sequence[bool]
"""Which messages of the model are trained: all, those after the last user message, or those with a true flag."""
Render: TypeAlias = Callable[..., Prompt]
"""Renders messages; takes `add_generation_prompt`."""

_SHORTEST_HEADER = 3
"""The least number of characters of a generation prompt that identify the start of a response."""
_TURN_END = re.compile(rf"{MARK.pattern}|\[\|[^\[\]|\s]{{1,40}}\|\]")
"""A marker that may end a turn; the last alternative is EXAONE's `[|endofturn|]`."""
_SHOWN = 30
"""How many characters of a difference a problem quotes."""


@dataclass(frozen=True)
class _Response:
    """What is known of a message of the model."""

    spans: list[TrainingSpan]
    problems: list[Problem]

    @property
    def trained(self) -> bool:
        return all(problem.trained for problem in self.problems)


class _NotVerified(ToolfmtError):
    """The text of a message parses as another one. The message names the difference."""


@dataclass(frozen=True)
class _Part:
    """A response to a prompt: a message, or one of its calls, and the messages before it."""

    number: int
    message: Message
    before: Sequence[Message]


def training_text(
    render: Render, given: object, *, train: Train = "all", train_reasoning: bool = True, strict: bool = False
) -> TrainingText:
    """Return a conversation with the parts that the model writes.

    `render` renders messages with the tools and options of the conversation, which is `given` in any form. Raises
    `BadMessages` for images and for a wrong number of flags in `train`, `ToolfmtError` if a message cannot be verified,
    with `strict`, and what `render` raises for the whole conversation.
    """
    whole = render(given, add_generation_prompt=False)
    messages = checked_with_own_roles(given)
    if media := media_of(messages):
        raise BadMessages(f"{media[0][1]} is not supported for training; leave it out")
    chosen = _chosen(messages, train)
    conversation = _Conversation(render, messages, whole, train_reasoning=train_reasoning)
    spans = [
        TrainingSpan(span.begin, span.end, span.message, span.role, "template")
        for span in whole.spans
        if span.role != "assistant" or not chosen[span.message]
    ]
    numbers = [number for number, one in enumerate(messages) if one["role"] == "assistant" and chosen[number]]
    responses = {number: conversation.response(number) for number in numbers}
    for number, response in responses.items():
        if not response.trained:  # by now, the headers of the other responses are known
            responses[number] = conversation.response(number)
    spans += [span for response in responses.values() for span in response.spans]
    problems = [problem for response in responses.values() for problem in response.problems]
    untrained = next((problem for problem in problems if not problem.trained), None)
    if strict and untrained is not None:
        raise ToolfmtError(f"{untrained}; leave strict out to train the other messages")
    spans.sort(key=lambda span: (span.begin, span.end))
    return TrainingText(whole.text, tuple(spans), tuple(problems), whole)


def _chosen(messages: Sequence[Message], train: Train) -> Sequence[bool]:
    """Return for each message whether to train it, if it is the model's."""
    if train == "all":
        return _weights(messages)
    if train == "last":
        last = max((number for number, message in enumerate(messages) if message["role"] == "user"), default=-1)
        return [weight and number > last for number, weight in enumerate(_weights(messages))]
    if isinstance(train, str) or len(train) != len(messages):
        what = repr(train) if isinstance(train, str) else f"{len(train)} flags for {len(messages)} messages"
        raise BadMessages(f'train is {what}; give "all", "last" or one flag for each message')
    return [bool(flag) for flag in train]


def _weights(messages: Sequence[Message]) -> list[bool]:
    """Return for each message whether its `weight` is not 0. Raises `BadMessages` for weights other than 0 and 1."""
    for number, message in enumerate(messages):
        if (weight := message.get("weight")) not in (None, 0, 1):
            raise BadMessages(f"messages[{number}]: weight is {repr(weight)[:20]}; give 0 or 1")
    return [message.get("weight") != 0 for message in messages]


class _Conversation:
    """A rendered conversation, in which responses are located and verified."""

    def __init__(
        self, render: Render, messages: Sequence[Message], whole: Prompt, *, train_reasoning: bool = True
    ) -> None:
        self._render = render
        self._train_reasoning = train_reasoning
        self._messages = messages
        self._whole = whole
        self._text = whole.text
        self._problems: list[Problem] = []
        self._headers: dict[str, None] = {}
        self._spans = sorted(whole.spans, key=lambda span: (span.begin, span.end))

    def response(self, number: int) -> _Response:
        """Return the spans and the problems of an assistant message."""
        self._problems = []
        response = _Response(list(self._spans_of(number)), self._problems)
        if response.trained:
            return response
        return replace(response, spans=[replace(span, kind="template", closing="") for span in response.spans])

    def _spans_of(self, number: int) -> Iterator[TrainingSpan]:
        """Yield the spans of an assistant message, and add its problems."""
        own = [span for span in self._spans if span.message == number]
        if not own:
            why = "its text is not in the rendered conversation" if _has_text(self._messages[number]) else "it is empty"
            self._add(number, "not-rendered", why, trained=False)
        runs = list(self._runs(own))
        parts = list(self._parts(number, len(runs)))
        for (first, last), part in zip(runs, parts, strict=False):
            yield from self._part(part, first, last)
        for first, last in runs[len(parts) :]:
            self._add(number, "not-found", "another message is rendered inside it", trained=False)
            yield TrainingSpan(first.begin, last.end, number, "assistant", "template")

    def _add(self, number: int, kind: ProblemKind, detail: str, *, trained: bool = True) -> None:
        self._problems.append(Problem(number, kind, detail, trained))

    def _runs(self, own: Sequence[Span]) -> Iterator[tuple[Span, Span]]:
        """Yield the first and the last span of each turn that a message is rendered as."""
        others = [span.begin for span in self._spans if span.message not in (-1, *(span.message for span in own[:1]))]
        turns = groupby(own, key=lambda span: bisect_left(others, span.begin))
        for _, turn in turns:
            spans = list(turn)
            yield spans[0], max(spans, key=lambda span: span.end)

    def _parts(self, number: int, turns: int) -> Iterator[_Part]:
        """Yield a message as it is, or one part for each call if it is rendered as that many turns."""
        message, before = self._messages[number], self._messages[:number]
        calls = calls_of(message)
        if turns < 2 or len(calls) != turns:
            yield from [_Part(number, message, before)] * (turns == 1)
            return
        results = [one for one in self._messages[number + 1 : number + 1 + turns] if one["role"] == "tool"]
        for at, call in enumerate(calls):
            text = message if at == 0 else {"role": "assistant", "content": ""}
            done = [{**message, "tool_calls": calls[:at]}, *results[:at]] if at else []
            yield _Part(number, {**text, "tool_calls": [call]}, [*before, *done])

    def _part(self, part: _Part, first: Span, last: Span) -> Iterator[TrainingSpan]:
        """Yield the spans of a turn, and add its problems."""
        number = part.number
        try:
            prompt = self._render(part.before)
            found, read = self._verified(part, prompt, first, last)
        except WorkerUnavailable:
            raise
        except _NotVerified as differs:
            self._add(number, "not-verified", f"its text parses as a different message ({differs})", trained=False)
            yield TrainingSpan(first.begin, last.end, number, "assistant", "template")
            return
        except ToolfmtError as error:
            self._add(number, "no-prompt", f"the prompt for it cannot be rendered: {error}", trained=False)
            yield TrainingSpan(first.begin, last.end, number, "assistant", "template")
            return
        begin = found.begin
        if found.prefilled:
            yield TrainingSpan(begin - len(found.prefilled), begin, number, "assistant", "prefilled")
        if self._train_reasoning:
            yield TrainingSpan(begin, found.end, number, "assistant", "sampled", found.closing)
        else:
            yield from without_reasoning(number, found, read.events)
        self._headers[self._gap(first, begin)] = None
        before = self._text[:begin]
        if prompt.prefill and before == prompt.text.removesuffix(prompt.prefill):
            missing = f"the prompt for it ends with {prompt.prefill!r}, which the text does not have"
            self._add(number, "prefill-missing", missing)
        elif before != prompt.text:
            self._add(number, "not-a-prefix", _differing(prompt.text, before))
        if reasoning_of(part.message) and not read.message.reasoning:
            self._add(number, "reasoning-dropped", "its reasoning is not rendered")
        if read.tolerated:
            self._add(number, "tolerated", f"its call parses only with a tolerance ({', '.join(read.tolerated)})")
        if not found.closing:
            self._add(number, "no-stop", "no stop string is rendered after it")

    def _verified(self, part: _Part, prompt: Prompt, first: Span, last: Span) -> tuple[FoundResponse, ReadResponse]:
        """Return the response in the text, and what the parser reads in it. Raises `_NotVerified`."""
        differs = ""
        for found in self._candidates(part, prompt, first, last):
            read = self._parse(found, prompt)
            different = self._stop_inside(found, prompt) or difference(read.message, part.message)
            if not different:
                return found, read
            differs = differs or different
        raise _NotVerified(differs)

    def _candidates(self, part: _Part, prompt: Prompt, first: Span, last: Span) -> Iterator[FoundResponse]:
        """Yield where the response may be, the most certain first."""
        begins = dict.fromkeys(self._beginnings(prompt, first))
        ends = []
        for end in self._ends(part, prompt, last):
            for begin, prefilled in begins:
                yield replace(end, begin=begin, prefilled=prefilled)
            ends.append(end)
        for end in ends:
            yield from (replace(end, begin=begin) for begin in self._first_markers(end, prompt, first))

    def _beginnings(self, prompt: Prompt, first: Span) -> Iterator[tuple[int, str]]:
        """Yield where the response may begin, and what the prompt contains of it.

        It begins after the prompt if the text starts with the prompt. Otherwise it begins after a header: the one at
        the end of the prompt, or one before another response.
        """
        prefills = tuple(dict.fromkeys((prompt.prefill, "")))
        for prefilled in prefills:
            known = prompt.text if prefilled else prompt.text.removesuffix(prompt.prefill)
            if self._text.startswith(known):
                yield len(known), prefilled
        gap = self._gap(first, first.begin)
        header = prompt.text[max((span.end for span in prompt.spans), default=0) :]
        headers = [(header if prefilled else header.removesuffix(prompt.prefill), prefilled) for prefilled in prefills]
        for known, prefilled in (*headers, *((known, "") for known in self._headers)):
            if (end := _after_header(gap, known)) and gap[:end].endswith(prefilled):
                yield first.begin - len(gap) + end, prefilled

    def _first_markers(self, found: FoundResponse, prompt: Prompt, first: Span) -> Iterator[int]:
        """Yield where a response without a known header may begin: at its reasoning, at a call, or at its own text.

        Text inside reasoning is not content.
        """
        format = prompt.tool_call_format or default_format()
        gap = self._gap(first, first.begin)
        gap = gap[max((gap.rfind(stop) + len(stop) for stop in self._turn_stops(prompt) if stop in gap), default=0) :]
        gap = answer_prefix(gap, format.markers.output_starts, format.headers, format.reasoning_read)
        events = self._events(replace(found, begin=first.begin - len(gap)), prompt)
        marker = next((event for event in events if not isinstance(event, Content)), None)
        texts = events if marker is None else events[: events.index(marker)]
        before = "".join(event.text for event in texts if isinstance(event, Content))
        if marker is not None and gap.startswith(before):
            yield first.begin - len(gap.removeprefix(before).lstrip())
        thoughts = [event for event in events if isinstance(event, Reasoning)]
        if not any(thought.start <= len(gap) < thought.start + len(thought.text) for thought in thoughts):
            yield first.begin

    def _gap(self, first: Span, end: int) -> str:
        """Return the text between the message before and this offset."""
        return self._text[max((span.end for span in self._spans if span.end <= first.begin), default=0) : end]

    def _ends(self, part: _Part, prompt: Prompt, last: Span) -> Iterator[FoundResponse]:
        """Yield where a response may end: after the stop strings, or after what follows it in any conversation."""
        following = min((span.begin for span in self._spans if span.begin >= last.end), default=len(self._text))
        after = self._text[last.end : following]
        stops = [mark for mark in self._stops(prompt) if mark in after]
        if stops:
            at = min(map(after.index, stops))
            end = at
            while mark := next((mark for mark in stops if after.startswith(mark, end)), ""):
                end += len(mark)
            yield FoundResponse(last.end + end, after[at:end], read=last.end + end)
            return
        always = after[: self._closed(part, after)].rstrip()
        format = prompt.tool_call_format or default_format()
        # A marker that belongs to no call ends the response, although the model's files do not name it.
        for marker in _TURN_END.finditer(always):
            if not format.in_calls(marker[0]):
                yield FoundResponse(last.end + marker.end(), marker[0], read=last.end + marker.start())
        yield FoundResponse(last.end + len(always), "", read=last.end + len(always))
        yield FoundResponse(last.end, "", read=last.end)

    def _stops(self, prompt: Prompt) -> list[str]:
        """Return the stop strings that are tokens, the longest first."""
        return sorted({*prompt.stop, *self._whole.stop} - {RESULT_HEADING}, key=len, reverse=True)

    def _closed(self, part: _Part, after: str) -> int:
        """Return how much of the text after a response comes after it even if the conversation ends with it."""
        if part.number == len(self._messages) - 1:
            return len(after)
        try:
            closed = self._render([*part.before, part.message], add_generation_prompt=False)
        except WorkerUnavailable:
            raise
        except ToolfmtError:
            return 0
        own = max((span.end for span in closed.spans if span.message == len(part.before)), default=len(closed.text))
        same = common_prefix(after, closed.text[own:])
        cut = after.rfind("<", 0, same)
        # The two may differ inside a marker, as in OLMo 3: `<|im_end|>` and `<|endoftext|>`.
        return cut if cut >= 0 and (marker := MARK.match(after, cut)) and marker.end() > same else same

    def _parse(self, found: FoundResponse, prompt: Prompt) -> ReadResponse:
        """Return what the prompt's parser reads after the prompt."""
        events = self._events(found, prompt)
        names = (name for event in events if isinstance(event, ToolCallEnd) for name in event.tolerated)
        return ReadResponse(ParsedMessage.from_events(events), tuple(dict.fromkeys(names)), events)

    def _events(self, found: FoundResponse, prompt: Prompt) -> list[Event]:
        format = prompt.tool_call_format or default_format()
        parser = Parser(format, tools=prompt.tools, prefix=found.prefilled, stop=self._turn_stops(prompt))
        return [*parser.feed(self._text[found.begin : found.read]), *parser.finish()]

    def _stop_inside(self, found: FoundResponse, prompt: Prompt) -> str:
        """Return a difference if a stop string is inside the response. The parser does not read what follows it."""
        inside = self._text[found.begin : found.end - len(found.closing)]
        stop = next((mark for mark in self._stops(prompt) if mark in inside), "")
        return f"generation stops at the {stop} in it" if stop else ""

    def _turn_stops(self, prompt: Prompt) -> list[str]:
        """Return the stop strings that are not part of a call."""
        format = prompt.tool_call_format or default_format()
        return [mark for mark in self._stops(prompt) if not format.in_calls(mark)]


def _after_header(gap: str, header: str) -> int:
    """Return the offset after the header in the gap, or 0. The longest end of it that occurs exactly once counts."""
    ends = (header[-size:] for size in range(len(header), _SHORTEST_HEADER - 1, -1))
    end = next((end for end in ends if gap.count(end) == 1), "")
    return gap.index(end) + len(end) if end else 0


def _has_text(message: Message) -> bool:
    return bool(calls_of(message) or reasoning_of(message) or text_of(message.get("content")).strip())


def _differing(prompt: str, text: str) -> str:
    """Return how a prompt differs from the start of the text."""
    same = common_prefix(prompt, text)
    one, other = (whole[max(0, same - _SHOWN // 2) : same + _SHOWN] for whole in (prompt, text))
    return f"the prompt for it is not the start of this text: {one!r} became {other!r}"
