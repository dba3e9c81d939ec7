"""Calls in reasoning blocks: whether a call is a draft, which is never executed, or the response itself.

A call in a block counts if the block is never closed, if nothing follows the end of the block, or if another message
begins in it. Dry runs decide this. Their number is bounded, and so is how far they go beyond an end marker; the wait
for the end marker is not.
"""

from __future__ import annotations

import re
import sys

from toolfmt.formats.engines.call_builder import CallBuilder, Committed
from toolfmt.formats.engines.engine import Engine
from toolfmt.formats.format import ToolCallFormat
from toolfmt.formats.parser.block import is_frame
from toolfmt.formats.scanner.literals import literals
from toolfmt.formats.scanner.scanner import Incomplete, Malformed, Reading, Scan

_MOST_LOOKED_AT = 16
"""Maximum number of dry runs for calls in a block that is never closed, and for calls that an end marker interrupts.
Each costs as much as the output is long."""
_MAX_DRAFT_TAIL = 2000
"""An end marker of the block inside a draft belongs to a value of the draft, if the draft ends within so many
characters. The output is held back for that."""
_THINKS = re.compile(r"[\w\n]")


class Drafts:
    """What is known about the calls in the reasoning blocks of one output."""

    def __init__(self, format: ToolCallFormat, engine: Engine, scan: Scan, calls: CallBuilder) -> None:
        self._format, self._engine, self._scan, self._calls = format, engine, scan, calls
        self.looked_at = 0
        """Number of lookaheads for calls of the open block, which is never closed."""
        self._failed_lookaheads = 0
        """Number of lookaheads across an end marker of a block that found no end of the call."""
        self._unclosed_from = sys.maxsize
        """The offset from which on no block is closed, which the end of the output has shown."""

    def copy(self, scan: Scan, calls: CallBuilder) -> Drafts:
        """Return the same for another scanner."""
        twin = Drafts(self._format, self._engine, scan, calls)
        twin.looked_at, twin._failed_lookaheads, twin._unclosed_from = (
            self.looked_at,
            self._failed_lookaheads,
            self._unclosed_from,
        )
        return twin

    def begins(self, opener: str) -> Reading[bool]:
        """Whether a call begins here. Reads no more than needed to know that."""
        begin = self._scan.position
        try:
            yield from self._engine.read(self._scan, self._calls.dry_run(self._scan, "call"), opener)
        except Committed:
            return True
        except Incomplete:
            return bool(self._scan.kept_between(begin, self._scan.position).strip())
        except Malformed:
            return False
        return True

    def message_begins(self, opener: str, here: int) -> Reading[bool]:
        """Whether a start marker in content, at `here`, starts reasoning or another message with a call.

        It stays unread if so. Reasoning continues with text at once.
        """
        scan, begins = self._scan, True
        behind = scan.position
        scan.keep(here)
        if opener in self._format.markers.reasoning:
            begins = bool(_THINKS.match((yield from scan.peek())))
        else:
            try:
                yield from self._engine.read(scan, self._calls.dry_run(scan, "call"), opener)
            except (Malformed, Incomplete):
                begins = False
            except Committed:
                pass
        scan.rewind(here if begins else behind)
        scan.release()
        return begins

    def is_message(self, here: int, opener: str, closers: tuple[str, ...]) -> Reading[bool]:
        """Whether another message with a call begins in the block at `here`. Nothing else may follow it."""
        if opener not in self._format.markers.messages:
            return False
        scan = self._scan
        scan.rewind(here + len(opener))
        stands = yield from self._not_far(is_frame(self._engine, self._calls, scan, opener), here + _MAX_DRAFT_TAIL)
        if stands:
            yield from scan.skip_spaces()
            if not (yield from scan.literal(literals(*closers))):
                return (yield from scan.peek()) in ("", "<")
        return stands is None and scan.position <= here + _MAX_DRAFT_TAIL

    def is_response(self, draft: str, opener: str) -> Reading[bool]:
        """Whether the drafts of a block that has just ended are the response: they are calls, and nothing follows."""
        scan = self._scan
        while True:
            yield from scan.skip_spaces()
            if not (yield from scan.literal(self._format.markers.meaningless)):
                break
        if (yield from scan.peek()) or self._scan.cut:
            return False  # the runtime may have stopped the model before its response
        return bool((yield from is_frame(self._engine, self._calls, Scan(draft, closed=True), opener)))

    def is_unclosed_response(self, here: int, opener: str) -> Reading[bool]:
        """Whether the call at `here`, in a block that is never closed, is the response."""
        if self._scan.cut or self.looked_at == _MOST_LOOKED_AT:
            return False  # the runtime may have stopped the model while it was reasoning
        self.looked_at += 1
        self._scan.rewind(here + len(opener))
        return (yield from is_frame(self._engine, self._calls, self._scan, opener)) is not False

    def draft(self, here: int, opener: str, closers: tuple[str, ...]) -> Reading[tuple[str, str]]:
        """Return the text from a start marker to the end marker of the block, and that end marker; "" if there is none.

        An end marker inside a value belongs to the value: the call continues after it and ends, without another start
        marker in between.
        """
        scan = self._scan
        scan.rewind(here + len(opener))
        begin = scan.position
        while not (scan.closed and begin >= self._unclosed_from):
            _, found = yield from scan.until(literals(*closers))
            if not found:
                self._unclosed_from = min(self._unclosed_from, here)
                break
            after = scan.position
            before = scan.kept_between(begin, after - len(found))
            if (
                begin == here + len(opener)
                and self._failed_lookaheads < _MOST_LOOKED_AT
                and (yield from is_frame(self._engine, self._calls, Scan(before, closed=True), opener)) is None
            ):
                scan.rewind(begin)
                stands = yield from self._not_far(
                    is_frame(self._engine, self._calls, scan, opener), after + _MAX_DRAFT_TAIL
                )
                if stands and after < scan.position <= after + _MAX_DRAFT_TAIL:
                    rest = scan.kept_between(after, scan.position)
                    if not any(other in rest for other in self._format.openers):
                        begin = scan.position
                        continue
                self._failed_lookaheads += 1
                scan.rewind(after)
            return scan.kept_between(here, after - len(found)), found
        return opener, ""

    def _not_far(self, reading: Reading[bool | None], end: int) -> Reading[bool | None]:
        """Return what `reading` returns; None if it reads on to `end` without a result."""
        while self._scan.position <= end:
            try:
                next(reading)
            except StopIteration as done:
                result: bool | None = done.value
                return result
            if self._scan.position <= end:
                yield None
        return None
