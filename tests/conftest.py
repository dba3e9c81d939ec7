"""How deep a run looks (`DEPTHS`), and at its end how much of the material outside the repository took part."""

from __future__ import annotations

import gc
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import depth
import lent_workers
import pytest
from how_much import HowMuch
from hypothesis import HealthCheck, settings

# A run that decides whether a change lands must say the same twice; everywhere else every run looks at new texts.
usual = settings(deadline=None, suppress_health_check=list(HealthCheck), max_examples=depth.EXAMPLES)
settings.register_profile("usual", usual)
settings.register_profile("ci", usual, derandomize=True)
settings.register_profile("exhaustive", usual, max_examples=depth.MANY_EXAMPLES)


HOW_MUCH = pytest.StashKey[HowMuch]()
DEPTHS = {
    "--thorough": "all cases of all tests: what CI runs before a change lands",
    "--rest": "what the usual run leaves out of the thorough one",
    "--exhaustive": "every cut of every case, every template, a thousand fresh examples a law",
}
MARKERS = (
    "outside: needs the folder of templates and cases that the founders keep",
    "every(n): the thorough run takes every n-th case, the exhaustive one all",
    "sample(n): the usual run takes n cases",
    "whole: the usual run takes all cases",
    "deeper: looks at `depth.thorough` itself, so that what is left out is run by running it again",
)


def pytest_addoption(parser: pytest.Parser) -> None:
    for name, text in DEPTHS.items():
        parser.addoption(name, action="store_true", help=text)


def pytest_collection_finish() -> None:
    """What has been collected stays to the end: the garbage collector need not look at it again, nor so often."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(20_000, 20, 20)


@pytest.hookimpl(trylast=True)  # what `-k` leaves out is not counted
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """What needs the material outside the repository is no part of a run without it; of the rest a run takes what its
    depth says."""
    if not SHARED.is_dir():
        items[:] = [item for item in items if item.get_closest_marker("outside") is None]
    how_much = config.stash[HOW_MUCH]
    items[:] = how_much.take(items)
    if how_much.left_out:
        config.hook.pytest_deselected(items=how_much.left_out)


def pytest_configure(config: pytest.Config) -> None:
    for marker in MARKERS:
        config.addinivalue_line("markers", marker)
    asked = [name[2:] for name in DEPTHS if config.getoption(name)]
    kind = asked[-1] if asked else "thorough" if _is_named(config) else "usual"
    depth.exhaustive = kind == "exhaustive"
    depth.thorough = kind != "usual"
    settings.load_profile("exhaustive" if depth.exhaustive else "ci" if os.environ.get("CI") else "usual")
    config.stash[HOW_MUCH] = HowMuch(config, kind)


def _is_named(config: pytest.Config) -> bool:
    """Whether the tests of this run were picked: whoever names a file or looks for a word gets all cases."""
    given = config.option
    return bool(given.keyword or given.markexpr) or not all(Path(argument).is_dir() for argument in config.args)


@pytest.fixture(autouse=True, scope="session")
def _lent_workers() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("toolfmt.model.batch.new_worker", lent_workers.Lent)
        yield
    lent_workers.close()


SHARED = Path(__file__).parents[2] / "shared"
_OUTSIDE = (
    "test_shared_cases.py::test_outputs", "test_shared_cases.py::test_typed", "test_inference_cases.py::",
    "test_server_cases.py::test_server",
)  # fmt: skip


def pytest_terminal_summary(terminalreporter: Any) -> None:
    if not SHARED.is_dir():
        return
    passed = [report.nodeid for report in terminalreporter.stats.get("passed", [])]
    for name in _OUTSIDE:
        count = sum(name in nodeid for nodeid in passed)
        terminalreporter.write_line(f"shared cases, {name.split('::')[-1] or 'test_inference'}: {count} passed")
    for report in terminalreporter.stats.get("passed", []):
        for name, said in report.user_properties:
            if name == "share":
                terminalreporter.write_line(f"shared cases: {said}")
    templates = sum(1 for nodeid in passed if "shared" in nodeid and ".jinja" in nodeid)
    terminalreporter.write_line(f"shared templates: {templates} tests passed")
