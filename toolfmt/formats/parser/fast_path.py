"""The fast path: a chunk that lies inside the stretch that the reading waits in, passed over in one step.

Most chunks of content, of a raw value or of a string hold nothing that could end it. A reading that waits in one yields
its `Stretch`, and before `Parser.feed` wakes it with the next chunk, it looks whether the chunk lies plainly inside:
what then happens stands there, since it runs once a chunk; what else may be read without waking the reading stands
here. Nothing else moves a scanner while a reading waits, and whatever is done equals what the reading would have done.
"""

from __future__ import annotations

import re

from toolfmt.formats.scanner.scanner import Malformed, Stretch
from toolfmt.messages.events import Event, ToolCallArguments


def pass_over(stretch: Stretch, text: str, found: re.Match[str] | None) -> list[Event] | None:
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
    return [ToolCallArguments(calls.index, said)] if said and calls.telling else []  # type: ignore[union-attr]  # it has them


def pass_over_joined(stretch: Stretch, text: str) -> list[Event] | None:
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
