"""Whether a growing conversation keeps the beginning of its prompt, which a prefix cache can reuse.

`stability` renders a small conversation as a runtime does. The prompt of a turn ends with the generation prompt, the
model's response continues it, and the next prompt is rendered from all messages. If the old text is not the beginning
of the new prompt, the report shows both texts, the line that wrote the old one, and the cause.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial

from toolfmt.errors import TemplateError
from toolfmt.inspect.facts import Facts
from toolfmt.inspect.probe.clock import tick
from toolfmt.inspect.probe.conversations import DESCRIPTION, TOOLS, Message
from toolfmt.inspect.probe.differences import common_prefix
from toolfmt.inspect.probe.renders import Renders
from toolfmt.inspect.probe.turn_markers import known_reasoning
from toolfmt.inspect.report.growing_prompts import Cause, PrefixCondition, PrefixStep, Stability
from toolfmt.inspect.report.turn_shape import TurnShape
from toolfmt.inspect.sections.response_starts import reasoning_switches
from toolfmt.inspect.sections.stability_turns import (
    ANSWERS,
    PLACES,
    QUESTIONS,
    REASONS,
    RESULTS,
    SYSTEM_TEXT,
    ConversationStep,
    opening,
    plain_steps,
    tool_steps,
)

_LONGEST_STRETCH = 100
_STEPS_OF_CONDITION = 2
_SAME_SHARE, _SAME_PART = 0.001, 0.01
"""How much two shares may differ and count as equal: if one of them is 1, and if none is."""
_BEFORE = 40
_BORDER = re.compile(r"(?<=[\n>\]])|(?=<[^<>\s]{1,60}>|\[/?[A-Z_]{1,40}\])")


@dataclass(frozen=True)
class _Conversation:
    tools: Sequence[Message] | None
    opening: list[Message]
    steps: tuple[ConversationStep, ...]


@dataclass(frozen=True)
class _Moment:
    """The conversation before a step: its messages, its prompt, and the prompt with the model's response."""

    messages: Sequence[Message]
    prompt: str
    written: str
    """As far as the template renders it back.

    Only the prompt if the template renders the generation prompt differently.
    """

    @property
    def answered(self) -> bool:
        return self.written != self.prompt


def stability(facts: Facts) -> Stability | None:
    """Return every step of an example conversation, and the share of the text before each step that stays unchanged.

    The text before a step is the prompt with its generation prompt and the model's response, as the template writes it
    if it is the last message. The share is that of its characters up to the first difference in the next prompt, over
    all steps together: 1 if nothing has to be recomputed. None if no prompt renders.
    """
    if facts.renders is None or facts.probed is None:
        return None
    conversation = _conversation(facts, facts.renders)
    if conversation is None:
        return None
    turns = _turns(facts.renders, conversation)
    if not turns:
        return None
    changes = tick(facts.renders, conversation.opening, conversation.tools)
    return Stability(turns, _share(turns), changes, tuple(_conditions(facts, facts.renders, conversation)))


def _turns(renders: Renders, conversation: _Conversation) -> tuple[PrefixStep, ...]:
    """Return the steps up to the first that the template rejects."""
    turns: list[PrefixStep] = []
    messages = conversation.opening
    for step in conversation.steps:
        turn = _turn(renders, messages, step, conversation.tools)
        if turn is None:
            break
        turns.append(turn)
        messages = [*messages, step.answer, *step.follows]
    return tuple(turns)


def _share(turns: Sequence[PrefixStep]) -> float:
    length = sum(turn.length for turn in turns)
    return sum(turn.kept for turn in turns) / length if length else 1.0


def _conditions(facts: Facts, renders: Renders, usual: _Conversation) -> Iterator[PrefixCondition]:
    """Yield the conditions under which the first two steps keep another share.

    These are: reasoning sent back or not, a switch of the template on or off, or no tools. With a switch, reasoning is
    sent back if the prompt lets the model reason.
    """
    steps = usual.steps[:_STEPS_OF_CONDITION]
    sent = any("reasoning_content" in step.answer for step in steps)
    able = facts.yes("reasoning")
    ways = {
        reasoning: replace(usual, steps=tuple(_with_reasoning(steps, reasoning=reasoning)))
        for reasoning in ((sent, not sent) if able else (sent,))
    }
    usual_share = _share(_turns(renders, ways[sent]))
    same = _SAME_SHARE if usual_share == 1 else _SAME_PART
    for variables in reasoning_switches(renders):
        given = renders.given(variables)
        prompt = given.render(usual.opening, usual.tools, generation=True)
        thinks = able and not (isinstance(prompt, str) and _closed(prompt[-_LONGEST_STRETCH:]))
        for reasoning in (thinks,) if variables and thinks in ways else ways:
            turns = _turns(given, ways[reasoning])
            if len(turns) == len(steps) and abs(_share(turns) - usual_share) > same:
                broken = next((turn for turn in turns if turn.kept < turn.length), None)
                yield PrefixCondition(tuple(variables.items()), reasoning, _share(turns), broken)
    if usual.tools is not None and (found := _without_tools(facts, renders, usual)) is not None:
        yield found


def _without_tools(facts: Facts, renders: Renders, usual: _Conversation) -> PrefixCondition | None:
    """Return the first condition under which the prefix is stable with tools but not without, or None."""
    for variables in reasoning_switches(renders):
        given = renders.given(variables)
        broken = {}
        for reasoning in (False, True) if facts.yes("reasoning") else (False,):
            with_tools = replace(usual, steps=plain_steps(reasoning=reasoning)[:_STEPS_OF_CONDITION])
            without = replace(with_tools, tools=None)
            if _prefix_is_stable(given, with_tools) and _prefix_is_stable(given, without) is False:
                broken[reasoning] = _turns(given, without)
        if broken:
            reasoning, turns = next(iter(broken.items()))
            first = next(turn for turn in turns if turn.kept < turn.length)
            matters = reasoning if len(broken) == 1 and facts.yes("reasoning") else None
            return PrefixCondition(tuple(variables.items()), matters, _share(turns), first, tools=False)
    return None


def _prefix_is_stable(renders: Renders, conversation: _Conversation) -> bool | None:
    """Return whether each prompt starts with the one before it, or None if the template rejects one."""
    messages, keeps = conversation.opening, True
    for step in conversation.steps:
        made = _before_and_after(renders, messages, step, conversation.tools)
        if made is None:
            return None
        before, after = made
        keeps = keeps and after.startswith(before.written)
        messages = [*messages, step.answer, *step.follows]
    return keeps


def _with_reasoning(steps: Sequence[ConversationStep], *, reasoning: bool) -> Iterator[ConversationStep]:
    for step, thought in zip(steps, REASONS, strict=False):
        answer = {key: value for key, value in step.answer.items() if key != "reasoning_content"}
        yield replace(step, answer=answer | ({"reasoning_content": thought} if reasoning else {}))


def _conversation(facts: Facts, renders: Renders) -> _Conversation | None:
    """Return the fullest conversation that the template accepts to its end, else the fullest with one accepted step."""
    groups = list(_conversations(facts))
    for same in groups:
        whole = [conversation for conversation in same if _taken(renders, conversation, conversation.steps)]
        if whole:
            # If the generation prompt has closed the reasoning, models do not reason: use the last, without reasoning.
            usual = whole[-1 if _closed(facts.profile.prefill) else 0]
            return next((conversation for conversation in whole if _continues(renders, conversation)), usual)
    every = itertools.chain.from_iterable(groups)
    return next((conversation for conversation in every if _taken(renders, conversation, conversation.steps[:1])), None)


def _closed(prefill: str) -> bool:
    """Return whether the generation prompt contains a complete, and therefore empty, reasoning block."""
    return any(opener.strip() in prefill and closer.strip() in prefill for opener, closer in known_reasoning())


def _taken(renders: Renders, conversation: _Conversation, steps: Sequence[ConversationStep]) -> bool:
    added = [message for step in steps for message in (step.answer, *step.follows)]
    return isinstance(renders.render([*conversation.opening, *added], conversation.tools, generation=True), str)


def _continues(renders: Renders, conversation: _Conversation) -> bool:
    """Return whether the template renders the first response as a continuation of the prompt."""
    prompt = renders.render(conversation.opening, conversation.tools, generation=True)
    answered = renders.render([*conversation.opening, conversation.steps[0].answer], conversation.tools)
    return isinstance(prompt, str) and isinstance(answered, str) and answered.startswith(prompt)


def _conversations(facts: Facts) -> Iterator[list[_Conversation]]:
    """Yield the conversations to try, the fullest first; those that differ only in reasoning are grouped."""
    shape, probed = facts.shape if facts.yes("tool_results") else None, facts.probed
    tools = TOOLS if facts.shows_tools and (shape is None or shape.tools) else None
    parallel = probed is not None and probed.parallel
    systems = dict.fromkeys((facts.profile.takes_system, shape is not None and shape.system))
    reasonings = dict.fromkeys((facts.yes("reasoning"), shape is not None and shape.reasoning))
    for several, system in itertools.product(dict.fromkeys((parallel, False)), systems):
        yield [
            _Conversation(tools, opening(system=system), _steps(shape, several, reasoning)) for reasoning in reasonings
        ]


def _steps(shape: TurnShape | None, parallel: bool, reasoning: bool) -> tuple[ConversationStep, ...]:
    if shape is None:
        return plain_steps(reasoning=reasoning)
    return tool_steps(shape, parallel=parallel, reasoning=reasoning)


def _turn(
    renders: Renders, messages: list[Message], step: ConversationStep, tools: Sequence[Message] | None
) -> PrefixStep | None:
    """Return the step with its effect on the prompts, or None if the template rejects one of them."""
    made = _before_and_after(renders, messages, step, tools)
    if made is None:
        return None
    before, after = made
    kept = common_prefix(before.written, after)
    if kept == len(before.written):
        return PrefixStep(step.name, kept, kept)
    cause = _cause(renders, before, after, kept, tools)
    line = _line(renders, before, step, kept, tools, cause)
    begin = _border(after, kept)
    was, becomes = (_stretch(text, begin) for text in (before.written, after))
    return PrefixStep(step.name, kept, len(before.written), was, becomes, line, cause)


def _before_and_after(
    renders: Renders, messages: list[Message], step: ConversationStep, tools: Sequence[Message] | None
) -> tuple[_Moment, str] | None:
    """Return the conversation and prompt before the step, and the prompt after it; None if one is rejected."""
    prompt = renders.render(messages, tools, generation=True)
    after = renders.render([*messages, step.answer, *step.follows], tools, generation=True)
    if isinstance(prompt, TemplateError) or isinstance(after, TemplateError):
        return None
    return _Moment(messages, prompt, _written(renders, messages, step, tools, prompt)), after


def _written(
    renders: Renders, messages: list[Message], step: ConversationStep, tools: Sequence[Message] | None, prompt: str
) -> str:
    """Return the prompt and the model's response up to the end of its last text.

    The end of the turn is left out: a difference there costs one token, not the prompt.
    """
    answered = renders.render([*messages, step.answer], tools)
    if not isinstance(answered, str) or not answered.startswith(prompt):
        return prompt
    end = answered.rfind(step.written)
    return prompt if end < len(prompt) else answered[: end + len(step.written)]


# --- cause


def _cause(renders: Renders, before: _Moment, after: str, kept: int, tools: Sequence[Message] | None) -> Cause:
    """Return the cause, by the first text of the caller or the model after the difference."""
    lost, gained = before.written[kept:], after[kept:]
    first = _first_text(lost)
    if first is None:
        if DESCRIPTION in before.written and _first_text(gained) == DESCRIPTION:
            return "tools-moved"
        return "generation-prompt" if _in_generation_prompt(renders, before, kept, tools) else "ending"
    if "".join(lost.split())[:_BEFORE] == "".join(gained.split())[:_BEFORE]:
        return "blanks"
    if first in gained:
        block = any(
            opener in before.written[_border(after, kept) : kept + lost.find(first)] for opener, _ in known_reasoning()
        )
        # Reasoning would be the first text of such a block.
        return "block-dropped" if block and first in _KNOWN_TEXTS else _MOVED.get(first, "other")
    return "copy-dropped" if first in after else _DROPPED.get(first, "other")


def _in_generation_prompt(renders: Renders, before: _Moment, kept: int, tools: Sequence[Message] | None) -> bool:
    plain = renders.render(before.messages, tools)
    return (
        isinstance(plain, str)
        and len(plain) < len(before.prompt)
        and before.prompt.startswith(plain)
        and kept >= len(plain.rstrip())
    )


def _first_text(text: str) -> str | None:
    """Return the text of the conversation that occurs first in `text`."""
    offsets = [(text.find(known), known) for known in _TEXTS]
    return min(((offset, known) for offset, known in offsets if offset >= 0), default=(0, None))[1]


_TEXTS = (SYSTEM_TEXT, DESCRIPTION, *QUESTIONS, *REASONS, *PLACES, *RESULTS, *ANSWERS)
_KNOWN_TEXTS = (*ANSWERS, *PLACES)
_MOVED: dict[str, Cause] = {
    SYSTEM_TEXT: "system-moved",
    DESCRIPTION: "tools-moved",
    **dict.fromkeys(PLACES, "call-changed"),
    **dict.fromkeys(ANSWERS, "answer-changed"),
    **dict.fromkeys(RESULTS, "result-changed"),
}
_DROPPED: dict[str, Cause] = {
    SYSTEM_TEXT: "system-dropped",
    DESCRIPTION: "tools-dropped",
    **dict.fromkeys(REASONS, "reasoning-dropped"),
    **dict.fromkeys((*QUESTIONS, *ANSWERS, *RESULTS, *PLACES), "message-dropped"),
}


# --- line


_DECIDED: frozenset[Cause] = frozenset(("block-dropped", "tools-moved", "system-moved", *_DROPPED.values()))


def _line(
    renders: Renders,
    before: _Moment,
    step: ConversationStep,
    kept: int,
    tools: Sequence[Message] | None,
    cause: Cause,
) -> int | None:
    """Return the line of the condition that drops or moves the text, else of the statement that wrote it before."""
    answered = [*before.messages, step.answer] if before.answered else before.messages
    generation = not before.answered
    if cause in _DECIDED:
        first = partial(renders.fresh, answered, tools, generation=generation)
        second = partial(renders.fresh, [*before.messages, step.answer, *step.follows], tools, generation=True)
        deciding = renders.deciding_line(first, second, lambda after: common_prefix(before.written, after) > kept)
        if deciding is not None:
            return deciding
    return renders.line_at(answered, tools, kept, generation=generation)


def _border(text: str, offset: int) -> int:
    """Return the start of a nearby line or token before the offset."""
    begin = max(0, offset - _BEFORE)
    borders = [found.end() for found in _BORDER.finditer(text, begin, offset + 60) if found.end() <= offset]
    if borders:
        return borders[-1]
    space = text.rfind(" ", begin, offset)
    return space + 1 if space >= 0 else begin


def _stretch(text: str, begin: int) -> str:
    stretch = text[begin : begin + _LONGEST_STRETCH]
    return stretch if begin + _LONGEST_STRETCH >= len(text) else stretch + "…"
