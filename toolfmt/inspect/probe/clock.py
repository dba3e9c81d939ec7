"""How often rendered time changes: after a second, after a minute, or not within a minute."""

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
    """Return the shorter of the two intervals after which these messages render differently, or an empty string."""
    if not renders.template.uses_clock:
        return ""
    now = renders.render(messages, tools, now=ONE_DAY)
    return next((one for one, time in _LATER if renders.render(messages, tools, now=ONE_DAY + time) != now), "")
