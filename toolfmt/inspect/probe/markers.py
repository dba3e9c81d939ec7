"""Detect the markers that a template writes around questions, responses, calls and results.

They come from renders, not from a list. The safety section injects them into untrusted text; `toolfmt render` keeps
them out of it (`TemplateProfile.markers`).
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
"""Text that occurs only in markers of this one call."""


def needed_tools(renders: Renders) -> list[Message] | None:
    """Return the tools that a plain question needs: None, unless the template rejects a question without tools."""
    rejected = isinstance(renders.render(user()), TemplateError)
    return TOOLS if rejected and isinstance(renders.render(user(), TOOLS), str) else None


def turn_marks(renders: Renders, shape: TurnShape | None, plain_tools: list[Message] | None) -> tuple[str, ...]:
    """Return the markers around turns, calls and results that any conversation may have, or an empty tuple."""
    return tuple(mark for mark in _marks(renders, shape, plain_tools) if not _ONE_CALL.search(mark))


def markers(renders: Renders, shape: TurnShape | None, plain_tools: list[Message] | None) -> tuple[str, ...]:
    """Return the markers around questions, responses, calls and results; the lines there if it has no markers.

    Markers of reasoning blocks that the template searches for in content are left out. Their effect is reported
    separately.
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


def text_response() -> list[Message]:
    """Return a response with text only."""
    return [{"role": "assistant", "content": REPLY}]


def exchange(shape: TurnShape, value: str, result: str) -> list[Message]:
    """Return a call with this argument, and its result."""
    calls = [(SINGLE[0][0], {PARAMETER: value})]
    return [calling(shape, calls), *answering(shape, calls, [result])]


def _marks(renders: Renders, shape: TurnShape | None, plain_tools: list[Message] | None) -> tuple[str, ...]:
    texts = _gaps(renders, plain_tools)
    if shape is not None:
        tools = TOOLS if shape.tools else None
        called = renders.text(
            [*user(system=shape.system), *exchange(shape, VALUES[0], RESULT), *text_response()], tools
        )
        texts += between(called, USER, VALUES[0], RESULT, REPLY)
    return tuple(dict.fromkeys(mark for text in texts for mark in MARK.findall(text)))


def _gaps(renders: Renders, plain_tools: list[Message] | None) -> list[str]:
    """Return what the template writes between a question, its response and the next question."""
    return between(renders.text([*reply(), question(FURTHER)], plain_tools), USER, REPLY, FURTHER)
