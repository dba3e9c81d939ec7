"""How much a run covers; at its end, how much of the material outside the repository took part."""

from __future__ import annotations

import compileall
import gc
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import depth
import lent_workers
import pytest
import sampling
from hypothesis import HealthCheck, settings

import toolfmt

# A run that decides whether a change is merged must be reproducible; elsewhere every run uses new texts.
settings.register_profile(
    "toolfmt",
    deadline=None,
    suppress_health_check=list(HealthCheck),
    max_examples=depth.EXAMPLES,
    derandomize=bool(os.environ.get("CI")) and not depth.every,
)
settings.load_profile("toolfmt")

MARKERS = (
    "outside: needs the folder of templates and cases that the founders keep",
    "sample(n): the default run takes n cases; none of a test that takes seconds; on a case, 1 always takes it",
)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--all", action="store_true", help="every case of every test, instead of a sample")


def pytest_configure(config: pytest.Config) -> None:
    for marker in MARKERS:
        config.addinivalue_line("markers", marker)
    depth.all_cases = depth.every or config.getoption("--all") or _is_named(config)
    gc.disable()  # nothing that is being collected is garbage
    if not hasattr(config, "workerinput"):  # or each of the test processes may compile it
        compileall.compile_dir(Path(toolfmt.__file__).parent, quiet=2)


def _is_named(config: pytest.Config) -> bool:
    """Return whether the tests of this run were selected: naming a file or searching for a word selects all cases."""
    options = config.option
    return bool(options.keyword or options.markexpr) or not all(Path(argument).is_dir() for argument in config.args)


def pytest_ignore_collect(collection_path: Path) -> bool | None:
    """Files that are named are collected: then `depth.all_cases` is true."""
    is_end_to_end = "/".join(collection_path.parts[-2:]) in sampling.END_TO_END
    return True if is_end_to_end and not depth.all_cases else None


@pytest.hookimpl(wrapper=True)
def pytest_generate_tests(metafunc: pytest.Metafunc) -> Iterator[None]:
    """Keep only the cases that the run takes, before pytest makes a test of each (which takes most of its time)."""
    yield
    if not depth.all_cases:
        metafunc._calls = sampling.sample(metafunc.definition, metafunc._calls)


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out what needs material outside the repository, if that is missing, and what is sampled with 0 cases."""
    taken = [item for item in items if _is_taken(item)]
    config.hook.pytest_deselected(items=[item for item in items if not _is_taken(item)])
    items[:] = taken


def _is_taken(item: pytest.Item) -> bool:
    marker = item.get_closest_marker("sample")
    is_sampled_out = not depth.all_cases and marker is not None and marker.args[0] == 0
    return not is_sampled_out and (SHARED.is_dir() or item.get_closest_marker("outside") is None)


def pytest_collection_finish() -> None:
    """Collected items live until the end: the garbage collector need not check them again, nor as often."""
    gc.collect()
    gc.freeze()
    gc.enable()
    gc.set_threshold(20_000, 20, 20)


@pytest.fixture(autouse=True, scope="session")
def _reused_workers() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("toolfmt.model.batch.new_worker", lent_workers.ReusedWorker)
        yield
    lent_workers.close()


SHARED = Path(__file__).parents[2] / "shared"
_OUTSIDE = (
    "test_shared_cases.py::test_outputs", "test_shared_cases.py::test_typed", "test_inference_cases.py::",
    "test_server_cases.py::test_server",
)  # fmt: skip


def pytest_terminal_summary(terminalreporter: Any) -> None:
    if not depth.all_cases:
        terminalreporter.write_line("This was a sample of each test; --all runs every case.")
    if not SHARED.is_dir():
        return
    passed = [report.nodeid for report in terminalreporter.stats.get("passed", [])]
    for name in _OUTSIDE:
        count = sum(name in nodeid for nodeid in passed)
        terminalreporter.write_line(f"shared cases, {name.split('::')[-1] or 'test_inference'}: {count} passed")
    for report in terminalreporter.stats.get("passed", []):
        for name, value in report.user_properties:
            if name == "share":
                terminalreporter.write_line(f"shared cases: {value}")
    templates = sum(1 for nodeid in passed if "shared" in nodeid and ".jinja" in nodeid)
    terminalreporter.write_line(f"shared templates: {templates} tests passed")
