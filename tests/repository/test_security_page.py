"""SECURITY.md describes what the code does: its numbers are constants, its tests exist, its tables are correct here."""

from __future__ import annotations

import ast
import re
import sys
from pathlib import Path

import pytest

from toolfmt._util.json_values import DEEPEST
from toolfmt.inspect.probe.tokenizer_file import LARGEST as LARGEST_TOKENIZER
from toolfmt.model.sandbox import confinement
from toolfmt.model.sandbox.pool import Limits
from toolfmt.templates.engine.chat_template import LARGEST_TREE, LONGEST_SOURCE
from toolfmt.templates.engine.environment import LONGEST_OUTPUT
from toolfmt.templates.files.read_text import LONGEST_JSON, LONGEST_TEMPLATE, MOST_VALUES

ROOT = Path(__file__).parents[2]
PAGE = " ".join((ROOT / "SECURITY.md").read_text("utf-8").split())
NAMED = sorted(set(re.findall(r"`(tests/[\w/]+\.py)(?:::(\w+))?`", PAGE)))


@pytest.mark.parametrize(("file", "test"), NAMED)
def test_a_test_that_is_named_is_there(file: str, test: str) -> None:
    tree = ast.parse((ROOT / file).read_text("utf-8"))
    there = {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}
    assert not test or test in there


def test_figures_are_those_of_the_code() -> None:
    limits = Limits()
    expected = [
        f"idle time limit (`toolfmt inspect --time-limit`): {limits.time_limit:g} seconds without CPU time | yes | "
        f"{limits.time_limit:g} seconds in total | {limits.time_limit:g} seconds in total |",
        f"CPU time of a job: {limits.processor_seconds} seconds",
        f"length of its response: {limits.answer >> 20} MiB",
        f"memory: {limits.memory >> 30} GiB beyond",
        f"longer than {LONGEST_SOURCE:,} characters or of more than {LARGEST_TREE:,} nodes",
        f"writes more than {LONGEST_OUTPUT:,} characters",
        f"at most {LONGEST_JSON:,} bytes and {MOST_VALUES:,} values, a template's file {LONGEST_TEMPLATE:,} bytes",
        f"a tokenizer.json {LARGEST_TOKENIZER:,};",
        f"nested deeper than {DEEPEST} levels",
    ]
    assert [one for one in expected if one not in PAGE] == []


def test_where_the_system_limits_nothing_nothing_is_limited_and_nothing_raises(monkeypatch: pytest.MonkeyPatch) -> None:
    """Windows has no `resource`, macOS no `/proc` and no namespaces; the table lists what remains."""
    monkeypatch.setitem(sys.modules, "resource", None)
    confinement.limit_memory(1)
    confinement.limit_processor(1)
    confinement.open_no_more()
    monkeypatch.setattr(sys, "platform", "darwin")
    assert not confinement.leave_network()
    with open(__file__, encoding="utf-8") as file:
        assert file.readline()


def test_the_page_contains_no_address() -> None:
    assert re.findall(r"https?://|[\w.]+@[\w.]+", PAGE) == []
