"""Render calls in other contexts than the probes: at another time, or later in a conversation.

A format derived in one context is not verified for another: a template may print the date or the number of messages in
the text around a call.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from toolfmt.errors import TemplateError
from toolfmt.inspect.probe.conversations import USER, Call, Message, answering, calling
from toolfmt.inspect.probe.renders import Renders
from toolfmt.inspect.report.turn_shape import TurnShape

ANOTHER_TIME = datetime(2033, 11, 27, 19, 48, 56)
"""Differs from the default time of renders in year, month, day, weekday, hour and minute."""
_EARLIER_TURNS: list[Message] = [
    {"role": "user", "content": "Are you there?"},
    {"role": "assistant", "content": "Yes, what is it?"},
]
_QUESTION = "Please look it up."
_FIRST_ID = 3
"""The number of the first earlier call, so that its ids differ from those of later calls."""


class RendersElsewhere(Renders):
    """Renders of the same conversations at another time, or at the end of a longer one.

    `later`: after another question and its response. `called`: after these calls and their results.
    """

    def __init__(
        self,
        renders: Renders,
        shape: TurnShape,
        *,
        now: datetime | None = None,
        later: bool = False,
        called: Sequence[Call] = (),
    ) -> None:
        super().__init__(renders.template, renders.tokens, renders.words)
        self.reasoning_name, self.content_as_parts = renders.reasoning_name, renders.content_as_parts
        self.always_generation = renders.always_generation
        self._time, self._later = now, later
        self._called: list[Message] = []
        if called:
            results = [f"found {number}" for number, _ in enumerate(called)]
            self._called = [calling(shape, called, first=_FIRST_ID)]
            self._called += answering(shape, called, results, first=_FIRST_ID)

    def render(
        self,
        messages: Sequence[Message],
        tools: Sequence[Message] | None = None,
        *,
        generation: bool = False,
        now: datetime | None = None,
    ) -> str | TemplateError:
        if self._later:
            messages = _continued(messages)
        position = next((number for number, message in enumerate(messages, 1) if message["role"] == "user"), 0)
        messages = [*messages[:position], *self._called, *messages[position:]]
        return super().render(messages, tools, generation=generation, now=now or self._time)


def _continued(messages: Sequence[Message]) -> list[Message]:
    """Return the conversation after another question and its response, with its own question reworded."""
    position = next((number for number, message in enumerate(messages) if message["role"] == "user"), 0)
    renamed = [message | {"content": _QUESTION} if message.get("content") == USER else message for message in messages]
    return [*renamed[:position], *_EARLIER_TURNS, *renamed[position:]]
