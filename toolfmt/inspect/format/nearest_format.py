"""Find the known format whose calls are closest to a rendered one, as the start of a new format."""

from __future__ import annotations

import difflib
import re
from collections.abc import Sequence
from typing import Any

from toolfmt.errors import CannotWrite
from toolfmt.formats import Call, ToolCallFormat, default_format, formats, write

_LONGEST = 2_000
_WORDS = re.compile(r"\w+")


def nearest_sibling(text: str | None, calls: Sequence[Call], tools: list[Any]) -> ToolCallFormat:
    """Return the format that writes these calls most similarly, by delimiters and their order.

    The default format if no call is rendered.
    """
    if text is None or len(text) > _LONGEST:
        return default_format()
    return max(formats(), key=lambda format: _likeness(text, format, calls, tools))


def _likeness(text: str, format: ToolCallFormat, calls: Sequence[Call], tools: list[Any]) -> float:
    best = 0.0
    for variant in ("", *format.variants):
        try:
            written = write(format.with_variant(variant), calls, tools)
        except CannotWrite:
            continue
        best = max(best, _ratio(text, written) + 2 * _ratio(_structure(text), _structure(written)))
    return best


def _structure(text: str) -> str:
    """Return the text with one letter for each word: its structure, without the names of markers."""
    return _WORDS.sub("w", "".join(text.split()))


def _ratio(one: str, other: str) -> float:
    return difflib.SequenceMatcher(None, one, other, autojunk=False).ratio()
