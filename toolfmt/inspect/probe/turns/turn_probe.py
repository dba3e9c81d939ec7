"""The context of every probe of turns: the template, the shape in which it renders calls and results, and sentinels.

A probe changes one thing in a conversation that renders correctly and checks the result. `TurnProbe` provides these
conversations; without one, there is nothing to test. Nothing here raises.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cached_property, partial
from typing import Any, Literal

from toolfmt.errors import TemplateError
from toolfmt.inspect.probe.capabilities import RESULTS_AT, result_shape, written_at
from toolfmt.inspect.probe.conversations import PARALLEL, RESULT, SINGLE, TOOLS, Message, conversation, text_part, user
from toolfmt.inspect.probe.renders import Renders
from toolfmt.inspect.report.report import Answer, Outcome
from toolfmt.inspect.report.turn_shape import TurnShape
from toolfmt.inspect.report.wording import quote

SECOND_RESULT = "Xr6second"
SECOND_USER = "Yu7again"
SECOND_REPLY = "Za8more"
CALL_TEXT = "Bt9beside"
IS_STRING = r"\bcontent\b['\"\])]*\s+is\s+(?:not\s+)?string\b"
"""A template's test whether a content is a string."""


class TurnProbe:
    """A template's renders, and the shape of a turn with a call that it renders.

    Without one, `renders_calls` is False.

    `parallel`: whether it renders several calls in one turn. `shows_reasoning`: whether it renders a last turn's
    reasoning. `results`: whether a result is rendered with string content, only with a list of parts, or not at all.
    """

    def __init__(self, renders: Renders, shape: TurnShape | None, *, parallel: bool, reasoning: bool) -> None:
        self.renders = renders
        self.renders_calls = shape is not None
        self.shape = shape or TurnShape()
        self.parallel = parallel
        self.shows_reasoning = reasoning

    def prompt(self, messages: Sequence[Message], *, generation: bool = False) -> str | TemplateError:
        """Return the prompt of a conversation without calls."""
        return self.renders.render(messages, self._tools, generation=generation)

    def prompt_as_requested(self, messages: Sequence[Message]) -> str | TemplateError:
        """Return the prompt without the generation prompt, even if every other probe of this template uses it."""
        return self.renders.as_requested().render(messages, self._tools)

    def text(self, messages: Sequence[Message]) -> str:
        """Return the prompt of a conversation without calls, or an empty string if the template raises."""
        made = self.prompt(messages)
        return made if isinstance(made, str) else ""

    def without_tools(self, messages: Sequence[Message]) -> str:
        """Return the prompt of a conversation without calls and tools, or an empty string if the template raises."""
        return self.renders.text(messages)

    def line(self, *patterns: str) -> int | None:
        """Return the line of the first of these patterns that occurs in the template."""
        return self.renders.template.line_of(*patterns)

    def last_line(self, pattern: str, line: int) -> int | None:
        """Return the last line up to this one that matches the pattern, or None."""
        lines = enumerate(self.renders.template.source.split("\n")[:line], 1)
        return max((number for number, text in lines if re.search(pattern, text)), default=None)

    def line_before(self, line: int | None, pattern: str) -> int | None:
        """Return the last line up to this one that matches the pattern, else the first of all."""
        return (None if line is None else self.last_line(pattern, line)) or self.line(pattern)

    def dropped_at(self, usual: Sequence[Message], other: Sequence[Message], text: str) -> int | None:
        """Return the line of the condition that drops `text`, or None if no single condition decides.

        The prompt of `usual` contains it, that of `other` does not.
        """
        first, second = (partial(self.renders.fresh, messages, self._tools_of_history) for messages in (usual, other))
        return self.renders.deciding_line(first, second, lambda prompt: text in prompt)

    def differs_at(self, usual: Sequence[Message], other: Sequence[Message]) -> int | None:
        """Return the line of the first condition with a different outcome in `other` than in `usual`, or None."""
        first, second = (partial(self.renders.fresh, messages, self._tools_of_history) for messages in (usual, other))
        return self.renders.differing_line(first, second)

    @property
    def _tools_of_history(self) -> Sequence[Message] | None:
        return TOOLS if (self.answered or self.shape).tools else None

    def line_of(self, messages: Sequence[Message], sentinel: str, *patterns: str) -> int | None:
        """Return the line that writes this sentinel into the prompt of a conversation without calls; else as `line`."""
        return written_at(self.renders, messages, self._tools, sentinel) or self.line(*patterns)

    def line_at(self, messages: Sequence[Message], offset: int, *, generation: bool = False) -> int | None:
        """Return the line that writes the character at this offset of the prompt of a conversation without calls."""
        return self.renders.line_at(messages, self._tools, offset, generation=generation)

    def line_in_history(self, messages: Sequence[Message], offset: int) -> int | None:
        """Return the line that writes the character at this offset of the prompt of a conversation with calls."""
        tools = TOOLS if (self.answered or self.shape).tools else None
        return self.renders.line_at(messages, tools, offset) if offset >= 0 else None

    @cached_property
    def result_line(self) -> int | None:
        """The line that writes a result."""
        return self.result_line_of(self.history())

    def result_line_of(self, messages: Sequence[Message]) -> int | None:
        """The line that writes the result of these messages."""
        tools = TOOLS if (self.answered or self.shape).tools else None
        return written_at(self.renders, messages, tools, RESULT) or self.line(*RESULTS_AT)

    @cached_property
    def _tools(self) -> Sequence[Message] | None:
        """The tools, if the shape has them and the template accepts a question with them."""
        return TOOLS if self.shape.tools and isinstance(self.renders.render(user(), TOOLS), str) else None

    @cached_property
    def answered(self) -> TurnShape | None:
        """The shape in which a call and its result appear, or None."""
        found = result_shape(self.renders, self.shape)
        return found if isinstance(found, TurnShape) else None

    @cached_property
    def results(self) -> Literal["string", "parts", "none"]:
        if self.answered is not None:
            return "string"
        prompt = self.prompt(contents(conversation(self.shape, SINGLE, results=True), [text_part(RESULT)]))
        whole = isinstance(prompt, str) and RESULT in prompt and printed_as(prompt, RESULT) != "python"
        return "parts" if whole else "none"

    def history(self, *, several: bool = False) -> list[Message]:
        """Return the question, a turn with one or two calls, and their results, in the shape that renders correctly."""
        shape = self.answered or self.shape
        messages = conversation(shape, PARALLEL if several else SINGLE, results=True)
        return self.with_results(messages, [RESULT, SECOND_RESULT])

    def with_results(self, messages: Sequence[Message], texts: Sequence[str]) -> list[Message]:
        """Return the messages with these strings as results, in the content form that the template renders."""
        return contents(messages, [text_part(text) if self.results == "parts" else text for text in texts])

    def ask(self, messages: Sequence[Message], *, generation: bool = False) -> str | TemplateError:
        """Return the prompt of a conversation with calls, with the tools if their shape has them."""
        shape = self.answered or self.shape
        return self.renders.render(messages, TOOLS if shape.tools else None, generation=generation)


def contents(messages: Sequence[Message], given: Sequence[Any]) -> list[Message]:
    """Return the messages with these contents on the results, in order."""
    left = iter(given)
    return [message | {"content": next(left)} if message["role"] == "tool" else message for message in messages]


def printed_as(prompt: str, sentinel: str) -> Literal["", "python", "json-text"]:
    """Return whether a list of parts is printed as Python's repr or as JSON; empty if only its text is."""
    found = re.search(rf"""(['"])text['"]:\s*(['"]){sentinel}""", prompt)
    if found is None:
        return ""
    return "python" if found[2] == "'" else "json-text"


def describe_gap(between: str) -> tuple[str, tuple[str, ...]]:
    """Return a phrase and an excerpt for the text between two strings of a prompt. Whitespace is described."""
    if between.strip():
        return "between them is {}" if re.search(r"\w", between) else "between them is '{}'", (quote(between, 80),)
    if not between:
        return "there is nothing between them", ()
    return f"between them {'is a line break' if between == chr(10) else 'is whitespace'} only", ()


def no(words: str, outcome: Outcome = "", line: int | None = None, *excerpts: str) -> Answer:
    """Return the answer `no`."""
    return Answer("no", words, line, outcome, excerpts)


def yes(words: str, line: int | None = None, *excerpts: str) -> Answer:
    """Return the answer `yes`."""
    return Answer("yes", words, line, "", excerpts)
