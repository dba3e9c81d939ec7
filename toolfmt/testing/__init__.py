"""A fuzz kit for any parser: invariants, generated outputs to check them with, a corpus, and a search for bugs.

A parser is what `make_parser(tools)` returns. It is an object whose `feed(text)` and `finish()` return events of
toolfmt or their dicts, or a callable that takes a whole output and returns a message in OpenAI's format. The invariants
(`check_…`), the corpus (`corpus`) and the search (`Fuzz`) need only toolfmt. The strategies (`tools`, `calls`,
`outputs` …) need hypothesis: `pip install hypothesis`. Names are imported on first use.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from toolfmt.testing.broken import InvariantViolation
    from toolfmt.testing.checks import (
        INVARIANTS,
        check_arguments_json,
        check_chunking,
        check_cut,
        check_never_raises,
        check_not_joined,
        check_nothing_lost,
        check_prose,
        check_round_trip,
        check_shape,
    )
    from toolfmt.testing.corpus import Case, cases
    from toolfmt.testing.drawing import GeneratedOutput
    from toolfmt.testing.fuzzing import Defect, Fuzz
    from toolfmt.testing.outcome import ParserOutcome, read
    from toolfmt.testing.strategies import calls, damaged, outputs, pieces, prose, schemas, tools, written
    from toolfmt.testing.targets import target

_HOMES = {
    "INVARIANTS": "checks",
    "GeneratedOutput": "drawing",
    "Case": "corpus",
    "Defect": "fuzzing",
    "Fuzz": "fuzzing",
    "InvariantViolation": "broken",
    "ParserOutcome": "outcome",
    "outputs": "strategies",
    "calls": "strategies",
    "cases": "corpus",
    "check_arguments_json": "checks",
    "check_chunking": "checks",
    "check_cut": "checks",
    "check_never_raises": "checks",
    "check_not_joined": "checks",
    "check_nothing_lost": "checks",
    "check_prose": "checks",
    "check_round_trip": "checks",
    "check_shape": "checks",
    "damaged": "strategies",
    "pieces": "strategies",
    "prose": "strategies",
    "read": "outcome",
    "schemas": "strategies",
    "target": "targets",
    "tools": "strategies",
    "written": "strategies",
}

__all__ = [
    "INVARIANTS",
    "Case",
    "Defect",
    "Fuzz",
    "GeneratedOutput",
    "InvariantViolation",
    "ParserOutcome",
    "calls",
    "cases",
    "check_arguments_json",
    "check_chunking",
    "check_cut",
    "check_never_raises",
    "check_not_joined",
    "check_nothing_lost",
    "check_prose",
    "check_round_trip",
    "check_shape",
    "damaged",
    "outputs",
    "pieces",
    "prose",
    "read",
    "schemas",
    "target",
    "tools",
    "written",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'toolfmt.testing' has no attribute {name!r}")
    value = getattr(import_module(f"toolfmt.testing.{_HOMES[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
