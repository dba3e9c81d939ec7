"""Errors reach the process that waits for a result."""

from __future__ import annotations

import copy
import pickle
from pathlib import Path

import pytest

from toolfmt.errors import FailedInProcess, LimitHit, TemplateError, ToolfmtError, UnknownFormat
from toolfmt.templates.files.locate import NoTemplateHere

ERRORS = [
    ToolfmtError("wrong"),
    UnknownFormat("no such format"),
    TemplateError("no list", 3, "raised", "TypeError: no list"),
    LimitHit("too long", "CPU time", 4, "the engine's message"),
    FailedInProcess("KeyError", ("toolfmt/a.py 3",)),
    NoTemplateHere(Path("model"), 2, "a, b"),
]


@pytest.mark.parametrize("error", ERRORS, ids=lambda error: type(error).__name__)
def test_an_error_is_the_same_in_another_process(error: ToolfmtError) -> None:
    """Unpickling that raises blocks `multiprocessing.Pool` forever, and `datasets.map(num_proc=2)` with it."""
    for again in (pickle.loads(pickle.dumps(error)), copy.copy(error)):
        assert (type(again), str(again), again.args) == (type(error), str(error), error.args)
        assert vars(again) == vars(error)
