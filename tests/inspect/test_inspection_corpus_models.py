"""Every model directory of the corpus: its report and its prompt match its snapshots and the guarantees."""

from __future__ import annotations

from pathlib import Path

import pytest
from model_cases import directories, expected, outcome, violated_invariants

every_directory = pytest.mark.parametrize("directory", directories(), ids=lambda directory: directory.name)


@pytest.mark.sample(1)
@every_directory
def test_a_model_directory_equals_its_snapshots(directory: Path) -> None:
    """If a change is intended: read what `python tests/support/update_snapshots.py` shows, then run it with NAME."""
    assert expected(directory) == outcome(directory)


@pytest.mark.sample(1)
@every_directory
def test_a_model_directory_keeps_the_invariants(directory: Path) -> None:
    assert violated_invariants(directory) == []


def test_there_are_enough_directories() -> None:
    assert len(directories()) >= 10
