"""End markers that belong to no call: after a call, or at the end of an output."""

from __future__ import annotations

import re

from toolfmt.formats.format import ToolCallFormat
from toolfmt.formats.markers import Markers
from toolfmt.formats.scanner.literals import literals
from toolfmt.formats.scanner.scanner import Reading, Scan

_MOST_END_MARKERS = 100
"""Length of a sequence of end markers without a call that is dropped at the end of an output."""
_IN_LINE = re.compile(r"[ \t]*")


def skip_trailing_markers(format: ToolCallFormat, scan: Scan, begin: int) -> Reading[bool]:
    """Read trailing markers after a call, which are ignored. Return whether there are any; if not, read nothing."""
    markers = format.markers
    found, repeated = "", begin
    while True:
        more = yield from scan.literal(markers.trailing_markers)
        yield from scan.take_while(_IN_LINE)
        if not more:
            break
        found = more
        repeated = scan.position if more in markers.repeated_ends else repeated
    here = scan.position
    if found and (found in markers.repeated_ends or (yield from scan.peek()) in ("", "\r", "\n", "<")):
        return True
    opens = found and (yield from scan.literal(literals(*format.openers)))
    scan.rewind(here if opens else repeated)
    return bool(opens) or repeated > begin


def skip_end_markers(markers: Markers, scan: Scan, begin: int) -> Reading[bool]:
    """Read orphan end markers, of which one was read at `begin`, if they end the output. Return whether they do."""
    after = scan.position
    scan.keep(begin)
    while scan.position - begin <= _MOST_END_MARKERS:
        yield from scan.skip_spaces()
        if not (yield from scan.literal(markers.trailing_markers)):
            break
    ends = not (yield from scan.peek())
    if not ends:
        scan.rewind(after)
    scan.release()
    return ends
