"""Characters that show nothing and may do something: move a cursor, turn the reading direction, hide what follows."""

from __future__ import annotations

import unicodedata

_CATEGORIES = frozenset({"Cc", "Cf", "Co", "Cs", "Zl", "Zp"})


def is_unseen(char: str) -> bool:
    """Whether it is a control, format, private or surrogate character, or separates lines or paragraphs."""
    return unicodedata.category(char) in _CATEGORIES
