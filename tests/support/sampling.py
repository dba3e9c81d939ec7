"""Which cases of a test the usual run takes: all of a few, and of many a sample that stays the same.

A test whose cases are many has one case in `ONE_IN` of what is beyond `FEW`. Which these are is drawn by a hash of the
case's own name, so that it depends on no other case, no order and no machine; first come those that show something
which none before them shows: a kind of case (what stands before the first colon of its name, as format and topic of a
case of the corpus), a value of one of several parameters, the engine of a format. What the usual run leaves out is
taken by the thorough one.
"""

from __future__ import annotations

import hashlib
from collections import Counter, defaultdict
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from functools import cache

import pytest  # noqa: TC002 - a test's type, as in every file here

from toolfmt.formats import FORMATS, ToolCallFormat

FEW, ONE_IN = 4, 16
"""A test with no more cases than `FEW` is taken whole; of the others these many, and one in so many of the rest."""


def taken_by(kind: str, items: Sequence[pytest.Item]) -> list[pytest.Item]:
    """What a run of this depth takes of what was collected. Usual and rest are together the thorough one."""
    if kind == "exhaustive":
        return list(items)
    thorough = list(_thinned(items))
    if kind == "thorough":
        return thorough
    usual = list(_sampled(thorough))
    if kind == "usual":
        return usual
    return [*left_out(thorough, usual), *(item for item in usual if item.get_closest_marker("deeper"))]


def left_out(items: Sequence[pytest.Item], taken: Sequence[pytest.Item]) -> list[pytest.Item]:
    names = {item.nodeid for item in taken}
    return [item for item in items if item.nodeid not in names]


def function_of(item: pytest.Item) -> str:
    """The name of the test function, without the case."""
    return item.nodeid.partition("[")[0]


def _thinned(items: Sequence[pytest.Item]) -> Iterator[pytest.Item]:
    """What is not too dear for the thorough run: of a test marked `every(n)` each n-th case."""
    for cases in _by_test(items):
        marker = cases[0].get_closest_marker("every")
        yield from cases[:: marker.args[0] if marker else 1]


def _sampled(items: Sequence[pytest.Item]) -> Iterator[pytest.Item]:
    for cases in _by_test(items):
        if cases[0].get_closest_marker("whole"):
            yield from cases
        else:
            marker = cases[0].get_closest_marker("sample")
            most = marker.args[0] if marker else most_of(len(cases))
            names = set(chosen({case.nodeid: aspects(case) for case in cases}, most))
            yield from (case for case in cases if case.nodeid in names)


def _by_test(items: Sequence[pytest.Item]) -> Iterable[list[pytest.Item]]:
    """The cases of each test, in order."""
    tests: defaultdict[str, list[pytest.Item]] = defaultdict(list)
    for item in items:
        tests[function_of(item)].append(item)
    return tests.values()


def most_of(cases: int) -> int:
    """How many of so many cases the usual run takes."""
    return cases if cases <= FEW else FEW + (cases - FEW) // ONE_IN


def chosen(cases: Mapping[str, Sequence[Hashable]], most: int) -> list[str]:
    """So many of the names; first those with an aspect that none before them has and several cases share."""
    shared = Counter(aspect for shown in cases.values() for aspect in shown)
    taken, others, seen = list[str](), list[str](), set[Hashable]()
    for name in sorted(cases, key=_lot):
        new = {aspect for aspect in cases[name] if shared[aspect] > 1} - seen
        seen |= new
        (taken if new else others).append(name)
    return [*taken, *others][:most]


def aspects(case: pytest.Item) -> list[Hashable]:
    """What a case shows: its kind, the values of its parameters, the engines of the formats among them."""
    spec = getattr(case, "callspec", None)
    if spec is None:
        return []
    kind = case.nodeid.partition("[")[2].partition(":")[0]
    return [kind, *spec.indices.items(), *filter(None, map(_engine, spec.params.values()))]


def _engine(value: object) -> str | None:
    """The name of the engine of a format, or of what is named as one."""
    if isinstance(value, ToolCallFormat):
        return type(value.engine).__name__
    return _engines().get(value) if isinstance(value, str) else None


@cache
def _engines() -> dict[str, str]:
    return {format.name: type(format.engine).__name__ for format in FORMATS}


def _lot(name: str) -> bytes:
    return hashlib.blake2b(name.encode("utf-8", "surrogatepass"), digest_size=8).digest()
