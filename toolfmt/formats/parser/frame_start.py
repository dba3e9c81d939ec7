"""Frames that do not begin with a call: empty ones, and those with a text before their first call."""

from __future__ import annotations

import re
from contextlib import suppress
from typing import Literal

from toolfmt.formats.engines.call_builder import CallBuilder
from toolfmt.formats.engines.engine import Engine
from toolfmt.formats.engines.frame import MIN_CONTROL_TOKEN, first_name
from toolfmt.formats.markers import Markers
from toolfmt.formats.scanner.literals import literals
from toolfmt.formats.scanner.lookahead import LookaheadExceeded
from toolfmt.formats.scanner.scanner import BLANK_LINES, Incomplete, Malformed, Reading, Scan

_MOST_TEXT = 200
"""Maximum number of characters of a text before the first call of a frame."""
_NOT_IN_TEXT = frozenset("`<[{")
_LIST = literals("[]")
_TAG = re.compile(r"<[\w:]+>")
_IN_LINE = re.compile(r"[ \t]*")


def skip_to_call(
    engine: Engine, markers: Markers, scan: Scan, calls: CallBuilder, begin: int, line: str
) -> Reading[Literal["frame", "text", ""]]:
    """Read what is between the start marker of a frame, which ends at `begin`, and its first call.

    Returns `frame` if the frame is empty, and was read; `text` if a text before the first call was read; "" if there is
    neither, and nothing was read. `line` is the beginning of the line of the start marker.
    """
    error = scan.position
    if scan.kept_between(begin, error).lstrip().startswith(calls.opener):
        return ""  # the start marker is repeated: going back each time would cost much
    scan.rewind(begin)
    if (yield from _skip_empty_frame(markers, scan, calls.opener, line)):
        return "frame"
    if (yield from _skip_text(engine, markers, scan, calls)):
        calls.forget_attempt()
        calls.record_tolerance("text_in_frame")
        return "text"
    scan.skip(error - begin)
    return ""


def _skip_empty_frame(markers: Markers, scan: Scan, opener: str, line: str) -> Reading[bool]:
    """Read the rest of a frame without calls. Return whether it is one; if not, read nothing.

    Nothing may follow on its line, and it must begin the line or contain a line break, because sentences mention such
    frames. Only a frame of control tokens that ends the output may follow a text.
    """
    closers = [closer for closer in markers.frame_closers if len(closer) >= MIN_CONTROL_TOKEN]
    begin = scan.position
    if closers:
        spaces = yield from scan.spaces()
        if (yield from scan.peek()) == "[":
            yield from scan.literal(_LIST)
            yield from scan.skip_spaces()
        on_own_line = not line.strip() or "\n" in spaces
        if (yield from scan.literal(literals(*closers))):
            yield from scan.take_while(_IN_LINE)
            following = yield from scan.peek()
            if following in ("", "\r", "\n") and (on_own_line or not (following or _TAG.fullmatch(opener))):
                return True
    scan.rewind(begin)
    return False


def _skip_text(engine: Engine, markers: Markers, scan: Scan, calls: CallBuilder) -> Reading[bool]:
    """Read a text before the first call of a frame, of a declared tool. Return whether there is one; if not, read
    nothing.

    In XML tags, which sentences mention, the text must be on lines of its own. It has no backtick, after which a marker
    is quoted, and no bracket, which may belong to a damaged call.
    """
    inner, begin = markers.inner.openers, scan.position
    if calls.token_starts or not inner or not calls.declared:
        return False
    opener = calls.opener
    tag = _TAG.fullmatch(opener)
    spaces = yield from scan.spaces()
    if (yield from scan.peek()).isalpha() and not (tag and "\n" not in spaces):
        here = scan.position
        ends = literals(*inner, *markers.frame_closers, *markers.framing, *BLANK_LINES)
        found = yield from scan.find_near(ends, _MOST_TEXT)
        end = scan.position - len(found)
        is_text = not _NOT_IN_TEXT.intersection(scan.kept_between(here, end))
        if found in inner and is_text and not (tag and scan.kept_between(here, end).rstrip(" \t")[-1:] != "\n"):
            scan.rewind(end)
            with suppress(Malformed, Incomplete, LookaheadExceeded):
                name = yield from first_name(lambda view, run: engine.read(view, run, opener), scan, calls)
                if name and calls.is_known(name):
                    return True
    scan.rewind(begin)
    return False
