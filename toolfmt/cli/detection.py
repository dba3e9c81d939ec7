"""Which formats read an output: `toolfmt formats --detect`, and a hint of `toolfmt parse` that reads no call."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from toolfmt.cli.input import pieces, shown
from toolfmt.cli.output import complain, print_json, print_text
from toolfmt.formats import ToolCallFormat
from toolfmt.formats.parser.detect import Detected, detect
from toolfmt.formats.parser.fallback import AUTO
from toolfmt.formats.serialization.files import named_format
from toolfmt.messages.events import Event, ToolCallRejected, ToolCallStart

_LONGEST = 100_000
"""Number of characters of an output that are read in other formats for a hint."""
_MOST_NAMED = 3


class Hint:
    """Prints which formats read calls in an output, if the format of `toolfmt parse` reads none."""

    def __init__(self, format: str, complain: Callable[[str], object]) -> None:
        self._format, self._complain = format, complain
        self._text = ""
        self._has_call = False

    def add(self, text: str, events: Iterable[Event]) -> None:
        """Note a piece of the output, and its events."""
        self._has_call = self._has_call or any(isinstance(event, (ToolCallStart, ToolCallRejected)) for event in events)
        if not self._has_call and len(self._text) < _LONGEST:
            self._text += text[:_LONGEST]

    def finish(self) -> None:
        """Print the hint, if there is one."""
        found = [] if self._has_call else detect(self._text)
        if found:
            names = [each.format.name for each in found[:_MOST_NAMED]]
            more = f" and {len(found) - _MOST_NAMED} more" if len(found) > _MOST_NAMED else ""
            read = "reads" if len(found) == 1 else "read"
            self._complain(f"{self._format} reads no call here; {', '.join(names)}{more} {read} {_calls(found[0])}")


def detected_text(found: Iterable[Detected]) -> str:
    """Return one line for each format: its name, the calls that it reads, and the tolerances that they need."""
    rows = [(each.format.name, _calls(each), _remarks(each)) for each in found]
    width = max((len(name) for name, _, _ in rows), default=0)
    return "".join(f"{name:{width}}  {calls}{remarks}\n" for name, calls, remarks in rows)


def _calls(found: Detected) -> str:
    return f"{len(found.names)} call{'s' * (len(found.names) != 1)}: {', '.join(found.names)}"


def _remarks(found: Detected) -> str:
    remarks = [f"{found.rejected} rejected"] if found.rejected else []
    remarks += [f"tolerated: {', '.join(found.tolerated)}"] if found.tolerated else []
    return f" ({'; '.join(remarks)})" if remarks else ""


def print_detected(file: str, as_json: bool) -> int:
    """Print the formats that read calls in an output. Return 1 if there is none."""
    found = detect("".join(pieces(file, complain)))
    if as_json:
        print_json([each.to_dict() for each in found])
    elif found:
        print_text(detected_text(found))
    else:
        complain(f"{shown(file)}: no known format finds a call in this output")
    return 0 if found else 1


def parsed_format(name: str) -> ToolCallFormat:
    """Return the format with this name, or from the file with this name, or `auto`."""
    return AUTO if name == AUTO.name else named_format(name)
