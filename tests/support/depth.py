"""How deep a run looks: the usual one in two minutes, the thorough one at all cases (`pytest --thorough`), or at every
place of each (`--exhaustive`).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TypeVar

_T = TypeVar("_T")

EXAMPLES, MANY_EXAMPLES = 10, 1000
"""Random examples of a law."""
PIECES = (1, 3, 4, 7)
"""Lengths of the pieces in which a text is fed."""
thorough = False
"""Whether a test that looks at many things looks at more than a sample of them; set before any test is collected."""
exhaustive = False
"""Whether every cut, every template and many fresh examples are tried; set before any test is collected."""


def examples(number: int) -> int:
    """Random examples of a test that names their number itself (and is marked `deeper`): a quarter of them."""
    return number if thorough else number // 4


def some(things: Sequence[_T], nth: int) -> Sequence[_T]:
    """What a test looks at that goes through many things itself (and is marked `deeper`): each n-th of them."""
    return things if thorough else things[::nth]


def pieces(text: str, length: int) -> list[str]:
    return [text[begin : begin + length] for begin in range(0, len(text), length)]


def cuts(text: str, marks: Iterable[str]) -> list[int]:
    """Where a text is cut in two: at the borders of each mark in it and in its midst; or everywhere."""
    if exhaustive:
        return everywhere(len(text))
    places = set()
    for mark in marks:
        begin = text.find(mark) if mark else -1
        while begin >= 0:
            places |= {begin, begin + (len(mark) + 1) // 2, begin + len(mark)}
            begin = text.find(mark, begin + 1)
    return _spread(sorted(places - {0, len(text)}))


def everywhere(length: int) -> list[int]:
    """Every place to cut at; in a long answer those near its ends and a few between."""
    if length <= 2_000:
        return list(range(length + 1))
    return [*range(100), *range(100, length - 100, length // 7), *range(length - 100, length + 1)]


def _spread(places: list[int], most: int = 8) -> list[int]:
    """No more than so many of them, from first to last."""
    if len(places) <= most:
        return places
    return [places[at * (len(places) - 1) // (most - 1)] for at in range(most)]
