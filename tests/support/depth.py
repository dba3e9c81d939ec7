"""How much a run looks at: a sample of each test, or with `pytest --all` every case once.

`benchmarks/long_run.py` looks further, by two environment variables: `TOOLFMT_TEST_EXAMPLES` is the number of random
examples for each guarantee, and with `TOOLFMT_TEST_EVERY` every cut of every case and every template is tried.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from typing import TypeVar

_T = TypeVar("_T")

EXAMPLES = int(os.environ.get("TOOLFMT_TEST_EXAMPLES") or 10)
"""Random examples of a guarantee."""
PIECES = (1, 3, 4, 7)
"""Lengths of the chunks in which a text is fed."""
every = bool(os.environ.get("TOOLFMT_TEST_EVERY"))
"""Whether every cut and every template is tried."""
all_cases = every
"""Whether all cases of each test run; set by `tests/conftest.py` before any test is collected."""


def examples(number: int) -> int:
    """Return how many random examples a test uses that names their number itself: a quarter in the default run."""
    return max(number, EXAMPLES) if all_cases else number // 4


def some(things: Sequence[_T], nth: int) -> Sequence[_T]:
    """Return what a test looks at that goes through many things itself: each n-th of them in the default run."""
    return things if all_cases else things[::nth]


def spread(things: Sequence[_T], nth: int) -> Sequence[_T]:
    """Return each n-th case of a test whose cases take hours in total; all of them in the long run."""
    return things if every else things[::nth]


def pieces(text: str, length: int) -> list[str]:
    return [text[begin : begin + length] for begin in range(0, len(text), length)]


def cuts(text: str, marks: Iterable[str]) -> list[int]:
    """Return where a text is cut in two: at the borders of each marker in it and in its middle; or everywhere."""
    if every:
        return everywhere(len(text))
    places = set()
    for mark in marks:
        begin = text.find(mark) if mark else -1
        while begin >= 0:
            places |= {begin, begin + (len(mark) + 1) // 2, begin + len(mark)}
            begin = text.find(mark, begin + 1)
    return _spread(sorted(places - {0, len(text)}))


def everywhere(length: int) -> list[int]:
    """Return every position to cut at; in a long text those near its ends and a few between."""
    if length <= 2_000:
        return list(range(length + 1))
    return [*range(100), *range(100, length - 100, length // 7), *range(length - 100, length + 1)]


def _spread(places: list[int], most: int = 8) -> list[int]:
    """Return at most this many of them, from first to last."""
    if len(places) <= most:
        return places
    return [places[at * (len(places) - 1) // (most - 1)] for at in range(most)]
