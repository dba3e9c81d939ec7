"""What the engines share about frames: the closer that should follow, and may be missing."""

from __future__ import annotations

from toolfmt.formats.calls import Calls
from toolfmt.formats.scan import Reading, Scan, stops


def close_frame(scan: Scan, calls: Calls, opener: str, *closers: str) -> Reading[bool]:
    """The closer, blanks before it included. A frame that was opened and is not closed is noted; nothing is read
    then."""
    here = scan.position
    yield from scan.skip_spaces()
    if (yield from scan.literal(stops(*closers))):
        return True
    scan.rewind(here)
    if opener:
        calls.tolerate("missing_closer")
    return False


def follows(scan: Scan, *wanted: str) -> Reading[str]:
    """The literal that stands after blanks, read with them; or an empty string, and nothing is read."""
    here = scan.position
    yield from scan.skip_spaces()
    found = yield from scan.literal(stops(*wanted))
    if not found:
        scan.rewind(here)
    return found
