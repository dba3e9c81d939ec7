"""What the engines share about frames: the closer that should follow and may be missing, and names without quotes."""

from __future__ import annotations

import re

from toolfmt.formats.calls import Calls
from toolfmt.formats.scan import Reading, Scan, stops

_NAME_BEGINS = re.compile(r"[\w$@]")
_NAME = re.compile(r"[\w.:/$@+-]*")
# Longer than what the OpenAI interface allows (letters, digits, _ and -), for the names that runtimes accept; no
# punctuation or quotes, so that a marker mentioned in prose is not followed by a name.


def read_name(scan: Scan) -> Reading[str]:
    """The name of a tool, as it stands without quotes; empty where none does."""
    if not _NAME_BEGINS.match((yield from scan.peek())):
        return ""
    return (yield from scan.take_while(_NAME))


def close_frame(scan: Scan, calls: Calls, opener: str, *closers: str) -> Reading[bool]:
    """The closer, blanks before it included. Where it is missing nothing is read, and an opened frame is noted."""
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
