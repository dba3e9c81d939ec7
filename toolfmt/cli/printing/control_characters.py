"""Escape invisible characters that can have effects: move a cursor, change the reading direction, hide text.

Text from a model is untrusted, so all of it goes through `visible` before a person reads it.
"""

from __future__ import annotations

import unicodedata

LONGEST = 10_000
"""Maximum number of characters of one text."""
_CATEGORIES = frozenset({"Cc", "Cf", "Co", "Cs", "Zl", "Zp"})


def is_unseen(char: str) -> bool:
    """Return whether it is a control, format, private-use or surrogate character, or a line or paragraph separator."""
    return unicodedata.category(char) in _CATEGORIES


def visible(text: str) -> str:
    """Return the text on one line with every control and format character escaped, so that it cannot move a cursor.

    A string that is too long to read is cut with `…`.
    """
    if len(text) > LONGEST:
        return f"{visible(text[:LONGEST])}… ({len(text):,} characters)"
    return text if text.isprintable() else "".join(map(_visible, text))


def _visible(char: str) -> str:
    return char.encode("unicode_escape").decode("ascii") if is_unseen(char) else char


def shortened(text: str, longest: int) -> str:
    """Return the text on one line and visible, cut with `…` if it is longer."""
    shown = visible(text[: longest + 1])
    return shown if len(shown) <= longest else shown[: longest - 1] + "…"
