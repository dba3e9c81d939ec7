"""Reading ahead: a stretch of bounded length is read as if it were all that is left, and stands unread again.

For what cannot be known from its first characters: whether a call without a frame ends as one. Nothing waits longer
than the bound, and the way back costs no more than that.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from toolfmt.formats.scanner.scanner import Malformed, Reading, Scan, Stretch

Answer = TypeVar("Answer")

FAR = 400
"""Nothing is held back for longer than so many characters before it is certain what it is."""


_FIRST = 8
"""So many characters are read ahead at first, then twice as many each time: the way back is about as long as needed."""


class TooFar(Exception):
    """A reading ahead needs more than it may have."""


def _seen_through(waiting: Stretch | None, scan: Scan, end: int) -> Stretch | None:
    """A stretch that is read ahead, as the reading of `scan` waits in it."""
    if waiting is not None:
        waiting.outer, waiting.end = (scan, *waiting.outer), min(waiting.end, end)
    return waiting


def ahead(scan: Scan, read: Callable[[Scan], Reading[Answer]], most: int = FAR) -> Reading[Answer]:
    """What a reading of the next `most` characters answers. They are unread then, whatever it answered or raised.

    Raises `TooFar` where the reading needs more than them, and what the reading raises: `Incomplete` only where the
    answer ends before.
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
                raise TooFar
            step *= 2
            view.compact()
            if not left:
                yield _seen_through(waiting, scan, end)
    except Malformed as wrong:
        wrong.at = view.position if wrong.at is None else wrong.at
        raise
    finally:
        scan.rewind(begin)
