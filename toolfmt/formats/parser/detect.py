"""Which known formats read calls in an output."""

from __future__ import annotations

from dataclasses import dataclass

from toolfmt.formats.format import ToolCallFormat
from toolfmt.formats.parser.fallback import FOREIGN
from toolfmt.formats.parser.parser import Parser
from toolfmt.formats.registry import default_format, formats
from toolfmt.messages.events import ToolCallEnd, ToolCallRejected, ToolCallStart


@dataclass(frozen=True)
class Detected:
    """How a format reads an output.

    Attributes:
        format: The format.
        names: The names of the calls, in order.
        tolerated: The tolerances that the calls need, without duplicates.
        rejected: The number of rejected calls.
    """

    format: ToolCallFormat
    names: tuple[str, ...]
    tolerated: tuple[str, ...]
    rejected: int

    def to_dict(self) -> dict[str, object]:
        """Return the same as JSON data."""
        return {
            "format": self.format.name,
            "calls": list(self.names),
            "tolerated": list(self.tolerated),
            "rejected": self.rejected,
        }


def detect(text: str) -> list[Detected]:
    """Return the formats that read calls in an output, the best first: most calls, then fewest tolerances.

    Args:
        text: The output.
    """
    found = [each for format in formats() if (each := _detected(text, format)) is not None]
    common = default_format()
    return sorted(
        found, key=lambda each: (-len(each.names), each.rejected, len(each.tolerated), each.format is not common)
    )


def _detected(text: str, format: ToolCallFormat) -> Detected | None:
    parser = Parser(format)
    events = [*parser.feed(text), *parser.finish()]
    started = {event.index: event.name for event in events if isinstance(event, ToolCallStart)}
    ended = [event for event in events if isinstance(event, ToolCallEnd)]
    tolerated = tuple(dict.fromkeys(name for event in ended for name in event.tolerated))
    if not ended or any(name.startswith(FOREIGN) for name in tolerated):
        return None
    rejected = sum(isinstance(event, ToolCallRejected) for event in events)
    return Detected(format, tuple(started[event.index] for event in ended), tolerated, rejected)
