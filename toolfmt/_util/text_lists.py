"""List names in a sentence."""

from __future__ import annotations

from collections.abc import Iterable, Sequence


def listed(names: Iterable[str], last: str = "and") -> str:
    """Return `a, b and c`. `last` is the word before the last name. Empty for no names."""
    *most, final = list(names) or [""]
    return f"{', '.join(most)} {last} {final}" if most else final


def listed_first(names: Sequence[str], most: int) -> str:
    """Return `a, b and 3 more`: at most this many names, and the number of the others."""
    shown, more = ", ".join(names[:most]), len(names) - most
    return f"{shown} and {more:,} more" if more > 0 else shown
