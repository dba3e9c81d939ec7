"""Renders of one template, each made once, and the stretch of a prompt that a turn's calls take up.

The probes ask; a template that throws answers with its error instead of a text, so nothing here raises but `LimitHit`,
which ends the inspection. What stretch belongs to the calls is read off the difference to the same conversation with an
answer in words, never off markers.
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
from toolfmt.inspect.probe.conversations import REPLY, Call, Message, conversation, reply, text_part, user
from toolfmt.inspect.probe.differences import common_prefix
from toolfmt.inspect.probe.words import Words
from toolfmt.inspect.report.turn_shape import TurnShape
from toolfmt.templates import ChatTemplate
from toolfmt.templates.analysis.conditions import Condition
from toolfmt.templates.engine.own_texts import OwnTexts

# Bounded as a token is, and looked for only that near: a prompt of one word of megabytes is not searched through.
_LONGEST_TOKEN = 200
_PARTIAL = re.compile(rf"[<\[][^\s<>\[\]]{{0,{_LONGEST_TOKEN - 1}}}\Z|\w{{1,{_LONGEST_TOKEN}}}\Z")
_BRANCH = re.compile(r"\{%-?\s*(?:if|for|else|elif|end)")
_ONLY_A_VARIABLE = re.compile(r"\s*\{\{-?\s*(\w+)(?:\[-?\d*:-?\d*\])?\s*-?\}\}\s*")
_ADDRESS = re.compile(r"(?<= at 0x)[0-9a-f]{4,16}(?=>)")

Render = Callable[[], str | TemplateError]


@dataclass(frozen=True)
class Region:
    """A prompt cut in three: what comes before the calls, the calls, and what an answer in words ends with as well."""

    before: str
    text: str
    after: str


class Renders:
    """What the template makes of conversations."""

    def __init__(
        self, template: ChatTemplate, tokens: Mapping[str, Any] | None = None, words: Words | None = None
    ) -> None:
        """`tokens` are special tokens, and other variables, that the template is given beside its own; `words` those
        that it is shown in the place of the usual ones, None for these.
        """
        self.template = template
        self.words = words
        self._tokens = dict(tokens or {})
        self.reasoning_name = ""
        """The name under which the template is given what messages hold as `reasoning_content`; empty for that one."""
        self.content_as_parts = False
        """Whether the template is given each content, except that of results, as a list of text parts."""
        self.always_generation = False
        """Whether every prompt is made with the generation prompt: with it this template renders other content."""
        self._made: dict[bytes, str | TemplateError] = {}
        self.rendered: list[tuple[Sequence[Message], Sequence[Message] | None, str]] = []
        """The conversations that were rendered, each with its tools and its prompt."""
        self._cut: dict[bytes, list[tuple[str, int]]] = {}
        self._given: dict[bytes, Renders] = {}

    @property
    def tokens(self) -> Mapping[str, str]:
        """The special tokens that the template is given beside its own."""
        return self._tokens

    def render(
        self,
        messages: Sequence[Message],
        tools: Sequence[Message] | None = None,
        *,
        generation: bool = False,
        now: datetime | None = None,
    ) -> str | TemplateError:
        """The prompt, or the error the template threw."""
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
        """The errors that the template has thrown so far, in the order of the renders."""
        return tuple(made for made in self._made.values() if isinstance(made, TemplateError))

    def given(self, variables: Mapping[str, Any]) -> Renders:
        """Renders of the same template with these variables; the same ones for the same variables."""
        if not variables:
            return self
        key = _key(variables)
        if key not in self._given:
            self._given[key] = self._alike(self._tokens | dict(variables))
        return self._given[key]

    def named(self, messages: Sequence[Message]) -> Sequence[Message]:
        """The messages with their reasoning under the name, and their content in the form, that the template reads."""
        if self.reasoning_name:
            messages = [_renamed(message, self.reasoning_name) for message in messages]
        return with_text_parts(messages) if self.content_as_parts else messages

    def bare(self) -> Renders:
        """Renders of the same template that is given nothing beside its own special tokens."""
        return self._alike(None)

    def anew(self) -> Renders:
        """Renders of the same template, given the same, that know of none made before."""
        return self._alike(self._tokens)

    def unchanged_content(self) -> Renders:
        """Return renders of the same template that pass each content unchanged."""
        if not self.content_as_parts:
            return self
        new = self.anew()
        new.content_as_parts = False
        return new

    def as_requested(self) -> Renders:
        """Return renders of the same template with the generation prompt only where it is requested."""
        if not self.always_generation:
            return self
        new = self.anew()
        new.always_generation = False
        return new

    def of(self, template: ChatTemplate) -> Renders:
        """Renders of another template, which is asked in the same way."""
        return self._alike(self._tokens, template)

    def _alike(self, tokens: Mapping[str, Any] | None, template: ChatTemplate | None = None) -> Renders:
        new = Renders(template or self.template, tokens, self.words)
        new.reasoning_name, new.content_as_parts = self.reasoning_name, self.content_as_parts
        new.always_generation = self.always_generation
        return new

    def text(self, messages: Sequence[Message], tools: Sequence[Message] | None = None) -> str:
        """The prompt; empty where the template threw."""
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
        """The prompt rendered once more, whatever was rendered before."""
        return self._render(self.named(messages), tools, generation or self.always_generation, now)

    def clock_line(self, messages: Sequence[Message], tools: Sequence[Message] | None) -> int | None:
        """The line of the template that asks the clock first while it renders this; None where none does."""
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
        """The line of the template that wrote the character at this offset of the prompt; None where there is none.

        `innermost`: the line inside a macro instead of the line of its call, and the `set` of a variable instead of the
        line that only prints it.
        """
        generation = generation or self.always_generation
        for text, line in self._pieces(self.named(messages), tools, generation, innermost):
            offset -= len(text)
            if offset < 0:
                return self._set_of(line) if innermost else line
        return None

    def _set_of(self, line: int) -> int:
        """The line of the `set` of the variable that this line prints, if no branch is in between; else this line."""
        lines = self.template.source.split("\n")
        printed = _ONLY_A_VARIABLE.fullmatch(lines[line - 1])
        if printed is None:
            return line
        sets = re.compile(rf"\bset\s+{printed[1]}\s*=")
        before = itertools.takewhile(lambda number: not _BRANCH.search(lines[number - 1]), range(line - 1, 0, -1))
        return next((number for number in before if sets.search(lines[number - 1])), line)

    def deciding_line(self, usual: Render, other: Render, has_effect: Callable[[str], bool]) -> int | None:
        """Find the condition that makes two renders differ: force each condition of `other` to an outcome it has in
        `usual`. Return the line of the first for which `has_effect(prompt)` is true, or None.
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
        """The conditions with other outcomes in one render than in the other, each with the outcome to force; by line.
        First those that never have in `other` an outcome that they have in `usual`.
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
        """The pieces of a prompt, each with its line; none where the template throws."""
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
        """The prompt with these calls in the last turn, cut where it differs from one with an answer in words."""
        given = tools if shape.tools else None
        prompt = self.render(conversation(shape, calls), given)
        if isinstance(prompt, TemplateError):
            return prompt
        spoken = self.text(reply(shape), given)
        head, found, tail = spoken.rpartition(REPLY)
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
            raise  # the inspection ends here: what hits a limit once would in every other render
        except TemplateError as error:
            said, own_words = (_placeless(self._usual(text)) for text in (str(error), error.own_words))
            return TemplateError(said, error.line, error.kind, own_words)
        except (ToolfmtError, RecursionError) as error:
            return TemplateError(self._usual(str(error)))

    def _shown(self, value: Any) -> Any:
        """What the template is shown of messages or tools."""
        return value if self.words is None else self.words.other(value)

    def _usual(self, text: str) -> str:
        return text if self.words is None else self.words.usual(text)


def render_with_outcome(
    template: ChatTemplate, condition: Condition, holds: bool, render: Render
) -> str | TemplateError:
    """Return what `render` returns if the condition of the template comes out this way; none of it is recorded."""
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
    """The text with zeros for where an object lies in memory, so that the same template has the same report."""
    return _ADDRESS.sub(lambda found: "0" * len(found[0]), text) if " at 0x" in text else text


def token_begin(prompt: str, cut: int) -> int:
    """The cut, moved to the beginning of the control token or word that it goes through."""
    partial = _PARTIAL.search(prompt, max(0, cut - _LONGEST_TOKEN), cut)
    if partial is None or (partial[0][0] not in "<[" and not re.match(r"\w", prompt[cut : cut + 1])):
        return cut
    return partial.start()
