"""Characters that show nothing and may do something: move a cursor, turn the reading direction, hide what follows.

What comes from a model is untrusted: every text of it that a person reads goes through `visible`.
"""

from __future__ import annotations

import unicodedata

LONGEST = 10_000
"""Characters of one text that are printed."""
_CATEGORIES = frozenset({"Cc", "Cf", "Co", "Cs", "Zl", "Zp"})


def is_unseen(char: str) -> bool:
    """Whether it is a control, format, private or surrogate character, or separates lines or paragraphs."""
    return unicodedata.category(char) in _CATEGORIES


def visible(text: str) -> str:
    """The text on one line with every control and format character as an escape, so that it cannot move a cursor; cut
    with `…` where it is longer than any that is meant to be read."""
    if len(text) > LONGEST:
        return f"{visible(text[:LONGEST])}… ({len(text):,} characters)"
    return text if text.isprintable() else "".join(map(_visible, text))


def _visible(char: str) -> str:
    return char.encode("unicode_escape").decode("ascii") if is_unseen(char) else char


def shortened(text: str, longest: int) -> str:
    """The text on one line and visible, cut with `…` where it is longer."""
    shown = visible(text[: longest + 1])
    return shown if len(shown) <= longest else shown[: longest - 1] + "…"
