"""Calls that a model writes while it thinks: whether one is a draft, or the answer itself.

A draft never becomes a call. What stands in a block is a call where the block is never closed, where it is closed with
nothing behind it, or where another message begins in it. All of that is read ahead and unread again; how often, and how
far, is bounded.
"""

from __future__ import annotations

import re
import sys

from toolfmt.formats.engines.call_builder import CallBuilder, Committed
from toolfmt.formats.format import ToolCallFormat
from toolfmt.formats.scanner.literals import literals
from toolfmt.formats.scanner.scanner import Incomplete, Malformed, Reading, Scan

_MOST_LOOKED_AT = 16
"""Calls in a block that is never closed, or that its closer cuts, are looked at so often; each costs as much as the
answer is long."""
_MAX_DRAFT_TAIL = 2000
"""A closer of a block inside a draft's value is taken for the value's if the draft ends within so many characters; the
answer waits for that."""
_THINKS = re.compile(r"[\w\n]")


class Drafts:
    """What is known of the calls in the reasoning blocks of one answer."""

    def __init__(self, format: ToolCallFormat, scan: Scan, calls: CallBuilder) -> None:
        self._format, self._scan, self._calls = format, scan, calls
        self.looked_at = 0
        """So many calls of the open block were read through, which nothing closes."""
        self._failed_lookaheads = 0
        """So many calls that a block's closer cuts were read on behind it, and did not end there."""
        self._unclosed_from = sys.maxsize
        """From here on no block is closed, as the end of the answer has shown."""

    def copy(self, scan: Scan, calls: CallBuilder) -> Drafts:
        """The same, over another scanner."""
        twin = Drafts(self._format, scan, calls)
        twin.looked_at, twin._failed_lookaheads, twin._unclosed_from = (
            self.looked_at,
            self._failed_lookaheads,
            self._unclosed_from,
        )
        return twin

    def begins(self, opener: str) -> Reading[bool]:
        """Whether a call stands here, read no further than to know it."""
        begin = self._scan.position
        try:
            yield from self._format.engine.read(self._scan, self._calls.dry_run(self._scan, "call"), opener)
        except Committed:
            return True
        except Incomplete:
            return bool(self._scan.kept_between(begin, self._scan.position).strip())
        except Malformed:
            return False
        return True

    def stands(self, scan: Scan, opener: str) -> Reading[bool | None]:
        """Whether a whole frame of calls stands in a text, read to its end; None where the text ends within it."""
        try:
            yield from self._format.engine.read(scan, self._calls.dry_run(scan), opener)
        except Incomplete:
            return None
        except Malformed:
            return False
        return True

    def message_begins(self, opener: str, here: int) -> Reading[bool]:
        """Whether an opener behind content, at `here`, opens reasoning, or another message with a call, and is unread
        then.

        Text follows at once where it opens reasoning.
        """
        scan, begins = self._scan, True
        behind = scan.position
        scan.keep(here)
        if opener in self._format.markers.reasoning:
            begins = bool(_THINKS.match((yield from scan.peek())))
        else:
            try:
                yield from self._format.engine.read(scan, self._calls.dry_run(scan, "call"), opener)
            except (Malformed, Incomplete):
                begins = False
            except Committed:
                pass
        scan.rewind(here if begins else behind)
        scan.release()
        return begins

    def message_stands(self, here: int, opener: str, closers: tuple[str, ...]) -> Reading[bool]:
        """Whether another message with a call begins in the block, at `here`: nothing else follows it."""
        if opener not in self._format.markers.messages:
            return False
        scan = self._scan
        scan.rewind(here + len(opener))
        stands = yield from self._not_far(self.stands(scan, opener), here + _MAX_DRAFT_TAIL)
        if stands:
            yield from scan.skip_spaces()
            if not (yield from scan.literal(literals(*closers))):
                return (yield from scan.peek()) in ("", "<")
        return stands is None and scan.position <= here + _MAX_DRAFT_TAIL

    def is_the_answer(self, draft: str, opener: str) -> Reading[bool]:
        """Whether the drafts of a block, which has just been closed, are the answer: calls, and nothing behind them."""
        scan = self._scan
        while True:
            yield from scan.skip_spaces()
            if not (yield from scan.literal(self._format.markers.saying_nothing)):
                break
        if (yield from scan.peek()) or self._scan.cut:
            return False  # or the runtime stopped the model before its answer began
        return bool((yield from self.stands(Scan(draft, closed=True), opener)))

    def stands_unclosed(self, here: int, opener: str) -> Reading[bool]:
        """Whether the call at `here`, in a block that is never closed, is one: the model has answered."""
        if self._scan.cut or self.looked_at == _MOST_LOOKED_AT:
            return False  # or the runtime stopped it in the midst of its thoughts
        self.looked_at += 1
        self._scan.rewind(here + len(opener))
        return (yield from self.stands(self._scan, opener)) is not False

    def draft(self, here: int, opener: str, closers: tuple[str, ...]) -> Reading[tuple[str, str]]:
        """The text from an opener to the closer of the block, and that closer; empty where there is none.

        A closer inside a value is the value's: the call goes on behind it and ends, without another opener on the way.
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
                and (yield from self.stands(Scan(before, closed=True), opener)) is None
            ):
                scan.rewind(begin)
                stands = yield from self._not_far(self.stands(scan, opener), after + _MAX_DRAFT_TAIL)
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
        """What a reading answers, given up where it has read on to `end` without one."""
        while self._scan.position <= end:
            try:
                next(reading)
            except StopIteration as done:
                stands: bool | None = done.value
                return stands
            if self._scan.position <= end:
                yield None
        return None
