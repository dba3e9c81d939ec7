"""How often what a template prints of the clock changes: the same request a second later, a minute later."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Literal, TypeAlias

from toolfmt.inspect.probe.conversations import Message
from toolfmt.inspect.probe.renders import Renders

ONE_DAY = datetime(2025, 1, 1, 12)
Tick: TypeAlias = Literal["", "second", "minute"]
_LATER: tuple[tuple[Tick, timedelta], ...] = (("second", timedelta(seconds=1)), ("minute", timedelta(minutes=1)))


def tick(renders: Renders, messages: Sequence[Message], tools: Sequence[Message] | None) -> Tick:
    """The shorter of the two behind which the prompt of these messages is another one; empty where it is the same."""
    if not renders.template.uses_clock:
        return ""
    now = renders.render(messages, tools, now=ONE_DAY)
    return next((one for one, time in _LATER if renders.render(messages, tools, now=ONE_DAY + time) != now), "")
