"""Lookahead: parse a bounded number of the next characters without consuming them.

It decides what the first characters cannot: for example, whether a call without a frame ends like one. No text is held
back for longer than the bound, and going back costs at most as much.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from toolfmt.formats.scanner.scanner import Malformed, PendingSpan, Reading, Scan

Answer = TypeVar("Answer")

MAX_LOOKAHEAD = 400
"""Maximum number of characters that are held back before it is certain what they are."""

_FIRST = 8
"""Number of characters that are parsed first. It doubles each time, so that going back costs about what is needed."""


class LookaheadExceeded(Exception):
    """The lookahead needs more characters than it may have."""


def _seen_through(waiting: PendingSpan | None, scan: Scan, end: int) -> PendingSpan | None:
    """The pending span of a lookahead, as the generator that reads `scan` yields it."""
    if waiting is not None:
        waiting.outer, waiting.end = (scan, *waiting.outer), min(waiting.end, end)
    return waiting


def look_ahead(scan: Scan, read: Callable[[Scan], Reading[Answer]], most: int = MAX_LOOKAHEAD) -> Reading[Answer]:
    """Return what `read` returns for at most `most` of the next characters. Nothing is consumed, even on an error.

    Raises `LookaheadExceeded` if `read` needs more characters, and passes on what `read` raises. `Incomplete` means
    that the output itself ended.
    """
    begin, view = scan.position, Scan(offset=scan.position)
    view.keep(begin)
    end, step = begin + most, _FIRST
    reading = read(view)
    try:
        while True:
            piece = scan.text[scan.at : scan.at + min(step, end - scan.position)]
            scan.skip(len(piece))
            view.append(piece)
            left = scan.at < len(scan.text)
            view.closed, view.cut = scan.closed and not left and scan.position < end, scan.cut
            try:
                waiting = next(reading)
            except StopIteration as done:
                answer: Answer = done.value
                return answer
            if scan.position >= end:
                raise LookaheadExceeded
            step *= 2
            view.compact()
            if not left:
                yield _seen_through(waiting, scan, end)
    except Malformed as wrong:
        wrong.at = view.position if wrong.at is None else wrong.at
        raise
    finally:
        scan.rewind(begin)
