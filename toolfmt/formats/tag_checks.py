"""Parameters of `Tagged` that no reader could tell apart, refused when the engine is made.

What only some values cannot be carried in is not refused here: the writer refuses those, when they are written.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import TYPE_CHECKING

from toolfmt.formats.frames import check_filled

if TYPE_CHECKING:
    from toolfmt.formats.tagged import Tagged

_WORD = re.compile(r"\w")
_NEWLINES = ("", "\n")


def check_tags(engine: Tagged) -> None:
    """Raises `ValueError`, which names the parameter to blame."""
    check_filled(engine, "cdata", "type_tag", "json_arguments", "skipped", "alone")
    _check_there(engine)
    for parameter, marker in (("opener", engine.opener), ("closer", engine.closer)):
        if marker != marker.lstrip():
            raise ValueError(f"{parameter}: {marker!r:.80} begins with blanks, which are none of a frame's")
    if engine.value_newline not in _NEWLINES:
        raise ValueError(f"value_newline: one line end or nothing, not {engine.value_newline!r:.80}")
    if engine.between.strip():
        raise ValueError(f"between: {engine.between!r:.80} is more than blanks; a sign belongs to the tag beside it")
    tags = engine.tags
    ends = {"key_opener": tags.key_opener, "call_closer": tags.call_closer, "closer": engine.closer}
    closes_value = engine.value_closer.strip()
    for parameter, marker in ends.items():
        longer = parameter == "key_opener" and marker != closes_value and closes_value.startswith(marker)
        if marker and _overlap(marker, closes_value) and not longer:  # the longer of two marks is the one that is met
            raise ValueError(f"value_closer: {engine.value_closer!r:.80} cannot be told apart from {parameter}")
    for parameter in ("call_closer", "closer"):
        if ends[parameter] and _overlap(ends[parameter], tags.key_opener):
            raise ValueError(f"{parameter}: {ends[parameter]!r:.80} cannot be told apart from key_opener")
    if engine.name_opener and engine.name_opener == engine.opener:
        raise ValueError(f"name_opener: {engine.name_opener!r:.80} is the opener of the frame, too")
    if not engine.name_closer and not engine.between:
        for parameter, marker in ends.items():
            if _WORD.match(marker):
                raise ValueError(f"{parameter}: no event contains a name from {marker!r:.80} behind it")
    _check_around(engine)


def _check_there(engine: Tagged) -> None:
    """Markers without which nothing can be read."""
    for parameter in ("key_opener", "key_closer", "value_closer"):
        if not getattr(engine, parameter).strip():
            raise ValueError(f"{parameter}: keys and values need markers that are more than blanks")
    if not engine.opener and not engine.name_opener:
        raise ValueError("name_opener: nothing opens a call, not even a frame")
    if not engine.call_closer and not engine.closer and not engine.also_closers:
        raise ValueError("call_closer: nothing closes a call, not even its frame")
    for parameter, quote, marker in (
        ("name_opener", engine.name_header.quote, engine.name_opener),
        ("key_opener", engine.key_header.quote, engine.key_opener),
    ):
        if quote and not marker.endswith(quote):
            raise ValueError(f"{parameter}: {marker!r:.80} lacks the quote in which its header stands")


def _check_around(engine: Tagged) -> None:
    """What stands around calls has to be read, too."""
    if (engine.before_name.strip() or engine.after_call.strip()) and not engine.opener:
        raise ValueError("before_name: without a frame nothing stands around a call but its own markers")
    if engine.after_call.strip() and not engine.call_closer:
        raise ValueError("after_call: a call that nothing closes ends with its frame")
    frame = (engine.opener, engine.closer, *engine.also, *engine.also_closers, *engine.skipped)
    if not _made_of(engine.between_calls, frame):
        raise ValueError(
            f"between_calls: {engine.between_calls!r:.80} holds more than blanks, frames and what is skipped"
        )


def _made_of(text: str, pieces: Iterable[str]) -> bool:
    found = "|".join(re.escape(piece) for piece in sorted(pieces, key=len, reverse=True) if piece)
    return re.fullmatch(rf"(?:\s|{found})*", text) is not None if found else not text.strip()


def _overlap(one: str, other: str) -> bool:
    return one.startswith(other) or other.startswith(one)


def unread(text: str, skipped: tuple[str, ...]) -> tuple[str, ...]:
    """What of a text around calls is neither blanks nor among what is passed over: the pieces between blanks."""
    return tuple(piece for piece in text.split() if not _made_of(piece, skipped))
