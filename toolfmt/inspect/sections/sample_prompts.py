"""The prompts that an inspection keeps for comparing two templates: one for each kind of conversation.

Most of these conversations are those of the probes, so their renders are cached. The prompts are not part of a
report's JSON.
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

# The longest prompts of 786 real templates have 134,909 characters in total (November 2026).
LONGEST = 200_000
"""Maximum number of characters that are kept of a prompt. Only a malicious template writes more."""

_Request: TypeAlias = tuple[str, list[Message], Sequence[Message] | None, bool]
"""A description of the conversation, its messages, the tools, and whether to add the generation prompt."""


def prompts(facts: Facts) -> dict[str, SamplePrompt]:
    """Return the prompt of each conversation, by its description; empty without a template that compiles.

    Missing special tokens are not substituted: if the model's files define tokens, a template fails without one that
    it needs. If the tokens cannot be known, their names are used.
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
    """Return the prompt, or the error without file and line, which differ between templates."""
    if isinstance(made, str):
        return SamplePrompt(made[:LONGEST])
    return SamplePrompt("", thrown(made))


def _conversations() -> Iterator[_Request]:
    plain, thinking = TurnShape(), TurnShape(reasoning=True)
    answered, called = replace(plain, follows="answer"), replace(thinking, follows="result")
    yield "a question", user(), None, False
    yield "a question, with the generation prompt", user(), None, True
    yield "a system message", user(system=True), None, False
    yield "a text response", reply(), None, False
    yield "a response with reasoning", reply(thinking), None, False
    yield "an earlier response", [*reply(), *user()], None, True
    yield "an earlier response with reasoning", [*reply(thinking), *user()], None, True
    yield "a tool", user(), TOOLS, False
    yield "a tool, with the generation prompt", user(), TOOLS, True
    yield "a tool and a system message", user(system=True), TOOLS, False
    yield "several tools", user(), ALL_TOOLS, False
    yield "a call", conversation(plain, SINGLE), TOOLS, False
    yield "a call with arguments as a string", conversation(replace(plain, arguments="string"), SINGLE), TOOLS, False
    yield "a call with content null", conversation(replace(plain, content="null"), SINGLE), TOOLS, False
    yield "a call with text next to it", conversation(replace(plain, content="text"), SINGLE), TOOLS, False
    yield "a call with reasoning", conversation(thinking, SINGLE), TOOLS, False
    yield "calls of every type of value", conversation(plain, EVERY_TYPE), ALL_TOOLS, False
    yield "two calls", conversation(plain, PARALLEL), TOOLS, False
    yield "a call and its result", conversation(replace(plain, follows="result"), SINGLE), TOOLS, False
    yield "two calls and their results", conversation(replace(plain, follows="result"), PARALLEL), TOOLS, False
    yield "a call, its result and a response", conversation(answered, SINGLE), TOOLS, False
    yield "a call with reasoning and its result, with the generation prompt", conversation(called, SINGLE), TOOLS, True
    yield "an earlier call, its result and a response", [*conversation(answered, SINGLE), *user()], TOOLS, True
    earlier = [*conversation(replace(called, follows="answer"), SINGLE), *user()]
    yield "an earlier call, its result and a response with reasoning", earlier, TOOLS, True


def _in_its_shape(facts: Facts) -> Iterator[_Request]:
    """Yield a call in the shape that the template accepts, if that is not the default."""
    shape = facts.shape
    if shape is not None and shape.describe():
        tools = TOOLS if shape.tools else None
        yield f"a call with {shape.describe()}", conversation(shape, SINGLE), tools, False
