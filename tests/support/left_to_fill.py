"""What `toolfmt dev new-format` and `new-finding` have left for a person to fill in, with its place."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import pytest

from toolfmt.testing.corpus import TO_FILL

ROOT = Path(__file__).parents[2]


def check_filled(what: str, files: Iterable[Path]) -> None:
    """Fails with every line of the files that must still be filled in: each shows what belongs there."""
    left = [
        f"{file.relative_to(ROOT)}:{number}: {line.strip()}"
        for file in files
        for number, line in enumerate(file.read_text(encoding="utf-8").split("\n"), 1)
        if TO_FILL in line
    ]
    if left:
        lines = [f"{what} is not finished; each of these lines says what belongs in its place:", *left]
        pytest.fail("\n".join(lines), pytrace=False)
