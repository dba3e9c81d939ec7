"""Guarantee 12 if a stretch of text between two values is lost: no ended call has a value that contains text of
another.

`benchmarks/damaged_calls.py` counts all of it; here are the single characters, some runs, and two of the four modes.
"""

from __future__ import annotations

import pytest

from toolfmt.formats import FORMATS
from toolfmt.testing.damaging import TOOLS, damages, merged, unseen

MODES = ({"tools": TOOLS, "strict": False}, {"tools": None, "strict": True})


@pytest.mark.sample(5)
@pytest.mark.parametrize("format", [format.name for format in FORMATS])
def test_no_value_holds_another_ones_text(format: str) -> None:
    found = [
        (damage.lost, mode["strict"], values)
        for damage in damages(format, runs=(2, 7, 13, 24))
        for mode in MODES
        if (values := [value for value in merged(format, damage.text, **mode) if not unseen(format, value)])
    ]
    assert found == []
