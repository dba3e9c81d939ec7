"""The calls of a template rendered elsewhere than the probes do it: at another time, later in a conversation.

A format whose markers were read off one place is not proven for another: a template may print the date, or how many
messages there are, in the text around a call.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from toolfmt.errors import TemplateError
from toolfmt.inspect.probe.conversations import USER, Call, Message, answering, calling
from toolfmt.inspect.probe.renders import Renders
from toolfmt.inspect.report.turn_shape import TurnShape

ANOTHER_TIME = datetime(2033, 11, 27, 19, 48, 56)
"""Differs from the time that templates are usually shown in its year, month, day, weekday, hour and minute."""
_SAID_BEFORE: list[Message] = [
    {"role": "user", "content": "Are you there?"},
    {"role": "assistant", "content": "Yes, what is it?"},
]
_ASKED = "Please look it up."
_FIRST_ID = 3
"""The number of the first of the calls before: their ids are none of those behind them."""


class RendersElsewhere(Renders):
    """What a template makes of the same conversations at another time, or at the end of a longer one.

    `later`: behind another question and its answer; `called`: behind these calls and their results.
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
        asked = next((number for number, message in enumerate(messages, 1) if message["role"] == "user"), 0)
        messages = [*messages[:asked], *self._called, *messages[asked:]]
        return super().render(messages, tools, generation=generation, now=now or self._time)


def _continued(messages: Sequence[Message]) -> list[Message]:
    """The conversation behind a question and an answer, its own question in other words."""
    asked = next((number for number, message in enumerate(messages) if message["role"] == "user"), 0)
    renamed = [message | {"content": _ASKED} if message.get("content") == USER else message for message in messages]
    return [*renamed[:asked], *_SAID_BEFORE, *renamed[asked:]]
