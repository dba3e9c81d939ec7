"""Law 12 where a stretch of text between two values is lost: no ended call has a value that holds another one's text.

`benchmarks/damaged_calls.py` counts all of it; here are the single characters, some runs, and two of the four modes.
"""

from __future__ import annotations

from typing import Any

import pytest
from damaging import TOOLS, damages, merged, unseen

from toolfmt.formats import FORMATS

STILL_MERGED = (
    "atem", "deepseek_dsml", "dots", "gcml", "glm4", "hunyuan_v3", "iquest",
    "k2_horizon", "kimi_k3", "longcat", "minicpm5", "minimax_m2", "minimax_m3", "qwen3_5",
    "seed_oss", "solar_open2", "step3", "xml_function", "zyphra",
)  # fmt: skip
"""Formats that still merge values. A format that is mended is taken off: the mark is strict."""
MODES = ({"tools": TOOLS, "strict": False}, {"tools": None, "strict": True})


def formats() -> list[Any]:
    waiting = pytest.mark.xfail(strict=True, reason="a value runs on into the next one")
    names = [format.name for format in FORMATS]
    return [pytest.param(name, marks=[waiting] if name in STILL_MERGED else []) for name in names]


@pytest.mark.parametrize("format", formats())
def test_no_value_holds_another_ones_text(format: str) -> None:
    found = [
        (damage.lost, mode["strict"], values)
        for damage in damages(format, runs=(2, 7, 13, 24))
        for mode in MODES
        if (values := [value for value in merged(format, damage.text, **mode) if not unseen(format, value)])
    ]
    assert found == []
