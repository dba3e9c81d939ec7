"""Names listed in a sentence, as a person lists them. For every room."""

from __future__ import annotations

from collections.abc import Iterable, Sequence


def listed(names: Iterable[str], last: str = "and") -> str:
    """`a, b and c`; `last` is the word before the last of them. Empty for no names."""
    *most, final = list(names) or [""]
    return f"{', '.join(most)} {last} {final}" if most else final


def listed_first(names: Sequence[str], most: int) -> str:
    """`a, b and 3 more`: so many of the names, and how many more there are."""
    shown, more = ", ".join(names[:most]), len(names) - most
    return f"{shown} and {more:,} more" if more > 0 else shown
