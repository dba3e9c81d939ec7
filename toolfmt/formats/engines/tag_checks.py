"""Parameters of `Tagged` that no reader could tell apart, refused when the engine is made.

What only some values cannot be carried in is not refused here: the writer refuses those, when they are written.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import TYPE_CHECKING

from toolfmt.formats.engines.frame import check_filled

if TYPE_CHECKING:
    from toolfmt.formats.engines.tagged import Tagged

_WORD = re.compile(r"\w")
_NEWLINES = ("", "\n")


def check_tags(engine: Tagged) -> None:
    """Raises `ValueError`, which names the parameter to blame."""
    check_filled(engine, "cdata", "type_tag", "json_arguments", "skipped")
    _check_there(engine)
    for parameter, marker in (("opener", engine.opener), ("closer", engine.closer)):
        if marker != marker.lstrip():
            raise ValueError(f"{parameter}: {marker!r:.80} starts with whitespace, which is not part of a marker")
    if engine.value_newline not in _NEWLINES:
        raise ValueError(f"value_newline: must be one newline or empty, not {engine.value_newline!r:.80}")
    if engine.between.strip():
        raise ValueError(f"between: {engine.between!r:.80} is more than whitespace; move the rest into a tag")
    tags = engine.tags
    ends = {"key_opener": tags.key_opener, "call_closer": tags.call_closer, "closer": engine.closer}
    closes_value = engine.value_closer.strip()
    for parameter, marker in ends.items():
        longer = parameter == "key_opener" and marker != closes_value and closes_value.startswith(marker)
        if marker and _overlap(marker, closes_value) and not longer:  # the longer of two marks is the one that is met
            raise ValueError(f"value_closer: {engine.value_closer!r:.80} cannot be distinguished from {parameter}")
    for parameter in ("call_closer", "closer"):
        if ends[parameter] and _overlap(ends[parameter], tags.key_opener):
            raise ValueError(f"{parameter}: {ends[parameter]!r:.80} cannot be distinguished from key_opener")
    if engine.name_opener and engine.name_opener == engine.opener:
        raise ValueError(f"name_opener: {engine.name_opener!r:.80} is the same as opener")
    if not engine.name_closer and not engine.between:
        for parameter, marker in ends.items():
            if _WORD.match(marker):
                raise ValueError(f"{parameter}: nothing separates a name from {marker!r:.80} after it")
    _check_around(engine)


def _check_there(engine: Tagged) -> None:
    """Markers without which nothing can be read."""
    for parameter in ("key_opener", "key_closer", "value_closer"):
        if not getattr(engine, parameter).strip():
            raise ValueError(f"{parameter}: keys and values need markers that are more than whitespace")
    if not engine.opener and not engine.name_opener:
        raise ValueError("name_opener: no marker starts a call")
    if not engine.call_closer and not engine.closer and not engine.also_closers:
        raise ValueError("call_closer: no marker ends a call")
    for parameter, quote, marker in (
        ("name_opener", engine.name_header.quote, engine.name_opener),
        ("key_opener", engine.key_header.quote, engine.key_opener),
    ):
        if quote and not marker.endswith(quote):
            raise ValueError(f"{parameter}: {marker!r:.80} must end with the quote that starts its header")


def _check_around(engine: Tagged) -> None:
    """What stands around calls has to be read, too."""
    if (engine.before_name.strip() or engine.after_call.strip()) and not engine.opener:
        raise ValueError("before_name: a call without a call block has only its own markers around it")
    if engine.after_call.strip() and not engine.call_closer:
        raise ValueError("after_call: a call without an end marker ends with the call block")
    frame = (engine.opener, engine.closer, *engine.also, *engine.also_closers, *engine.skipped)
    if not _made_of(engine.between_calls, frame):
        raise ValueError(
            f"between_calls: {engine.between_calls!r:.80} has more than whitespace, markers and skipped text"
        )


def _made_of(text: str, pieces: Iterable[str]) -> bool:
    found = "|".join(re.escape(piece) for piece in sorted(pieces, key=len, reverse=True) if piece)
    return re.fullmatch(rf"(?:\s|{found})*", text) is not None if found else not text.strip()


def _overlap(one: str, other: str) -> bool:
    return one.startswith(other) or other.startswith(one)


def unread(text: str, skipped: tuple[str, ...]) -> tuple[str, ...]:
    """What of a text around calls is neither blanks nor among what is passed over: the pieces between blanks."""
    return tuple(piece for piece in text.split() if not _made_of(piece, skipped))
