"""Where in a Markdown text a call starts: in a code fence, an indented block, a quote or inline code.

Text there is usually an example. It counts as a call only if nothing but calls follows in the output.
"""

from __future__ import annotations

import re
from collections import deque
from typing import Literal, TypeAlias

from toolfmt.formats.engines.call_builder import CallBuilder
from toolfmt.formats.engines.engine import Engine
from toolfmt.formats.markers import FENCES, Markers
from toolfmt.formats.parser.recovery import MOST_REJECTED
from toolfmt.formats.scanner.literals import Literals, literals
from toolfmt.formats.scanner.lookahead import LookaheadExceeded, look_ahead
from toolfmt.formats.scanner.scanner import BLANK_LINES, Incomplete, Malformed, Reading, Scan

Block: TypeAlias = Literal["", "fence", "indented", "quote", "inline"]

_MAX_IN_BLOCK = 2000
"""Maximum number of characters that are held back to see what follows a call in a block. After a longer call nothing is
known, so it is content."""
_LONGEST_HEAD = 128
"""Number of characters of a line that are known before a call in it."""
_INDENTED = re.compile(r" {4}| {0,3}\t")
_QUOTE = re.compile(r" {0,3}>")
_INFO = re.compile(r"[\w+.-]*")
_IN_LINE = re.compile(r"[ \t]*")
_BACKTICK = re.compile(r"(?<!`)`\Z")
_BACKTICKS = re.compile(r"`+")
_QUOTATION_MARK = re.compile(r"""(?:\A|[\s(])["']\Z""")
_BLOCK_ENDS = literals(*FENCES, "`", "``", '"', "'")
_QUOTATION_ENDS = literals("`", *BLANK_LINES)


class Blocks:
    """The blocks of the content of one output."""

    def __init__(self, markers: Markers, engine: Engine, scan: Scan, calls: CallBuilder) -> None:
        self._markers, self._engine, self._scan, self._calls = markers, engine, scan, calls
        self._line: deque[str] = deque(maxlen=_LONGEST_HEAD)  # each piece has a character
        self.append = self._line.append
        """Add text of the content, which is not empty."""
        self.fence = ""
        """The start of the code fence that the content is in."""
        self.fence_line = False
        """Whether the content is in the first line of the fence."""
        self.of_marker: Block = ""
        """The block that the last marker in the content is in. A message that the marker begins is in it too."""

    def copy(self, scan: Scan, calls: CallBuilder) -> Blocks:
        """Return the same for another scanner."""
        twin = Blocks(self._markers, self._engine, scan, calls)
        twin.take_state(self)
        return twin

    def take_state(self, other: Blocks) -> None:
        """Take over the state of another object. The pending span of a parser keeps its reference to this one."""
        self._line.clear()
        self._line.extend(other._line)
        self.fence, self.fence_line, self.of_marker = other.fence, other.fence_line, other.of_marker

    def begin_line(self) -> None:
        """Begin a line: what follows a call or a reasoning block is in none."""
        self._line.clear()
        self.of_marker = ""

    @property
    def recent(self) -> str:
        """The last characters of the content."""
        return "".join(self._line)[-_LONGEST_HEAD:]

    @property
    def line(self) -> str:
        """The content since the last line break. It is cut off at the front if the line is long."""
        return self.recent.rpartition("\n")[2]

    def find(self) -> None:
        """Set `of_marker` to the block of a marker that follows the content so far."""
        self.of_marker = "fence" if self.fence else _block_of(self.line)

    def toggle_fence(self, found: str, mark: str, *, in_line: bool, first: bool) -> Reading[None]:
        """Begin or end a fence at a fence marker, if it does that.

        A marker ends the fence if it is alone on its line, or on the line of the fence's start (then the fence was
        inline code).

        Args:
            found: The marker, perhaps with the line break and the spaces before it.
            mark: The marker.
            in_line: Whether it is on the line of the fence's start.
            first: Whether it is at the start of its line.
        """
        toggles = first
        if self.fence:
            toggles = in_line and mark[0] == self.fence[0]
            if not in_line and first and mark.startswith(self.fence):
                toggles = yield from self._line_ends(len(found))
        if toggles:
            self.fence, self.fence_line = "" if self.fence else mark, not self.fence

    def _line_ends(self, back: int) -> Reading[bool]:
        """Whether only whitespace follows on the line. The text is kept from `back` characters ago on."""
        scan, behind = self._scan, self._scan.position
        scan.keep(behind - back)
        yield from scan.take_while(_IN_LINE)
        ends = (yield from scan.peek()) in ("", "\r", "\n")
        scan.rewind(behind)
        scan.release()
        return ends

    def quotation(self, opener: str, *, first: bool) -> Reading[str]:
        """Read inline code that begins with a start marker, and return its text after the marker; "" if it is not that.

        A complete call between backticks is a quotation in the middle of a line, but a call at its beginning (`first`).
        """
        if opener == "\n" or not _BACKTICK.search(self.line):
            return ""  # a line break ends the line of a fence
        scan = self._scan
        begin = scan.position
        scan.keep(begin - len(opener))
        text = ""
        if (yield from scan.find_near(_QUOTATION_ENDS, MOST_REJECTED)) == "`":
            text = scan.kept_between(begin, scan.position)
            meant = first and opener in self._markers.calls
            if meant and (yield from is_frame(self._engine, self._calls, Scan(text[:-1], closed=True), opener)):
                text = ""
        if not text:
            scan.rewind(begin - len(opener))  # a call keeps the text of its start marker
            scan.at += len(opener)
        scan.release()
        return text

    def example(self, opener: str, begin: int, starts: Literals) -> Reading[str | None]:
        """Read an example of calls after a start marker, and return its text; None if it is calls, which stay unread.

        It is calls if only calls, and the end of their block, follow in the output. The text is empty if there is no
        call, or if it is too long for the lookahead.

        Args:
            opener: The start marker, or what a call without a frame begins with.
            begin: Where it begins.
            starts: Everything that a call may start with.
        """
        scan, behind = self._scan, self._scan.position
        if opener not in self._markers.framing:
            scan.rewind(begin)
            opener = ""
        length = yield from self._example_length(opener, starts)
        if length is None:
            scan.rewind(behind)
            return None
        scan.skip(max(length, behind - scan.position))
        return scan.kept_between(behind, scan.position)

    def _example_length(self, opener: str, starts: Literals) -> Reading[int | None]:
        """Return the length of the example that begins here; None if it is calls."""
        scan, markers, begin, length = self._scan, self._markers, self._scan.position, 0

        def read(view: Scan) -> Reading[int | None]:
            nonlocal length
            start = opener
            while True:
                yield from self._engine.read(view, self._calls.dry_run(view), start)
                length = length or view.position - begin
                while True:
                    yield from view.skip_spaces()
                    if mark := (yield from view.literal(_BLOCK_ENDS)):
                        if mark in FENCES:
                            yield from view.take_while(_INFO)
                    elif not (yield from view.literal(markers.meaningless)):
                        break
                if not (yield from view.peek()):
                    return length if view.cut else None  # what would follow is not known
                here = view.position
                start = yield from view.literal(starts)
                if not start:
                    return length
                if start not in markers.framing:
                    view.rewind(here)
                    start = ""

        try:
            return (yield from look_ahead(scan, read, _MAX_IN_BLOCK))
        except Incomplete:
            return None
        except (Malformed, LookaheadExceeded):
            return length


def _block_of(line: str) -> Block:
    """Return the block that text after this beginning of a line is in."""
    if len(line) == _LONGEST_HEAD:
        return ""  # the beginning of the line may be missing
    if len(_BACKTICKS.findall(line)) % 2 or _QUOTATION_MARK.search(line):
        return "inline"
    return "indented" if _INDENTED.match(line) else "quote" if _QUOTE.match(line) else ""


def is_frame(engine: Engine, calls: CallBuilder, scan: Scan, opener: str) -> Reading[bool | None]:
    """Whether `scan` has a whole frame of calls, which is read; None if the text ends inside it."""
    try:
        yield from engine.read(scan, calls.dry_run(scan), opener)
    except Incomplete:
        return None
    except Malformed:
        return False
    return True
