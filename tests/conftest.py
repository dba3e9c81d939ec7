"""How deep a run looks (`--exhaustive`), and at its end how much of the material outside the repository took part."""

from __future__ import annotations

import gc
import os
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import depth
from hypothesis import HealthCheck, settings

if TYPE_CHECKING:
    import pytest

# A run that decides whether a change lands must say the same twice; everywhere else every run looks at new texts.
usual = settings(deadline=None, suppress_health_check=list(HealthCheck), max_examples=depth.EXAMPLES)
settings.register_profile("usual", usual)
settings.register_profile("ci", usual, derandomize=True)
settings.register_profile("exhaustive", usual, max_examples=depth.MANY_EXAMPLES)


def pytest_addoption(parser: pytest.Parser) -> None:
    text = "every cut of every case, every template, a thousand fresh examples a law"
    parser.addoption("--exhaustive", action="store_true", help=text)


def pytest_collection_finish() -> None:
    """What has been collected stays to the end: the garbage collector need not look at it again, nor so often."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(20_000, 20, 20)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """What needs the material outside the repository is no part of a run without it, and of the cases of a test that
    are dear and alike the usual run takes some (`every`)."""
    if not SHARED.is_dir():
        items[:] = [item for item in items if item.get_closest_marker("outside") is None]
    if not depth.exhaustive:
        seen: Counter[str] = Counter()
        items[:] = [item for item in items if _is_taken(item, seen)]


def _is_taken(item: pytest.Item, seen: Counter[str]) -> bool:
    marker = item.get_closest_marker("every")
    if marker is None:
        return True
    test = item.nodeid.partition("[")[0]
    seen[test] += 1
    nth: int = marker.args[0]
    return (seen[test] - 1) % nth == 0


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "outside: needs the folder of templates and cases that the founders keep")
    config.addinivalue_line("markers", "every(n): the usual run takes every n-th case, the exhaustive one all")
    depth.exhaustive = config.getoption("--exhaustive")
    settings.load_profile("exhaustive" if depth.exhaustive else "ci" if os.environ.get("CI") else "usual")


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
