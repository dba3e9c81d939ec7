"""Guarantees 6, 10 and 12 for prose without calls: it stays prose, and nothing of it waits for the end of the output.

`benchmarks/prose.py` prints the failures.
"""

from __future__ import annotations

import pytest

from toolfmt.formats import FORMATS
from toolfmt.testing.prose_pieces import MOST, TOOLS, pieces, read


@pytest.mark.parametrize("format", [format.name for format in FORMATS])
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
