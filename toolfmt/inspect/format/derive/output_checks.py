"""Verify that a derived format parses whole outputs correctly, the second part of its verification.

These are a text response, calls next to text and next to reasoning, calls that continue the generation prompt, and
ordinary responses that mention the markers. Calls and content must be correct, reasoning must be reported as
reasoning, and no part of a frame may remain in the content. Raises `NotDerivable`. Kinds that the template does not
render are limits.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from toolfmt.errors import TemplateError
from toolfmt.formats import ToolCallFormat
from toolfmt.formats.parser.prompt_prefix import answer_prefix
from toolfmt.inspect.format.derive.reading import differing, left_over, read_answer, shown
from toolfmt.inspect.format.derive.reasons import NotDerivable
from toolfmt.inspect.format.read_back import opened, own_markers
from toolfmt.inspect.probe.conversations import (
    ALL_TOOLS,
    BARE_TOOL,
    ID,
    PARALLEL,
    REASONING,
    REPLY,
    SINGLE,
    TOOL,
    VALUES,
    Call,
    Message,
    conversation,
    reply,
    user,
)
from toolfmt.inspect.probe.differences import common_prefix
from toolfmt.inspect.probe.renders import Renders, token_begin
from toolfmt.inspect.report.turn_shape import TurnShape

_NEAR = 60
"""Maximum distance from the end of the generation prompt to a reasoning block that it opens."""
_SHORT_REST = 30
"""Maximum number of characters of a generation prompt that the history may leave out."""
_TAIL = 400
_WORDS = re.compile(r"[\w\s.,:;!?'\"-]+")
"""Characters of prose; a line break does not indicate a marker either."""
_PUNCTUATION = re.compile(r"[!-/:-@\[-`{-~\s]+")
"""Characters that mark headings, lists, quotations and code."""
ORDINARY = (
    "Here is the plan: first we look, then we decide. Is that right?",
    'The function f(x) returns [1, 2] or {"a": 1}; call it twice.',
    "# Notes\n\n- one: 1\n- two: <b>2</b>\n\n| a | b |\n|---|---|\n| 1 | 2 |",
    "## Weather\n\n### find\n\n> *one*, **two**, __three__, ~~four~~ and ***five***\n\n---\n\n* a\n+ b\n1) c",
    "$ ls -l --all # then\n>>> find(1) == {} -> [] => () ;; // a /* b */ && c || d << e >> f :: g !! h",
    '```json\n{"city": "Oslo", "days": [1, 2]}\n```',
    '```python\ndef find(place: str) -> dict:\n    return {"place": place}\n```',
    '{"city": "Oslo", "forecast": [{"day": 1, "sky": "clear"}]}',
    "[1] See the notes. (2) Ask again @ noon, call: 555-1234; name: Ada, to: Bo = 3 > 2 < 4.",
    '<div class="note"><p>Tool, function, action, name and arguments.</p></div>',
)
"""Responses in which no format may find calls or lose text."""
OF_A_TOOL = (
    "<code>NAME</code> tells it.",
    "<b>NAME</b> tells it.",
    "<p>NAME</p>",
    "**NAME**",
    "**NAME** tells it, as `NAME` does.",
    "`NAME`",
    "### NAME\n\n- place: where to look\n\nIt tells more.",
    "- NAME: looks\n- tell: tells",
    "* NAME: looks",
    "1. NAME: looks",
    "[NAME](#here) tells it.",
    "<li>NAME</li>",
    "<h2>NAME</h2>\n\nIt tells more.",
    "~~~NAME\nplace\n~~~",
    "```NAME\nplace\n```",
    '"NAME"',
    "'NAME' tells it.",
    "(NAME) tells it.",
    "[NAME] tells it.",
    "> NAME\n\ntells it.",
    "| NAME | looks |",
    "NAME: looks",
)
"""The same with a declared tool's name in place of NAME: the syntax of responses about tools."""


@dataclass(frozen=True)
class AnswersRead:
    """How many kinds of output were read correctly, and descriptions of those that the template does not show."""

    right: int
    limits: tuple[str, ...]


@dataclass(frozen=True)
class RenderedAnswer:
    """What a model would have written, and the end of the prompt before it."""

    text: str
    prompt: str


def check_markers(renders: Renders, shape: TurnShape, format: ToolCallFormat) -> None:
    """Raise `NotDerivable` if the format's markers are plain words, a single character, or a part of an id."""
    for opener in format.openers:
        if not opener.strip() or len(opener.strip()) == 1:
            raise NotDerivable(f"a call would start with {shown(opener)}, which ordinary responses contain")
        if _PUNCTUATION.fullmatch(opener):
            raise NotDerivable(f"a call would start with {shown(opener.strip())}, which ordinary responses contain")
        if _WORDS.fullmatch(opener):
            raise NotDerivable(f"a call would start with plain words: {shown(opener.strip())}")
    if any(ID[:-1] in mark for mark in (*format.markers.output_literals, *own_markers(format))):
        raise NotDerivable("the id of a call would be one of its markers")


def read_answers(renders: Renders, shape: TurnShape, format: ToolCallFormat, parallel: bool) -> AnswersRead:
    """Test each kind of output that the template shows, and ordinary ones. Raise `NotDerivable` at a failure."""
    answers = WholeAnswers(renders, shape, format)
    right, limits = 0, []
    for what, wrong in _all(answers, parallel):
        if wrong is None:
            limits.append(f"{what} is not shown by the template")
        elif wrong:
            raise NotDerivable(f"{what}: {wrong}")
        else:
            right += 1
    return AnswersRead(right, tuple(limits))


def _all(answers: WholeAnswers, parallel: bool) -> Iterator[tuple[str, str | None]]:
    """Yield each kind with its problem: empty if it is correct, None if the template does not render it."""
    shape = answers.shape
    yield "an answer that mentions the markers", answers.ordinary()
    yield "an answer in words", answers.in_words()
    continued = answers.called(shape, SINGLE)
    yield "a call that goes on from the generation prompt", continued
    if parallel and continued is not None:
        yield "two calls that go on from the generation prompt", answers.called(shape, PARALLEL)
    yield "text next to a call", answers.called(replace(shape, content="text"), SINGLE, text=True)
    yield "reasoning next to a call", answers.called(replace(shape, reasoning=True), SINGLE, reasoning=True)


class WholeAnswers:
    """The outputs of one template, parsed with one format."""

    def __init__(self, renders: Renders, shape: TurnShape, format: ToolCallFormat) -> None:
        self.renders, self.shape, self.format = renders, shape, format
        self.tools = ALL_TOOLS
        self.question = self._render(user(system=shape.system), generation=True)
        self.tail = self._render(reply(shape)).rpartition(REPLY)[2]

    def ordinary(self) -> str:
        """Return the problem if ordinary responses contain calls or lose text."""
        ignored = {*self.format.ignored_markers, *self.format.ignored_at_start}
        marks = sorted({*self.format.openers, *self.format.closers} - ignored)
        mentions = [f"The marker {mark} opens or closes a call, or `{mark}` does." for mark in marks if mark.strip()]
        of_tools = [text.replace("NAME", name) for text in OF_A_TOOL for name in (TOOL, BARE_TOOL)]
        for text in (*ORDINARY, *mentions, *of_tools):
            came = read_answer(self.format, text, self.tools)
            if came.calls or came.rejected:
                return f"a call is read in {shown(text)}"
            if came.content != text:
                return f"of {shown(text)} comes {shown(came.content)}"
        return ""

    def in_words(self) -> str | None:
        answer = self.answer(reply(self.shape))
        if answer is None or REPLY not in answer.text:
            return None
        came = read_answer(self.format, answer.text, self.tools, answer.prompt)
        if came.calls or came.rejected:
            return "a call is read in it"
        if REPLY not in came.content:
            return "its text is lost"
        return self._left(came.content)

    def called(
        self, shape: TurnShape, calls: Sequence[Call], *, text: bool = False, reasoning: bool = False
    ) -> str | None:
        """Return the problem with these calls in an output after the generation prompt, with text or reasoning."""
        if shape.follows != "nothing":
            return None
        answer = self.answer(conversation(shape, calls))
        if answer is None or VALUES[0] not in answer.text:
            return None
        if (text and REPLY not in answer.text) or (reasoning and REASONING not in answer.text):
            return None
        came = read_answer(self.format, answer.text, self.tools, answer.prompt)
        if text and not self.format.openers and not came.calls and REPLY in came.content:
            return None  # a call without markers is not recognized after text
        if wrong := differing(calls, came):
            return wrong
        if text and REPLY not in came.content + came.reasoning:
            return "its text is lost"
        if reasoning and REASONING not in came.reasoning:
            return "its reasoning becomes content" if REASONING in came.content else "its reasoning is lost"
        return self._left(came.content)

    def _left(self, content: str) -> str:
        """Return what remains of a frame in the content."""
        left = left_over(content.replace(REPLY, " "))
        return f"{shown(left)} is left in its content" if left else ""

    def answer(self, messages: Sequence[Message]) -> RenderedAnswer | None:
        """Return the last turn as an output after the generation prompt; None if it is not rendered as one."""
        prompt, question = self._render(messages), self.question
        if not prompt or not question:
            return None
        if self.tail and prompt.endswith(self.tail):
            prompt = prompt[: len(prompt) - len(self.tail)]
        closers = [closer for opener, closer in self.format.reasoning_read if _open(question[-_NEAR:], opener, closer)]
        same = common_prefix(prompt, question)
        if same == len(question):
            goes_on = not closers or any(closer in prompt[same:] for closer in closers)
            return RenderedAnswer(prompt[same:], question[-_TAIL:]) if goes_on else None
        same = token_begin(prompt, same)
        start = prompt[same:].lstrip()
        if closers or any(start.startswith(closer) for _, closer in self.format.reasoning_read):
            return None
        near = not question[same:].strip() or (len(question) - same < _SHORT_REST and same > len(question) // 2)
        # It follows another generation prompt: the rest of that prompt's header is not part of the output.
        start = opened(self.format, question[:same])
        return RenderedAnswer(answer_prefix(prompt[same:]), start) if near else None

    def _render(self, messages: Sequence[Message], *, generation: bool = False) -> str:
        made = self.renders.render(messages, self.tools if self.shape.tools else None, generation=generation)
        return "" if isinstance(made, TemplateError) else made


def _open(text: str, opener: str, closer: str) -> bool:
    at = text.rfind(opener)
    return at >= 0 and closer not in text[at:]
