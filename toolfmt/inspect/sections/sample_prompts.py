"""The prompts that an inspection hands on: one of each kind of conversation, for comparing two templates.

`prompts` is called by the inspection and makes conversations that the probes make as well, so that most are rendered
already. They are not part of a report's JSON.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TypeAlias

from toolfmt.errors import TemplateError
from toolfmt.inspect.facts import Facts
from toolfmt.inspect.probe.conversations import (
    ALL_TOOLS,
    EVERY_TYPE,
    PARALLEL,
    SINGLE,
    TOOLS,
    Message,
    conversation,
    reply,
    user,
)
from toolfmt.inspect.report.error_messages import thrown
from toolfmt.inspect.report.report import SamplePrompt
from toolfmt.inspect.report.turn_shape import TurnShape

# Of 786 real templates the longest prompts have 134,909 characters all together (November 2026).
LONGEST = 200_000
"""So many characters of a prompt are kept; a template that writes more does so to do harm."""

_Asked: TypeAlias = tuple[str, list[Message], Sequence[Message] | None, bool]
"""What a conversation holds, its messages, the tools, and whether the prompt for an answer is asked for."""


def prompts(facts: Facts) -> dict[str, SamplePrompt]:
    """What the template makes of each conversation, by what is in it; empty without a template that compiles.

    Nothing stands in for a special token: where the model's files name the tokens, the template fails without one that
    it needs; where nobody can know them, their names stand for them.
    """
    renders = facts.marked
    if renders is not None and facts.missing_tokens and facts.files.kind != "gguf":
        renders = renders.bare()
    if renders is None:
        return {}
    return {
        name: _sample(renders.render(messages, tools, generation=generation))
        for name, messages, tools, generation in (*_conversations(), *_in_its_shape(facts))
    }


def _sample(made: str | TemplateError) -> SamplePrompt:
    """The prompt, or the error without the file and line, which another template has elsewhere."""
    if isinstance(made, str):
        return SamplePrompt(made[:LONGEST])
    return SamplePrompt("", thrown(made))


def _conversations() -> Iterator[_Asked]:
    plain, thinking = TurnShape(), TurnShape(reasoning=True)
    answered, called = replace(plain, follows="answer"), replace(thinking, follows="result")
    yield "a question", user(), None, False
    yield "a question to be answered", user(), None, True
    yield "a system message", user(system=True), None, False
    yield "an answer in words", reply(), None, False
    yield "an answer with reasoning", reply(thinking), None, False
    yield "an earlier answer", [*reply(), *user()], None, True
    yield "an earlier answer with reasoning", [*reply(thinking), *user()], None, True
    yield "a tool", user(), TOOLS, False
    yield "a tool, to be answered", user(), TOOLS, True
    yield "a tool and a system message", user(system=True), TOOLS, False
    yield "several tools", user(), ALL_TOOLS, False
    yield "a call", conversation(plain, SINGLE), TOOLS, False
    yield "a call with arguments as a string", conversation(replace(plain, arguments="string"), SINGLE), TOOLS, False
    yield "a call with content null", conversation(replace(plain, content="null"), SINGLE), TOOLS, False
    yield "a call with text beside it", conversation(replace(plain, content="text"), SINGLE), TOOLS, False
    yield "a call with reasoning", conversation(thinking, SINGLE), TOOLS, False
    yield "calls of every type of value", conversation(plain, EVERY_TYPE), ALL_TOOLS, False
    yield "two calls", conversation(plain, PARALLEL), TOOLS, False
    yield "a call and its result", conversation(replace(plain, follows="result"), SINGLE), TOOLS, False
    yield "two calls and their results", conversation(replace(plain, follows="result"), PARALLEL), TOOLS, False
    yield "a call, its result and an answer", conversation(answered, SINGLE), TOOLS, False
    yield "a call with reasoning and its result, to be answered", conversation(called, SINGLE), TOOLS, True
    yield "an earlier call, its result and an answer", [*conversation(answered, SINGLE), *user()], TOOLS, True
    earlier = [*conversation(replace(called, follows="answer"), SINGLE), *user()]
    yield "an earlier call, its result and an answer with reasoning", earlier, TOOLS, True


def _in_its_shape(facts: Facts) -> Iterator[_Asked]:
    """A call in the shape that the template takes, where that is not the plain one."""
    shape = facts.shape
    if shape is not None and shape.describe():
        tools = TOOLS if shape.tools else None
        yield f"a call with {shape.describe()}", conversation(shape, SINGLE), tools, False
