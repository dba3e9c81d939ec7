"""The caller's own check of arguments: `Parser(validate=…)`.

A call is checked once, just before the event of its end is emitted. By then every lookahead is decided, and a copy that
parses text again has not emitted it. The engines know nothing of the check.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

from toolfmt.formats.engines.call_builder import UncheckedEnd
from toolfmt.messages.arguments import read_object, unfit
from toolfmt.messages.events import Event, ToolCallArguments, ToolCallEnd, ToolCallRejected, ToolCallStart

Validate: TypeAlias = Callable[[str, dict[str, Any]], str | None]
"""Takes the name of a tool and the arguments of a call. Returns why they are invalid, or None."""
_VALID = "valid arguments"


class ArgumentCheck:
    """Checks the calls of one output, in the order of their events."""

    def __init__(self, validate: Validate) -> None:
        self._validate = validate
        self._name = ""
        self._arguments: list[str] = []
        self.held: list[Event] = []
        """The events to return. Between two calls of `take`, those that an exception kept from being returned."""

    def copy(self) -> ArgumentCheck:
        twin = ArgumentCheck(self._validate)
        twin._name, twin._arguments, twin.held = self._name, self._arguments[:], self.held[:]
        return twin

    def take(self, events: list[Event]) -> list[Event]:
        """Remove all events from a list and return them. The end of a call with invalid arguments is its rejection.

        If the check raises an exception, its call is rejected, and what would be returned stays here for the next call.
        """
        count = 0
        try:
            for event in events:
                count += 1
                self._take(event)
        finally:
            del events[:count]
        taken, self.held = self.held, []
        return taken

    def _take(self, event: Event) -> None:
        if isinstance(event, ToolCallStart):
            self._name, self._arguments = event.name, []
        elif isinstance(event, ToolCallArguments):
            self._arguments.append(event.delta)
        elif isinstance(event, UncheckedEnd):
            event = self._checked(event)
        self.held.append(event)

    def _checked(self, end: UncheckedEnd) -> ToolCallEnd | ToolCallRejected:
        arguments, problem = read_object("".join(self._arguments))
        try:
            problem = problem or self._problem(arguments)
        except BaseException:
            self.held.append(self._rejected(end, "they could not be checked"))
            raise
        return self._rejected(end, problem) if problem else ToolCallEnd(end.index, end.span, end.tolerated)

    def _problem(self, arguments: dict[str, Any]) -> str:
        problem = self._validate(self._name, arguments)
        if problem is not None and not isinstance(problem, str):
            raise TypeError(f"validate must return a str or None, not {type(problem).__name__}")
        return problem or ""

    def _rejected(self, end: UncheckedEnd, problem: str) -> ToolCallRejected:
        message = unfit(problem, self._name)
        return ToolCallRejected(end.index, "invalid_arguments", end.span, end.raw, end.span[1], _VALID, message)
