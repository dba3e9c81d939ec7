"""Laws 6, 10 and 12 over prose that makes no calls: it stays prose, and nothing of it waits for the end of the answer.

`benchmarks/prose.py` prints what is found here.
"""

from __future__ import annotations

from typing import Any

import pytest
from prose_pieces import MOST, TOOLS, pieces, read

from toolfmt.formats import FORMATS

STILL_SWALLOWED = ("glm4", "iquest", "k2_horizon", "longcat", "solar_open2")
"""Formats that still swallow prose or call something in it. One that is mended is taken off: the mark is strict."""


def formats() -> list[Any]:
    waiting = pytest.mark.xfail(strict=True, reason="prose is swallowed, or called")
    names = [format.name for format in FORMATS]
    return [pytest.param(name, marks=[waiting] if name in STILL_SWALLOWED else []) for name in names]


@pytest.mark.parametrize("format", formats())
def test_prose_stays_prose(format: str) -> None:
    wrong = []
    for tools in (TOOLS, None):
        for piece in pieces(format):
            if tools is None and piece.only_declared:
                continue
            waiting, calls, reasoned = read(format, piece, tools=tools)
            if waiting > MOST or calls or reasoned:
                wrong.append((piece.text, "tools" if tools else "no tools"))
    assert wrong == []
