"""Where reading goes on after a call that went wrong, and whether what went wrong was meant as one.

The driver asks, with everything from the call's opener on kept. All of it looks ahead over a bounded stretch.
"""

from __future__ import annotations

import re

from toolfmt.formats.engines.call_builder import CallBuilder
from toolfmt.formats.engines.frame import read_name
from toolfmt.formats.format import ToolCallFormat
from toolfmt.formats.scanner.literals import literals
from toolfmt.formats.scanner.scanner import BLANK_LINES, Malformed, Reading, Scan

MOST_REJECTED = 400
"""A call that went wrong is rejected up to its closer if that begins within so many characters and before a blank line;
else to where it went wrong, and what follows is the answer's text."""
_MOST_ATTEMPTED = 200
"""What stands behind an opener shows within so many characters that a call was meant; else the opener is text."""
_LINE_END = literals("\n")
_BEGINS_CALL = re.compile(r"[\w{\[\"'<]")
_TAG_ENDS = re.compile(r"[\"'>\]]*")
_NAMES = re.compile(r"[\w$@][\w.:/$@+-]*")


class Recovery:
    """Recovers from what went wrong in the answers of one format."""

    def __init__(self, format: ToolCallFormat, scan: Scan, calls: CallBuilder) -> None:
        self._format, self._scan, self._calls = format, scan, calls
        self._markers = format.markers

    def attempted(self, begin: int) -> Reading[bool]:
        """Whether what stands from here on, behind an opener, was meant as a call, though it is none.

        It was where a declared name comes first, or where a call's opener, or a closer with a declared name before it,
        comes soon. Prose that names the opener goes on with a blank or a sign behind it, or with words behind the name.
        """
        scan, calls, marks = self._scan, self._calls, self._markers
        if not calls.declared:
            return False
        wrong = scan.position
        scan.rewind(begin)
        spaces = yield from scan.spaces()
        if (yield from scan.literal(marks.one_call)):
            spaces = yield from scan.spaces()
        here = scan.position
        attempted = False
        first = yield from scan.peek()
        try:
            name = yield from read_name(scan)
        except Malformed:
            name = ""
        if any(blank in spaces for blank in BLANK_LINES):
            pass
        elif not spaces.strip("\r\n") and calls.names(name.rstrip(":.,")):
            yield from scan.take_while(_TAG_ENDS)
            rest = yield from scan.spaces()
            prose = rest.strip("\r\n") and name[-1:] != ":" and (yield from scan.peek()).isalpha()
            attempted = not prose and not any(blank in rest for blank in BLANK_LINES)
        elif (not spaces or "\n" in spaces) and _BEGINS_CALL.match(first):
            scan.rewind(here)
            found = yield from scan.find_near(marks.of_calls, _MOST_ATTEMPTED)
            text = scan.kept_between(here, scan.position)
            attempted = found in marks.inner.openers or (
                found not in ("", *BLANK_LINES, *self._format.openers) and any(map(calls.names, _NAMES.findall(text)))
            )
        scan.rewind(wrong)
        return attempted

    def resume(self, attempted: bool) -> Reading[bool]:
        """Where reading goes on after a call that went wrong: behind its closer, if that comes soon and before another
        frame; else where it went wrong, or at the end of the line where all of it was no more than an attempt.

        True where another call of the same frame stands there.
        """
        scan, inner = self._scan, self._markers.inner
        wrong = scan.position
        found = yield from scan.find_near(self._markers.resuming, MOST_REJECTED)
        if attempted and found in ("", *BLANK_LINES, *self._format.openers):
            scan.rewind(wrong)
            found = yield from scan.find_near(_LINE_END, MOST_REJECTED)
            scan.rewind(scan.position - len(found))
            if found:
                return False
        ended = scan.closed and len(scan.text) - scan.at <= MOST_REJECTED
        if not found and ended and (attempted or self._markers.start_only_openers):
            scan.at = len(scan.text)  # the message ends with the answer
            return False
        if found in inner.closers:
            return (yield from self._another_behind())
        if found in self._markers.frame_closers:
            return False
        if found in inner.openers:
            scan.rewind(scan.position - len(found))
            return True
        if found in self._markers.ignored_markers and self._markers.start_only_openers:
            scan.rewind(scan.position - len(found))  # the message ends here
        else:
            scan.rewind(wrong)
        return False

    def _another_behind(self) -> Reading[bool]:
        """Whether another call of the frame stands behind the closer of one, unread; the frame's closer is read."""
        scan, inner, frame_closers = self._scan, self._markers.inner, self._markers.frame_closers
        behind = literals(*frame_closers, *inner.openers, *inner.skipped)
        while True:
            here = scan.position
            yield from scan.skip_spaces()
            found = yield from scan.literal(behind)
            if found in frame_closers:
                return False
            if found not in inner.skipped:
                break
        scan.rewind(here)
        return bool(found)
