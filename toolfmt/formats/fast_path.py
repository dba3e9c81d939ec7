"""The fast path: a chunk that lies plainly inside the stretch that the reading waits in, passed over in one step.

Most chunks of content, of a raw value or of a string hold nothing that could end it. A reading that waits in one yields
its `Stretch`; before the driver wakes it with the next chunk, it asks here. Nothing else moves a scanner while a
reading waits, and whatever is done here equals what the reading would have done with the chunk. `pass_over` runs once
a chunk, and is all that runs for most of them: it says again what `_said` says.
"""

from __future__ import annotations

import re

from toolfmt.events import Event, ToolCallArguments
from toolfmt.formats.calls import Calls
from toolfmt.formats.scan import Malformed, Stretch


def pass_over(stretch: Stretch, text: str, calls: Calls) -> list[Event] | None:
    """The events of a chunk that lies inside the stretch, and is read then, but for what may be the beginning of the
    stretch's end. None where the chunk may end the stretch: nothing is read, and the reading has to be woken. `calls`
    has the open call."""
    scan, body = stretch.scan, stretch.body
    if scan.text or stretch.outer:
        return _joined(stretch, text, calls)
    sign = body.sign
    found = None if sign and sign not in text and text[-1] not in body.before else body.may_end(text)
    if found is not None:
        return _in_part(stretch, text, found, calls)
    start = scan.offset
    scan.offset = start + len(text)
    kind = stretch.kind
    if kind is not None:
        return [kind(text, start)]
    scan.kept.append(text)
    encode = body.encode
    if encode is not None:
        text = encode(text)
    if stretch.fragments is None:
        return [ToolCallArguments(calls.index, text)] if calls.telling else []
    stretch.fragments.append(text)
    return []


def _joined(stretch: Stretch, text: str, calls: Calls) -> list[Event] | None:
    """As `pass_over`, where the end of the last chunk is still held, or the text is read ahead."""
    outer = stretch.outer
    if outer and outer[0].offset + len(text) >= stretch.end:
        return None
    joined = stretch.scan.text + text
    found = stretch.body.may_end(joined)
    if found is not None:
        events = _in_part(stretch, joined, found, calls)
    else:
        said = joined if stretch.body.encode is None else stretch.body.encode(joined)
        events = _said(stretch, joined, len(joined), said, calls)
    if events is not None:
        for scan in outer:
            scan.offset += len(text)
            scan.kept.append(text)
    return events


def _in_part(stretch: Stretch, text: str, found: re.Match[str], calls: Calls) -> list[Event] | None:
    """As `pass_over`, where the text holds what may be the end of the stretch, or is doubtful."""
    body, beginning = stretch.body, stretch.body.beginning
    if beginning is not None and (at := beginning(found)) is not None:
        said = text[:at] if body.encode is None else body.encode(text[:at])
        return _said(stretch, text, at, said, calls)
    if calls.strict:
        return None
    try:
        said, at, ended = body.read(text, 0, False)
    except Malformed:
        return None  # the reading finds the same, and says so
    return None if ended else _said(stretch, text, at, said, calls)


def _said(stretch: Stretch, text: str, at: int, said: str, calls: Calls) -> list[Event]:
    """The text is read up to a place, and what that stands for is said; the rest is held."""
    scan, kind = stretch.scan, stretch.kind
    start = scan.offset
    scan.offset = start + at
    scan.text = text[at:]
    if kind is None:
        scan.kept.append(text[:at])
    if not said:
        return []
    if kind is not None:
        return [kind(said, start)]
    if stretch.fragments is None:
        return [ToolCallArguments(calls.index, said)] if calls.telling else []
    stretch.fragments.append(said)
    return []
