"""A filter over a parser's events for clients that would execute a call before it has ended.

It processes events only, never text. The parser emits no other events while a call is open, so the filter never
reorders events: it passes content and reasoning on immediately, and the events of a call together.
"""

from __future__ import annotations

from collections.abc import Iterable

from toolfmt.messages.events import (
    Content,
    Event,
    Reasoning,
    ToolCallArguments,
    ToolCallEnd,
    ToolCallRejected,
    ToolCallStart,
    no_event,
)


class WholeCalls:
    """Passes a call on only after it has ended: its start, its arguments in one piece, and its end, together.

    Of a rejected call, only the rejection is passed on, with its index and its text. Content and reasoning are passed
    on immediately. Use one filter per output, like a parser. A finished parser leaves no call open.
    """

    def __init__(self) -> None:
        self._start: ToolCallStart | None = None
        self._arguments: list[str] = []

    def events(self, events: Iterable[Event]) -> list[Event]:
        """Return those of these events, and of earlier ones, that can be passed on now.

        Args:
            events: The next events of the parser.

        Raises:
            TypeError: An item is not an event.
        """
        passed: list[Event] = []
        for event in events:
            if isinstance(event, (Content, Reasoning)):
                passed.append(event)
            elif isinstance(event, ToolCallStart):
                self._start = event
            elif isinstance(event, ToolCallArguments):
                self._arguments.append(event.delta)
            elif isinstance(event, ToolCallEnd) and self._start is not None:
                passed += (self._start, ToolCallArguments(event.index, "".join(self._arguments)), event)
                self._forget()
            elif isinstance(event, (ToolCallEnd, ToolCallRejected)):
                passed.append(event)
                self._forget()
            else:
                raise no_event(event)
        return passed

    def _forget(self) -> None:
        self._start = None
        self._arguments.clear()
