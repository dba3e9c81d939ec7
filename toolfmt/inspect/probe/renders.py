"""Cached renders of one template, and the region of a prompt that contains a turn's calls.

A render that raises returns its error instead of a string. Only `LimitHit` is raised, which ends the inspection. The
region of the calls is the difference to the same conversation with a text response; markers are not used.
"""

from __future__ import annotations

import itertools
import marshal
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from toolfmt.errors import LimitHit, TemplateError, ToolfmtError
from toolfmt.inspect.probe.conversations import REPLY, TOOLS, USER, Call, Message, conversation, reply, text_part, user
from toolfmt.inspect.probe.differences import common_prefix
from toolfmt.inspect.probe.words import Words
from toolfmt.inspect.report.turn_shape import TurnShape
from toolfmt.templates import ChatTemplate
from toolfmt.templates.analysis.conditions import Condition
from toolfmt.templates.engine.own_texts import OwnTexts

# Limits the search for a token near a cut: a prompt may be a single word of megabytes.
_LONGEST_TOKEN = 200
_PARTIAL = re.compile(rf"[<\[][^\s<>\[\]]{{0,{_LONGEST_TOKEN - 1}}}\Z|\w{{1,{_LONGEST_TOKEN}}}\Z")
_BRANCH = re.compile(r"\{%-?\s*(?:if|for|else|elif|end)")
_ONLY_A_VARIABLE = re.compile(r"\s*\{\{-?\s*(\w+)(?:\[-?\d*:-?\d*\])?\s*-?\}\}\s*")
_ADDRESS = re.compile(r"(?<= at 0x)[0-9a-f]{4,16}(?=>)")

Render = Callable[[], str | TemplateError]


@dataclass(frozen=True)
class Region:
    """A prompt split in three: before the calls, the calls, and the end that it shares with a text response."""

    before: str
    text: str
    after: str


class Renders:
    """Renders of one template, each made once."""

    def __init__(
        self, template: ChatTemplate, tokens: Mapping[str, Any] | None = None, words: Words | None = None
    ) -> None:
        """`tokens` are special tokens and other variables passed to the template besides its own.

        `words` replace the usual sentinels, None for no replacement.
        """
        self.template = template
        self.words = words
        self._tokens = dict(tokens or {})
        self.reasoning_name = ""
        """The field that `reasoning_content` of messages is renamed to for the template; empty for no change."""
        self.content_as_parts = False
        """Whether every content, except that of results, is passed as a list of text parts."""
        self.always_generation = False
        """Whether every prompt has the generation prompt, because this template renders other content with it."""
        self._made: dict[bytes, str | TemplateError] = {}
        self.rendered: list[tuple[Sequence[Message], Sequence[Message] | None, str]] = []
        """The conversations rendered so far, each with its tools and its prompt."""
        self._cut: dict[bytes, list[tuple[str, int]]] = {}
        self._given: dict[bytes, Renders] = {}

    @property
    def tokens(self) -> Mapping[str, str]:
        """The special tokens passed to the template besides its own."""
        return self._tokens

    def render(
        self,
        messages: Sequence[Message],
        tools: Sequence[Message] | None = None,
        *,
        generation: bool = False,
        now: datetime | None = None,
    ) -> str | TemplateError:
        """Return the prompt, or the error that the template raised."""
        messages = self.named(messages)
        generation = generation or self.always_generation
        key = _key(messages, tools, generation, str(now))
        made = self._made.get(key)
        if made is None:
            made = self._made[key] = self._render(messages, tools, generation, now)
            if isinstance(made, str):
                self.rendered.append((messages, tools, made))
        return made

    @property
    def errors(self) -> tuple[TemplateError, ...]:
        """The errors that the template has raised so far, in render order."""
        return tuple(made for made in self._made.values() if isinstance(made, TemplateError))

    def given(self, variables: Mapping[str, Any]) -> Renders:
        """Return renders of the same template with these variables, cached per set of variables."""
        if not variables:
            return self
        key = _key(variables)
        if key not in self._given:
            self._given[key] = self._copy_with(self._tokens | dict(variables))
        return self._given[key]

    def named(self, messages: Sequence[Message]) -> Sequence[Message]:
        """Return the messages with the reasoning field and the content form that the template reads."""
        if self.reasoning_name:
            messages = [_renamed(message, self.reasoning_name) for message in messages]
        return with_text_parts(messages) if self.content_as_parts else messages

    def bare(self) -> Renders:
        """Return renders of the same template with only its own special tokens."""
        return self._copy_with(None)

    def anew(self) -> Renders:
        """Return renders of the same template with the same settings and an empty cache."""
        return self._copy_with(self._tokens)

    def unchanged_content(self) -> Renders:
        """Return renders of the same template that pass each content unchanged."""
        if not self.content_as_parts:
            return self
        new = self.anew()
        new.content_as_parts = False
        return new

    def as_requested(self) -> Renders:
        """Return renders of the same template with the generation prompt only if it is requested."""
        if not self.always_generation:
            return self
        new = self.anew()
        new.always_generation = False
        return new

    def of(self, template: ChatTemplate) -> Renders:
        """Return renders of another template with the same settings."""
        return self._copy_with(self._tokens, template)

    def _copy_with(self, tokens: Mapping[str, Any] | None, template: ChatTemplate | None = None) -> Renders:
        new = Renders(template or self.template, tokens, self.words)
        new.reasoning_name, new.content_as_parts = self.reasoning_name, self.content_as_parts
        new.always_generation = self.always_generation
        return new

    def text(self, messages: Sequence[Message], tools: Sequence[Message] | None = None) -> str:
        """Return the prompt, or an empty string if the template raised."""
        made = self.render(messages, tools)
        return made if isinstance(made, str) else ""

    def fresh(
        self,
        messages: Sequence[Message],
        tools: Sequence[Message] | None = None,
        *,
        now: datetime | None = None,
        generation: bool = False,
    ) -> str | TemplateError:
        """Return the prompt from a new render, bypassing the cache."""
        return self._render(self.named(messages), tools, generation or self.always_generation, now)

    def clock_line(self, messages: Sequence[Message], tools: Sequence[Message] | None) -> int | None:
        """Return the first line of the template that reads the clock during this render, or None."""
        try:
            given: dict[str, Any] = {"tools": self._shown(tools), **self._tokens}
            return next(iter(self.template.clock_lines(self._shown(self.named(messages)), **given)), None)
        except (ToolfmtError, RecursionError, MemoryError):
            return None

    def line_at(
        self,
        messages: Sequence[Message],
        tools: Sequence[Message] | None,
        offset: int,
        *,
        generation: bool = False,
        innermost: bool = False,
    ) -> int | None:
        """Return the line of the template that wrote the character at this offset of the prompt, or None.

        `innermost`: the line inside a macro instead of the line of its call, and the `set` of a variable instead of
        the line that only prints it.
        """
        generation = generation or self.always_generation
        for text, line in self._pieces(self.named(messages), tools, generation, innermost):
            offset -= len(text)
            if offset < 0:
                return self._set_of(line) if innermost else line
        return None

    def _set_of(self, line: int) -> int:
        """Return the line of the `set` of the variable that `line` prints if no branch is in between, else `line`."""
        lines = self.template.source.split("\n")
        printed = _ONLY_A_VARIABLE.fullmatch(lines[line - 1])
        if printed is None:
            return line
        sets = re.compile(rf"\bset\s+{printed[1]}\s*=")
        before = itertools.takewhile(lambda number: not _BRANCH.search(lines[number - 1]), range(line - 1, 0, -1))
        return next((number for number in before if sets.search(lines[number - 1])), line)

    def deciding_line(self, usual: Render, other: Render, has_effect: Callable[[str], bool]) -> int | None:
        """Return the line of the condition that makes two renders differ, or None.

        Forces each condition of `other` to an outcome that it has in `usual`, until `has_effect(prompt)` is true.
        """
        for condition, way in self._differing(usual, other):
            prompt = render_with_outcome(self.template, condition, way, other)
            if isinstance(prompt, str) and has_effect(prompt):
                return condition.line
        return None

    def differing_line(self, usual: Render, other: Render) -> int | None:
        """Return the line of the first condition with another outcome in one render than in the other, or None."""
        return next((condition.line for condition, _ in self._differing(usual, other)), None)

    def _differing(self, usual: Render, other: Render) -> Iterator[tuple[Condition, bool]]:
        """Yield the conditions with different outcomes in the two renders, each with the outcome to force.

        In order of line. Conditions that in `other` never have an outcome that they have in `usual` come first.
        """
        coverage = self.template.watch
        outcomes, others = (coverage.during(render)[1] for render in (usual, other))
        conditions = sorted(coverage.conditions, key=lambda one: one.line)
        each = [(one, way, 2 * one.number) for one in conditions for way in (False, True)]
        ways = [(one, way, first + way, first + (not way)) for one, way, first in each]
        yield from (
            (one, way) for one, way, number, opposite in ways if number in outcomes - others and opposite in others
        )
        yield from (
            (one, way)
            for one, way, number, opposite in ways
            if number in outcomes & others and opposite in others - outcomes
        )

    def _pieces(
        self, messages: Sequence[Message], tools: Sequence[Message] | None, generation: bool, innermost: bool
    ) -> list[tuple[str, int]]:
        """Return the pieces of a prompt, each with its line. Empty if the template raises."""
        key = _key(messages, tools, generation, innermost)
        pieces = self._cut.get(key)
        if pieces is None:
            given: dict[str, Any] = {"tools": self._shown(tools), "add_generation_prompt": generation, **self._tokens}
            try:
                pieces = self.template.pieces(self._shown(messages), innermost=innermost, **given)
                pieces = [(self._usual(text), line) for text, line in pieces]
            except (ToolfmtError, RecursionError, MemoryError):
                pieces = []
            self._cut[key] = pieces
        return pieces

    def calls(self, shape: TurnShape, calls: Sequence[Call], tools: Sequence[Message]) -> Region | TemplateError:
        """Return the prompt with these calls in the last turn, split where it differs from one with a text response."""
        given = tools if shape.tools else None
        prompt = self.render(conversation(shape, calls), given)
        if isinstance(prompt, TemplateError):
            return prompt
        answered = self.text(reply(shape), given)
        head, found, tail = answered.rpartition(REPLY)
        if not found:
            head, tail = self.text(user(system=shape.system), given), ""
        begin = common_prefix(prompt, head)
        if begin < len(head):
            begin = token_begin(prompt, begin)
        if shape.content in ("text", "parts") and prompt.startswith(REPLY, begin):
            begin += len(REPLY)
        end = len(prompt) - len(tail) if tail and prompt.endswith(tail) else len(prompt)
        end = max(begin, end)
        return Region(prompt[:begin], prompt[begin:end], prompt[end:])

    def _render(
        self,
        messages: Sequence[Message],
        tools: Sequence[Message] | None,
        generation: bool,
        now: datetime | None,
    ) -> str | TemplateError:
        given: dict[str, Any] = {
            "tools": self._shown(tools),
            "add_generation_prompt": generation,
            "now": now,
            **self._tokens,
        }
        try:
            return _placeless(self._usual(self.template.render(self._shown(messages), **given)))
        except LimitHit:
            raise  # the inspection ends here: every other render would hit the same limit
        except TemplateError as error:
            message, engine_message = (_placeless(self._usual(text)) for text in (str(error), error.engine_message))
            return TemplateError(message, error.line, error.kind, engine_message)
        except (ToolfmtError, RecursionError) as error:
            return TemplateError(self._usual(str(error)))

    def _shown(self, value: Any) -> Any:
        """Return the messages or tools as the template receives them."""
        return value if self.words is None else self.words.other(value)

    def _usual(self, text: str) -> str:
        return text if self.words is None else self.words.usual(text)


def render_with_outcome(
    template: ChatTemplate, condition: Condition, holds: bool, render: Render
) -> str | TemplateError:
    """Return the result of `render` with this outcome of the condition forced. Nothing is recorded."""
    own_texts, template.own_texts = template.own_texts, OwnTexts()
    template.watch.forced[2 * condition.number] = holds
    try:
        return template.watch.apart(render)
    finally:
        template.watch.forced.clear()
        template.own_texts = own_texts


def _key(*values: Any) -> bytes:
    """Return a key that is the same only for values of JSON's types with the same types and order; faster than JSON."""
    return marshal.dumps(values, 2)  # from version 3 on it depends on which objects are the same one


def with_text_parts(messages: Sequence[Message]) -> list[Message]:
    """Return the messages with each string content, except that of results, as a list of one text part."""
    return [
        message | {"content": text_part(message["content"])}
        if isinstance(message.get("content"), str) and message["role"] != "tool"
        else message
        for message in messages
    ]


def _renamed(message: Message, name: str) -> Message:
    if "reasoning_content" not in message:
        return message
    return {name if key == "reasoning_content" else key: value for key, value in message.items()}


def _placeless(text: str) -> str:
    """Return the text with object addresses set to zeros, so that a template always has the same report."""
    return _ADDRESS.sub(lambda found: "0" * len(found[0]), text) if " at 0x" in text else text


def token_begin(prompt: str, cut: int) -> int:
    """Return the cut, moved to the start of the control token or word that it splits."""
    partial = _PARTIAL.search(prompt, max(0, cut - _LONGEST_TOKEN), cut)
    if partial is None or (partial[0][0] not in "<[" and not re.match(r"\w", prompt[cut : cut + 1])):
        return cut
    return partial.start()


def takes_questions(renders: Renders) -> bool:
    """Return whether the text of a plain question appears in the prompt."""
    return USER in renders.text(user())


def needs_parts(renders: Renders) -> bool:
    """Return whether the text of a question appears only if content is a list of parts."""
    talks = [(user(system=system), tools) for system in (False, True) for tools in (None, TOOLS)]
    if any(USER in renders.text(messages, tools) for messages, tools in talks):
        return False
    shown = [renders.text(with_text_parts(messages), tools) for messages, tools in talks]
    return any(USER in prompt and not re.search(rf"""['"]{USER}""", prompt) for prompt in shown)
