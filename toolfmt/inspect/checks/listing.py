"""Names in a sentence."""

from __future__ import annotations

from collections.abc import Sequence


def listed(names: Sequence[str]) -> str:
    """The names as a person lists them: `a, b and c`."""
    *most, last = names
    return f"{', '.join(most)} and {last}" if most else last
