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


def pass_over(stretch: PendingSpan, text: str, found: re.Match[str] | None) -> list[Event] | None:
    """The events of a text that lies inside the stretch, and is read then, but for what may be the beginning of the
    stretch's end. `found` is the first place in it that may be that, or is doubtful. None where the reading has to be
    woken; nothing is read then."""
    body, calls = stretch.body, stretch.calls
    if found is None:
        said, at = text if body.encode is None else body.encode(text), len(text)
    elif body.beginning is not None and (begins := body.beginning(found)) is not None:
        said, at = text[:begins] if body.encode is None else body.encode(text[:begins]), begins
    elif calls is None or calls.strict:
        return None  # strict reading goes on at once behind what it refuses
    else:
        try:
            said, at, ended = body.read(text, 0, False)
        except Malformed:
            return None  # the reading finds the same, and says so
        if ended:
            return None
    scan, kind = stretch.scan, stretch.kind
    start = scan.offset
    scan.offset = start + at
    if at < len(text):
        scan.text, text = text[at:], text[:at]
    else:
        scan.text = ""
    if kind is not None:
        return [kind(said, start)] if said else []
    scan.kept.append(text)
    if stretch.fragments is not None:
        stretch.fragments.append(said)
        return []
    return [ToolCallArguments(calls.index, said)] if said and calls.emitting else []  # type: ignore[union-attr]  # it has them


def pass_over_joined(stretch: PendingSpan, text: str) -> list[Event] | None:
    """As `pass_over`, of a chunk before which the end of the last one is still held, or which is read ahead."""
    outer = stretch.outer
    if outer and outer[0].offset + len(text) >= stretch.end:
        return None
    joined = stretch.scan.text + text
    events = pass_over(stretch, joined, stretch.body.may_end(joined))
    if events is not None:
        for scan in outer:
            scan.offset += len(text)
            scan.kept.append(text)
    return events
