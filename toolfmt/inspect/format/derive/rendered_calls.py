"""Render calls with sentinels as names, keys and values.

Everything that a derivation needs is rendered here once. Names, keys, values and ids are sentinels, so that the rest
of the text belongs to the format. A call on which the template raises is None. If the first call cannot be rendered,
`NotDerivable` is raised.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from toolfmt.errors import TemplateError
from toolfmt.inspect.format.derive.reasons import NotDerivable
from toolfmt.inspect.probe.conversations import (
    DESCRIPTION,
    FURTHER,
    ID,
    PARAMETER_DESCRIPTION,
    REASONING,
    REPLY,
    RESULT,
    SYSTEM,
    USER,
    Call,
    Message,
    call_id,
    reply,
    tool_definition,
    user,
)
from toolfmt.inspect.probe.differences import common_prefix
from toolfmt.inspect.probe.renders import Region, Renders
from toolfmt.inspect.report.turn_shape import TurnShape

NAMES = ("fetch_zqone", "store_zqtwo", "close_zqthree")
KEYS = ("azqkey", "bzqkey", "czqkey")
VALUES = ("Vzq1aaa", "Vzq2bbb", "Vzq3ccc")
NUMBER_KEY = "nzqkey"
NUMBER = 73519
HARD = "Vzq5<e>&\n1"
"""A value that a format may mark as text, or escape."""
SENTINELS = (
    *NAMES, *KEYS, *VALUES, NUMBER_KEY, str(NUMBER), "Vzq5", ID[:-1], USER, FURTHER, SYSTEM, REPLY, RESULT, REASONING,
    DESCRIPTION, PARAMETER_DESCRIPTION,
)  # fmt: skip
"""Strings that no marker may contain."""

_TYPES = {**dict.fromkeys(KEYS, "string"), NUMBER_KEY: "integer"}
TOOLS: list[Message] = [
    tool_definition(
        name, "Does.", {key: {"type": kind, "description": "An argument."} for key, kind in _TYPES.items()}, []
    )
    for name in NAMES
]

_LONGEST_PROMPT = 200_000
_LONGEST_CALLS = 20_000
_NEAR = 200
"""Maximum length of the part of a response in the generation prompt."""
_CUT_BEFORE, _CUT_AFTER = re.compile(r"[<\w|｜▁/]"), re.compile(r"[\w|｜▁/>]")


@dataclass(frozen=True)
class RenderedCalls:
    """One rendered set of calls: what a model would have written, the prompt before it, and the ids passed in."""

    text: str
    before: str
    calls: tuple[Call, ...]
    ids: tuple[str, ...]


@dataclass(frozen=True)
class Rendered:
    """Everything that a derivation needs. A set on which the template raises, or that it writes partly, is None."""

    shape: TurnShape
    question: str
    """A question with the generation prompt; empty if the template raises."""
    question_without_tools: str
    """The same without tools."""
    header: str
    """The generation prompt in it."""
    text_response: str
    """A question and a text response."""
    thinking: tuple[str, ...]
    """Text responses with reasoning before them, with and without text in the calls' shape."""
    one: RenderedCalls
    two_arguments: RenderedCalls | None
    swapped: RenderedCalls | None
    """The two arguments, the second first."""
    none: RenderedCalls | None
    number: RenderedCalls | None
    hard: RenderedCalls | None
    words: RenderedCalls | None
    """A call with true, false and null."""
    two: RenderedCalls | None
    with_text: RenderedCalls | None
    """The first call with text for the user."""
    thought: RenderedCalls | None
    """The first call with reasoning."""


def rendered(renders: Renders, shape: TurnShape) -> Rendered:
    """Render everything. Raise `NotDerivable` if the template does not write the first call."""
    name, (key, second), (value, other) = NAMES[0], KEYS[:2], VALUES[:2]
    first, another = (name, {key: value}), (NAMES[1], {second: other})
    one = _see(renders, shape, [first])
    if one is None:
        raise NotDerivable("the template throws on a call of one string argument")
    if value not in one.text or name not in one.text + one.before[-_NEAR:]:
        raise NotDerivable("the value of a call is not in the output")
    given = TOOLS if shape.tools else None
    question = user(system=shape.system)
    prompt = _text(renders, question, given, generation=True)
    plain = _text(renders, question, given)
    with_reasoning = replace(shape, reasoning=True)
    return Rendered(
        shape=shape,
        question=prompt,
        question_without_tools=_text(renders, question, None, generation=True),
        header=prompt[common_prefix(prompt, plain) :] if plain else "",
        text_response=_text(renders, reply(shape), given),
        thinking=tuple(
            _text(renders, reply(thinking), given)
            for thinking in (replace(with_reasoning, content="text"), with_reasoning)
        ),
        one=one,
        two_arguments=_whole(_see(renders, shape, [(name, {key: value, second: other})])),
        swapped=_whole(_see(renders, shape, [(name, {second: other, key: value})])),
        none=_see(renders, shape, [(name, {})]),
        number=_whole(_see(renders, shape, [(name, {NUMBER_KEY: NUMBER})])),
        hard=_see(renders, shape, [(name, {key: HARD})]),
        words=_see(renders, shape, [(name, {key: True, second: [False, None]})]),
        two=_whole(_see(renders, shape, [first, another])),
        with_text=_whole(_see(renders, replace(shape, content="text"), [first])),
        thought=_whole(_see(renders, with_reasoning, [first])),
    )


def _text(
    renders: Renders, messages: Sequence[Message], tools: Sequence[Message] | None, *, generation: bool = False
) -> str:
    """Return the prompt, or an empty string if the template raises."""
    made = renders.render(messages, tools, generation=generation)
    if isinstance(made, TemplateError):
        return ""
    _check_length(made)
    return made


def _check_length(prompt: str) -> None:
    if len(prompt) > _LONGEST_PROMPT:
        raise NotDerivable(f"a prompt of a question and a call is longer than {_LONGEST_PROMPT:,} characters")


def _see(renders: Renders, shape: TurnShape, calls: Sequence[Call]) -> RenderedCalls | None:
    """Return the rendered calls; None if the template raises with all tools and with only those that are called."""
    called = [tool for tool in TOOLS if tool["function"]["name"] in {name for name, _ in calls}]
    for tools in (TOOLS, called):
        region = renders.calls(shape, calls, tools)
        if isinstance(region, TemplateError):
            continue
        prompt = region.before + region.text
        _check_length(prompt)
        question = _text(renders, user(system=shape.system), tools if shape.tools else None, generation=True)
        begin = _begin(region, question)
        if len(prompt) - begin > _LONGEST_CALLS:
            raise NotDerivable(f"what is written of a call is longer than {_LONGEST_CALLS:,} characters")
        ids = (call_id(shape, name, at) for at, (name, _) in enumerate(calls))
        return RenderedCalls(prompt[begin:], prompt[:begin], tuple(calls), tuple(id for id in ids if id))
    return None


def _begin(region: Region, question: str) -> int:
    """Return the offset where the model would start to write: the end of the generation prompt, not within a token."""
    prompt, begin = region.before + region.text, len(region.before)
    same = common_prefix(prompt, question)
    if question and same >= len(question) - 40:
        begin = min(begin, same)
    begin = max(begin, len(region.before) - _NEAR)
    while 0 < begin < len(region.before) and _CUT_BEFORE.match(prompt[begin - 1]) and _CUT_AFTER.match(prompt[begin]):
        begin -= 1
    return begin


def _whole(seen: RenderedCalls | None) -> RenderedCalls | None:
    """Return the same if it contains every value, else None."""
    if seen is None:
        return None
    values = (str(value) for _, arguments in seen.calls for value in arguments.values())
    return seen if all(value in seen.text for value in values) else None
