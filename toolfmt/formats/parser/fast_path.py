"""The fast path: handle a chunk in one step if it cannot end the text that is being parsed.

Most chunks of content, of a raw value or of a string contain nothing that could end it. A generator that waits inside
such a text yields a `PendingSpan`. `Parser.feed` tests the next chunk against it before it resumes the generator. The
most frequent case is inlined there, because it runs once per chunk; the others are here. Nothing else moves a scanner
while a generator waits, and the result is always what the generator would have produced.
"""

from __future__ import annotations

import re

from toolfmt.formats.scanner.scanner import Malformed, PendingSpan
from toolfmt.messages.events import Event, ToolCallArguments


def pass_over(pending: PendingSpan, text: str, found: re.Match[str] | None) -> list[Event] | None:
    """Return the events of a text inside a span, and read it, except for what may be the beginning of the span's end.

    Returns None, and reads nothing, if the generator has to be resumed.

    Args:
        pending: The span.
        text: The next chunk.
        found: The first match in it that may end the span or needs `Span.read`; None if there is none.
    """
    span, calls = pending.span, pending.calls
    if found is None:
        emitted, at = text if span.encode is None else span.encode(text), len(text)
    elif span.beginning is not None and (begins := span.beginning(found)) is not None:
        emitted, at = text[:begins] if span.encode is None else span.encode(text[:begins]), begins
    elif calls is None or not calls.tolerates_all:
        return None  # `read` stops before what is not allowed, and only the generator continues
    else:
        try:
            emitted, at, ended = span.read(text, 0, False)
        except Malformed:
            return None  # the generator raises the same
        if ended:
            return None
    scan, kind = pending.scan, pending.kind
    start = scan.offset
    scan.offset = start + at
    if at < len(text):
        scan.text, text = text[at:], text[:at]
    else:
        scan.text = ""
    if kind is not None:
        if not emitted:
            return []
        pending.seen(emitted)  # type: ignore[misc]  # text has it
        return [kind(emitted, start)]
    scan.kept.append(text)
    pending.fragments.append(emitted)  # type: ignore[union-attr]  # arguments have them
    return [ToolCallArguments(calls.index, emitted)] if emitted and pending.emits else []  # type: ignore[union-attr]  # it has them


def pass_over_joined(pending: PendingSpan, text: str) -> list[Event] | None:
    """As `pass_over`, for a chunk in a lookahead, or if the end of the previous chunk is still held."""
    outer = pending.outer
    if outer and outer[0].offset + len(text) >= pending.end:
        return None
    joined = pending.scan.text + text
    events = pass_over(pending, joined, pending.span.may_end(joined))
    if events is not None:
        for scan in outer:
            scan.offset += len(text)
            scan.kept.append(text)
    return events
