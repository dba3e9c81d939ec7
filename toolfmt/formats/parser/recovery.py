"""Recovery after a malformed call: where parsing continues, and whether the text was an attempt at a call.

The driver asks, and keeps all text from the start marker of the call on. Every lookahead is bounded.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from toolfmt.formats.engines.call_builder import CallBuilder
from toolfmt.formats.engines.frame import read_name
from toolfmt.formats.format import ToolCallFormat
from toolfmt.formats.scanner.literals import literals
from toolfmt.formats.scanner.scanner import BLANK_LINES, Malformed, Reading, Scan

MOST_REJECTED = 400
"""A malformed call is rejected up to its end marker, if that begins within so many characters and before a blank line.
Otherwise it is rejected up to the error, and what follows is content."""
_MOST_ATTEMPTED = 200
"""Number of characters after a start marker that may show an attempt at a call. Otherwise the marker is content."""
_LINE_END = literals("\n")
_BEGINS_CALL = re.compile(r"[\w{\[\"'<]")
_TAG_ENDS = re.compile(r"[\"'>\]]*")
_NAMES = re.compile(r"[\w$@][\w.:/$@+-]*")
_PREFIX = re.compile(r"\w*[.:]")
_NUMBER = re.compile(r":[0-9]+\Z")


class Recovery:
    """Recovers from malformed calls of one format.

    If there are `tokens`, parsing resumes only at markers that contain one: the rest may be text of an argument.
    """

    def __init__(self, format: ToolCallFormat, scan: Scan, calls: CallBuilder, tokens: frozenset[str]) -> None:
        self._format, self._scan, self._calls, self._tokens = format, scan, calls, tokens
        self._markers = format.markers

    def attempted(self, begin: int) -> Reading[bool]:
        """Whether the text from `begin` on, after a start marker, is an attempt at a call, although it is malformed.

        It is one if a declared name comes first, or where the engine looks for one, or if the start marker of a call,
        or an end marker after a declared name, follows soon. Prose that mentions the start marker continues with a
        space or punctuation after it, or with words after the name.
        """
        scan, calls, marks = self._scan, self._calls, self._markers
        if not calls.declared:
            return False
        error = scan.position
        scan.rewind(begin)
        spaces = yield from scan.spaces()
        if (yield from scan.literal(marks.call_starts)):
            spaces = yield from scan.spaces()
        here = scan.position
        attempted = False
        first = yield from scan.peek()
        name = ""
        for at in (here, calls.name_at):
            if not name and here <= at <= error:
                scan.rewind(at)
                name = yield from self._declared_name(at == here)
        if any(blank in spaces for blank in BLANK_LINES):
            pass
        elif name and not spaces.strip("\r\n"):
            yield from scan.take_while(_TAG_ENDS)
            rest = yield from scan.spaces()
            prose = rest.strip("\r\n") and name[-1:] != ":" and (yield from scan.peek()).isalpha()
            attempted = not prose and not any(blank in rest for blank in BLANK_LINES)
        elif (not spaces or "\n" in spaces) and _BEGINS_CALL.match(first):
            scan.rewind(here)
            found = yield from scan.find_near(marks.call_evidence, _MOST_ATTEMPTED)
            text = scan.kept_between(here, scan.position)
            attempted = found in marks.inner.openers or (
                found not in ("", *BLANK_LINES, *self._format.openers)
                and any(map(calls.is_declared, _NAMES.findall(text)))
            )
        scan.rewind(error)
        return attempted

    def _declared_name(self, first: bool) -> Reading[str]:
        """Read the name of a declared tool, and return it as it is written; "" if it is none. If it is not the first
        word, or has a prefix as in `functions.NAME:0`, punctuation after it shows that it is in a sentence."""
        try:
            written = yield from read_name(self._scan)
        except Malformed:
            return ""
        name, declared = written.rstrip(":.,"), self._calls.is_declared
        if first and declared(name):
            return written
        bare = _PREFIX.sub("", name, count=1)
        prose = written[-1:] == "." or (yield from self._scan.peek()) in (",", ";")
        return "" if prose or not any(map(declared, (name, bare, _NUMBER.sub("", bare)))) else written

    def resume(self, begin: int, attempted: bool) -> Reading[bool]:
        """Go to where parsing continues after a malformed call. Return whether another call of the frame begins there.

        That is after its end marker, if this follows soon and before another frame. Otherwise it is where the error is,
        or, for an attempt, the end of the line. If only tokens start calls, it is at a start token inside the call.
        `begin` is where the engine began to read: in a copy, `calls.begins` is the start of the frame.
        """
        scan, inner = self._scan, self._markers.inner
        error = scan.position
        broken_off = yield from self._broken_off(max(begin, self._calls.begins) + 1, error)
        if broken_off is not None:
            scan.rewind(broken_off)
            return False
        wanted = self._markers.resume_at
        if self._tokens:
            wanted = literals(*self._counting(wanted.literals))
        found = yield from scan.find_near(wanted, MOST_REJECTED)
        if attempted and found in ("", *BLANK_LINES, *self._format.openers):
            another = bool(self._tokens) and found in self._format.openers
            most = scan.position - len(found) - error if another else MOST_REJECTED
            scan.rewind(error)
            found = yield from scan.find_near(_LINE_END, most)
            scan.rewind(scan.position - len(found))
            if another and not found:
                scan.skip(most)
            if another or found:
                return False
        ended = scan.closed and len(scan.text) - scan.at <= MOST_REJECTED
        if not found and ended and (attempted or self._markers.start_only_openers):
            scan.at = len(scan.text)  # the message ends with the output
            return False
        if found in inner.closers:
            return (yield from self._another_follows())
        if found in self._markers.frame_closers:
            return False
        if found in inner.openers:
            scan.rewind(scan.position - len(found))
            return True
        if found in self._markers.ignored_markers and self._markers.start_only_openers:
            scan.rewind(scan.position - len(found))  # the message ends here
        else:
            scan.rewind(error)
        return False

    def _broken_off(self, start: int, error: int) -> Reading[int | None]:
        """Return where the last start marker of its frame begins between two offsets in the malformed call, if that
        has a token.

        The model broke the call off there, although the marker may have been read as a part of a name or a value.
        """
        scan, opener = self._scan, self._calls.opener
        if not self._tokens or error < start or not self._counting([opener]):
            return None
        at = scan.kept_between(start, error).rfind(opener)
        begin = None if at < 0 else start + at
        here = max(start, error + 1 - len(opener))
        scan.rewind(here)
        if (yield from scan.find_near(literals(opener), error - here)):
            begin = scan.position - len(opener)
        scan.rewind(error)
        return begin

    def _counting(self, markers: Iterable[str]) -> Iterable[str]:
        """Return the markers at which parsing may resume."""
        return [mark for mark in markers if not self._tokens or any(token in mark for token in self._tokens)]

    def may_continue(self, stopped: int) -> bool:
        """Whether more text might have continued a call that was malformed only because the output was cut.

        The parser waited there for more text, so that the error is not certain. But a marker after it shows that the
        model went on.
        """
        scan = self._scan
        rest = scan.kept_between(stopped, scan.position) + scan.text[scan.at :]
        return self._markers.resume_at.search(rest, 0, True) is None

    def _another_follows(self) -> Reading[bool]:
        """Whether another call of the frame follows the end marker of one. The end marker of the frame is read."""
        scan, inner, frame_closers = self._scan, self._markers.inner, self._markers.frame_closers
        following = literals(*frame_closers, *self._counting(inner.openers), *inner.skipped)
        while True:
            here = scan.position
            yield from scan.skip_spaces()
            found = yield from scan.literal(following)
            if found in frame_closers:
                return False
            if found not in inner.skipped:
                break
        scan.rewind(here)
        return bool(found)
