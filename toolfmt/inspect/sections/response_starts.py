"""What the prompt already contains of the response, after a question and after results, with each switch on and off."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import partial
from itertools import islice

from toolfmt.errors import TemplateError
from toolfmt.inspect.facts import Facts
from toolfmt.inspect.probe.conversations import (
    FURTHER,
    PARALLEL,
    RESULT,
    SINGLE,
    TOOLS,
    USER,
    Message,
    conversation,
    user,
)
from toolfmt.inspect.probe.renders import Renders
from toolfmt.inspect.probe.turn_markers import response_prefix
from toolfmt.inspect.report.growing_prompts import ResponseStart, Turn
from toolfmt.inspect.report.turn_shape import USUAL

_SWITCH = ("think", "reason")
_MOST_SWITCHES = 3


def response_starts(facts: Facts) -> tuple[ResponseStart, ...]:
    """Return the start of the response in each prompt, by turn and by the values of the template's switches.

    Turns that the template rejects are left out, and so are values of switches with which it rejects more turns.
    """
    if facts.renders is None:
        return ()
    turns = dict(_turns(facts))
    starts = [list(_starts(facts, facts.renders, turns, variables)) for variables in reasoning_switches(facts.renders)]
    return tuple(start for found in starts if len(found) == len(starts[0]) for start in found)


def _starts(
    facts: Facts, renders: Renders, turns: Mapping[Turn, tuple[list[Message], str]], variables: Mapping[str, bool]
) -> Iterator[ResponseStart]:
    """Yield the start of the response at each turn that the template accepts with these values of its variables."""
    for turn, (messages, last) in turns.items():
        prompt = renders.given(variables).render(messages, _tools(facts, turn), generation=True)
        if not isinstance(prompt, TemplateError) and last in prompt:
            prefix = response_prefix(prompt.rpartition(last)[2], facts.headers)
            yield ResponseStart(turn, tuple(variables.items()), prefix)


def deciding_line(facts: Facts, one: ResponseStart, other: ResponseStart) -> int | None:
    """Return the line of the condition that makes the response start differently in `other` than in `one`, or None."""
    if facts.renders is None:
        return None
    turns, renders = dict(_turns(facts)), facts.renders.given(dict(one.variables))
    first, second = (
        partial(renders.fresh, turns[start.turn][0], _tools(facts, start.turn), generation=True)
        for start in (one, other)
    )
    last = turns[other.turn][1]

    def starts_the_same(prompt: str) -> bool:
        return response_prefix(prompt.rpartition(last)[2], facts.headers) == one.prefix

    return renders.deciding_line(first, second, starts_the_same)


def _tools(facts: Facts, turn: Turn) -> list[Message] | None:
    return TOOLS if facts.shows_tools and turn != "question without tools" else None


def reasoning_switches(renders: Renders) -> Iterator[dict[str, bool]]:
    """No variable, then each variable that switches reasoning by its name, on and off."""
    yield {}
    names = (name for name in renders.template.variables if any(part in name for part in _SWITCH))
    for name in islice(names, _MOST_SWITCHES):
        yield {name: True}
        yield {name: False}


def _turns(facts: Facts) -> Iterator[tuple[Turn, tuple[list[Message], str]]]:
    """Yield the conversations up to each turn of the model, with the last text in them."""
    shape = facts.shape or USUAL
    question = user(system=shape.system)
    yield "question", (question, USER)
    if facts.shows_tools:
        yield "question without tools", (question, USER)
    if facts.shape is None or not facts.yes("tool_results"):
        return
    resulting = replace(facts.shape, follows="result")
    yield "result", (conversation(resulting, SINGLE), RESULT)
    if facts.yes("parallel_tool_calls"):
        yield "results", (conversation(resulting, PARALLEL), RESULT)
    answered = replace(facts.shape, follows="answer")
    further: Message = {"role": "user", "content": FURTHER}
    yield "later question", ([*conversation(answered, SINGLE), further], FURTHER)
