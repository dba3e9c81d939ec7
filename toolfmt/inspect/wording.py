"""Names in a sentence, as a person lists them."""

from __future__ import annotations

from collections.abc import Iterable


def listed(names: Iterable[str], last: str = "and") -> str:
    """`a, b and c`; `last` is the word before the last of them. Empty for no names."""
    *most, final = list(names) or [""]
    return f"{', '.join(most)} {last} {final}" if most else final
