"""Says at the end of a run how much of the material outside the repository took part."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, settings

# A run that decides whether a change lands must say the same twice; everywhere else every run looks at new texts.
settings.register_profile("default", deadline=None, suppress_health_check=list(HealthCheck))
settings.register_profile("ci", settings.get_profile("default"), derandomize=True)
settings.load_profile("ci" if os.environ.get("CI") else "default")

SHARED = Path(__file__).parents[2] / "shared"
_OUTSIDE = (
    "test_shared_cases.py::test_outputs", "test_shared_cases.py::test_typed", "test_inference_cases.py::",
    "test_server_cases.py::test_server",
)  # fmt: skip


def pytest_terminal_summary(terminalreporter: Any) -> None:
    if not SHARED.is_dir():
        terminalreporter.write_line("no folder `shared` beside the checkout: its cases and templates did not run")
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
