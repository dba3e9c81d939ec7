"""Check whether a target can be tested at all, with one plain written call before the search.

A parser that parses this call wrongly has a bug, and is tested. If the parser does not exist (its factory raises, or
returns something else), or returns nothing that can be judged, every output would have the same result and no invariant
applies. Then the target is invalid input.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from toolfmt.errors import CannotWrite, ToolfmtError
from toolfmt.formats import write
from toolfmt.testing.broken import InvariantViolation
from toolfmt.testing.outcome import Tools
from toolfmt.testing.targets import CommandTarget, Target

_CITY = {"type": "object", "properties": {"city": {"type": "string"}}}
_TOOLS: list[Any] = [{"type": "function", "function": {"name": "get_weather", "parameters": _CITY}}]
_CALL = ("get_weather", {"city": "Oslo"})
_OF_COMMANDS = "let it print calls as JSON, and end with status 0"
_OF_FACTORIES = (
    "give a factory that is called with the tools and returns an object with feed and finish, or a callable that"
    " returns a message"
)


def check_usable(target: Target, formats: Sequence[str]) -> None:
    """Raise `ToolfmtError`, with how to fix it, unless a target returns a usable result for a plain call."""
    first: InvariantViolation | None = None
    for text, tools in _plain(formats, declared_alone=isinstance(target, CommandTarget)):
        reading = target.read([[text]], tools)[0]
        if not isinstance(reading, InvariantViolation) or not reading.unusable:
            return
        first = first or reading
    if first is not None:
        way_out = _OF_COMMANDS if isinstance(target, CommandTarget) else _OF_FACTORIES
        of = "a simple tool call" if len(formats) == 1 else "a simple tool call in any of the formats"
        what = f"it returns no result for {of} ({first.message})"
        raise ToolfmtError(f"{target.name}: cannot be tested: {what}; {way_out}")


def _plain(formats: Sequence[str], declared_alone: bool) -> Iterator[tuple[str, Tools]]:
    """Yield the call in each format, with its tool and without, because both kinds of outputs are generated.

    Formats that cannot write a call of an undeclared tool only have the first.
    """
    for format in formats:
        for tools in (_TOOLS,) if declared_alone else (_TOOLS, None):
            try:
                yield write(format, [_CALL], tools), tools
            except CannotWrite:
                continue
