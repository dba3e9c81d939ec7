"""The marks that a template was seen to write around questions, answers, calls and results; not a list of known ones.

The chapter on safety puts them into the texts of others, rendering keeps them out of these (`TemplateProfile.markers`).
"""

from __future__ import annotations

import re

from toolfmt.errors import TemplateError
from toolfmt.inspect.probe.conversations import (
    FURTHER,
    ID,
    PARAMETER,
    REPLY,
    RESULT,
    SINGLE,
    TOOL,
    TOOLS,
    USER,
    VALUES,
    Message,
    answering,
    calling,
    reply,
    user,
)
from toolfmt.inspect.probe.renders import Renders
from toolfmt.inspect.probe.turn_markers import MARK, between, known_reasoning
from toolfmt.inspect.report.turn_shape import TurnShape

_ONE_CALL = re.compile(rf"{TOOL}|{ID[:-1]}|\b{PARAMETER}\b")
"""What stands in a mark of this one call, and of no other."""


def asked_with(renders: Renders) -> list[Message] | None:
    """The tools that a plain question has to come with: none, unless the template refuses one without."""
    refused = isinstance(renders.render(user()), TemplateError)
    return TOOLS if refused and isinstance(renders.render(user(), TOOLS), str) else None


def turn_marks(renders: Renders, shape: TurnShape | None, plain_tools: list[Message] | None) -> tuple[str, ...]:
    """The marks around turns, calls and results that any conversation may have; empty where the template has none."""
    return tuple(mark for mark in _marks(renders, shape, plain_tools) if not _ONE_CALL.search(mark))


def markers(renders: Renders, shape: TurnShape | None, plain_tools: list[Message] | None) -> tuple[str, ...]:
    """The markers that the template writes around questions, answers, calls and results; words where it has no marks.

    Those of reasoning blocks that the template looks for in texts are left out: what they change there is told apart.
    """
    marks = _marks(renders, shape, plain_tools)
    if not marks:
        lines = (line.strip() for text in _gaps(renders, plain_tools) for line in text.splitlines())
        marks = tuple(dict.fromkeys(filter(None, lines)))
    reasoning = {mark for pair in known_reasoning() for mark in pair}
    reasoning &= {tested.text for tested in renders.template.tested_texts}
    return tuple(mark for mark in marks if mark not in reasoning and TOOL not in mark)


def question(text: str) -> Message:
    return {"role": "user", "content": text}


def spoken() -> list[Message]:
    """An answer in words."""
    return [{"role": "assistant", "content": REPLY}]


def exchange(shape: TurnShape, value: str, result: str) -> list[Message]:
    """A call with this argument, and its result."""
    calls = [(SINGLE[0][0], {PARAMETER: value})]
    return [calling(shape, calls), *answering(shape, calls, [result])]


def _marks(renders: Renders, shape: TurnShape | None, plain_tools: list[Message] | None) -> tuple[str, ...]:
    texts = _gaps(renders, plain_tools)
    if shape is not None:
        tools = TOOLS if shape.tools else None
        called = renders.text([*user(system=shape.system), *exchange(shape, VALUES[0], RESULT), *spoken()], tools)
        texts += between(called, USER, VALUES[0], RESULT, REPLY)
    return tuple(dict.fromkeys(mark for text in texts for mark in MARK.findall(text)))


def _gaps(renders: Renders, plain_tools: list[Message] | None) -> list[str]:
    """What stands between a question, its answer and the next question."""
    return between(renders.text([*reply(), question(FURTHER)], plain_tools), USER, REPLY, FURTHER)
