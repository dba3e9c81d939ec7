"""Which cases of a test the default run takes: all of a few, and of many a stable sample.

A test with many cases has one case in `ONE_IN` of those beyond the first few. A hash of the case's own name decides, so
that the choice depends on no other case, no order and no machine. Cases that show something new come first: a kind of
case (the part before the first colon of its name, such as format and topic of a case of the corpus), a value of one of
several parameters, the engine of a format, a tolerance of an engine. A case that is marked with `sample(1)` is always
taken.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import pytest  # noqa: TC002 - a test's type, as in every file here

from toolfmt.formats import FORMATS, ToolCallFormat
from toolfmt.testing.corpus import Case

TESTS = Path(__file__).parents[1]
FEW, ONE_IN = 2, 24
"""A test with no more cases than `FEW` is taken whole; of the others these many, and one in so many of the rest."""
FEW_OF_MODELS = 1
"""The same for the tests of these packages, whose cases inspect a model each or render its prompts."""
_OF_MODELS = frozenset({"cli", "inspect", "model", "render", "testing", "training"})

END_TO_END = {
    "agent/test_loop_tiny_model.py",  # a model that generates
    "cli/test_completion.py",  # shells
    "cli/test_doctor_runtimes.py",  # servers
    "cli/test_measure_command.py",  # servers, and models that generate
    "cli/test_scaffolding.py",  # copies of the repository whose tests run
    "integrations/test_mlx.py",  # a server, and models that generate
    "integrations/test_mlx_trained_model.py",
    "integrations/test_transformers_in_trl.py",  # torch
    "repository/test_action.py",
    "repository/test_benchmarks_page.py",
    "repository/test_example_server.py",  # the server of the examples, called by the clients of four APIs
    "repository/test_other_systems.py",  # processes in which the platform is another one
    "repository/test_packaging.py",
    "repository/test_playground.py",  # a browser
    "repository/test_pre_commit.py",
    "repository/test_site.py",  # a browser
    "training/test_tokens_in_processes.py",
    "training/test_tokens_in_trl.py",  # torch
}
"""Files that the default run does not even import: each of their tests starts programs."""


def sample(function: pytest.Function, cases: Sequence[Any]) -> list[Any]:
    """Return the cases (pytest's `CallSpec2`) that the default run takes, in order."""
    cases = [case for case in cases if not _is_marked(case, 0)]
    marker = function.get_closest_marker("sample")
    few = FEW_OF_MODELS if package_of(function.path) in _OF_MODELS else FEW
    most = marker.args[0] if marker else most_of(len(cases), few)
    if len(cases) <= most:
        return cases
    names = set(chosen({f"{function.nodeid}[{case.id}]": aspects(case) for case in cases}, most))
    return [case for case in cases if f"{function.nodeid}[{case.id}]" in names or _is_marked(case, 1)]


def _is_marked(case: Any, number: int) -> bool:
    return any(mark.name == "sample" and mark.args == (number,) for mark in case.marks)


def package_of(file: Path) -> str:
    """Return the package that a file tests: the name of its directory in `tests/`."""
    return file.relative_to(TESTS).parts[0] if file.is_relative_to(TESTS) else ""


def most_of(cases: int, few: int) -> int:
    """Return how many of so many cases the default run takes."""
    return cases if cases <= few else few + (cases - few) // ONE_IN


def chosen(cases: Mapping[str, Sequence[Hashable]], most: int) -> list[str]:
    """Return so many of the names; first those with a new aspect that several cases share."""
    shared = Counter(aspect for shown in cases.values() for aspect in shown)
    taken, others, seen = list[str](), list[str](), set[Hashable]()
    for name in sorted(cases, key=_hash):
        new = {aspect for aspect in cases[name] if shared[aspect] > 1} - seen
        seen |= new
        (taken if new else others).append(name)
    return [*taken, *others][:most]


def aspects(case: Any) -> list[Hashable]:
    """Return what a case shows: its kind, the values of its parameters, the engines and tolerances among them."""
    values = case.params.values()
    tolerances = (tolerance for value in values if isinstance(value, Case) for tolerance in _tolerances(value))
    return [case.id.partition(":")[0], *case.indices.items(), *filter(None, map(_engine, values)), *tolerances]


def _tolerances(case: Case) -> list[Hashable]:
    """Return the tolerances of the calls of a case of the corpus, each with the engine of its format."""
    return [(_engines().get(case.format), tolerance) for call in case.calls for tolerance in call.tolerated or ()]


def _engine(value: object) -> str | None:
    """Return the name of the engine of a format, or of what is named as one."""
    if isinstance(value, ToolCallFormat):
        return type(value.engine).__name__
    return _engines().get(value) if isinstance(value, str) else None


@cache
def _engines() -> dict[str, str]:
    return {format.name: type(format.engine).__name__ for format in FORMATS}


def _hash(name: str) -> bytes:
    return hashlib.blake2b(name.encode("utf-8", "surrogatepass"), digest_size=8).digest()
