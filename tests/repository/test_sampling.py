"""The usual run and the rest are together the thorough run, and the usual one leaves no test and no format out."""

from __future__ import annotations

import ast
import os
import re
import subprocess
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

import how_much
import pytest
from sampling import FEW, chosen, function_of, left_out, most_of, taken_by

from toolfmt.formats import FORMATS
from toolfmt.testing.corpus import TOPICS

CORPUS = "tests/formats/test_corpus.py::test_case"
ROOT = Path(__file__).parents[2]
PATHS = os.pathsep.join(map(str, (ROOT, ROOT / "tests", ROOT / "tests" / "support")))
CASES = {f"{kind}: {number}": [kind, f"{kind}: {number}"] for kind in "abcdefgh" for number in range(30)}


def without_timeout(file: Path) -> Iterator[str]:
    """Where a test starts a process, or waits for one, without a limit: a hang would block the whole run."""
    for call in ast.walk(ast.parse(file.read_text("utf-8"))):
        if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Attribute):
            continue
        name, limited = call.func.attr, any(word.arg == "timeout" for word in call.keywords)
        of_subprocess = isinstance(call.func.value, ast.Name) and call.func.value.id == "subprocess"
        starts = of_subprocess and name in ("run", "call", "check_call", "check_output")
        if ((starts or name == "communicate") and not limited) or (name == "wait" and not (call.args or limited)):
            yield f"{file.name}:{call.lineno}"


def test_no_test_waits_for_a_process_without_a_limit(tmp_path: Path) -> None:
    assert [line for file in ROOT.glob("tests/**/*.py") for line in without_timeout(file)] == []
    bad = tmp_path / "bad.py"
    bad.write_text("subprocess.run(x)\np.communicate()\np.wait()\np.wait(3)\nsubprocess.run(x, timeout=3)\n", "utf-8")
    assert list(without_timeout(bad)) == ["bad.py:1", "bad.py:2", "bad.py:3"]


@pytest.fixture
def collected(request: pytest.FixtureRequest) -> list[pytest.Item]:
    """All that this run has collected, with what it leaves out."""
    plugin = request.config.pluginmanager.get_plugin(how_much.NAME)
    assert isinstance(plugin, how_much.HowMuch)
    return plugin.collected


def names(items: Iterable[pytest.Item]) -> set[str]:
    return {item.nodeid for item in items}


def formats_in(items: Iterable[pytest.Item]) -> set[str]:
    """The formats that stand in the names of cases."""
    words = {word for item in items for word in re.split(r"[^a-z0-9_]+", item.nodeid.partition("[")[2])}
    return words & {format.name for format in FORMATS}


def test_what_the_usual_run_leaves_out_is_what_the_rest_takes(collected: list[pytest.Item]) -> None:
    usual, rest, thorough = (taken_by(kind, collected) for kind in ("usual", "rest", "thorough"))
    assert names(usual) | names(rest) == names(thorough)
    left = names(rest)
    again = [item for item in usual if item.nodeid in left]
    assert again == [item for item in usual if item.get_closest_marker("deeper")]
    assert names(taken_by("exhaustive", collected)) == names(collected) >= names(thorough)


def test_every_test_and_every_format_is_in_the_usual_run(collected: list[pytest.Item]) -> None:
    usual = taken_by("usual", collected)
    assert sorted(set(map(function_of, collected)) - set(map(function_of, usual))) == []
    assert formats_in(collected) - formats_in(usual) == set()
    kinds = {
        item.nodeid.partition("[")[2].partition(":")[0] for item in usual if "test_corpus.py::test_case" in item.nodeid
    }
    if any("test_corpus.py::test_case" in item.nodeid for item in collected):
        assert {f"{format.name}/{topic}" for format in FORMATS for topic in TOPICS} <= kinds


def test_a_run_leaves_out_what_it_does_not_take(collected: list[pytest.Item]) -> None:
    usual = taken_by("usual", collected)
    out = left_out(collected, usual)
    assert names(out) == names(collected) - names(usual)
    assert len(out) + len(usual) == len(collected)


def test_a_sample_shows_each_kind_first_and_does_not_change_with_the_order() -> None:
    taken = chosen(CASES, 12)
    assert len(taken) == 12
    assert {name[0] for name in taken[:8]} == set("abcdefgh")
    assert chosen(dict(reversed(CASES.items())), 12) == taken
    assert set(chosen(CASES, 30)) > set(taken)
    fewer = {name: shown for name, shown in CASES.items() if name[0] != "c"}
    assert set(taken[:8]) - {name for name in taken if name[0] == "c"} == set(chosen(fewer, 7))


def test_few_cases_are_all_taken() -> None:
    assert [most_of(number) for number in (1, FEW, FEW + 15, FEW + 16, 6838)] == [1, FEW, FEW, FEW + 1, 431]


A_TEST = """
import depth, pytest

@pytest.mark.parametrize("number", range(24))
def test_many(number):
    assert number < 24

@pytest.mark.sample(2)
@pytest.mark.parametrize("number", range(24))
def test_dear(number):
    assert number < 24

@pytest.mark.whole
@pytest.mark.parametrize("number", range(24))
def test_whole(number):
    assert number < 24

@pytest.mark.every(2)
@pytest.mark.parametrize("number", range(24))
def test_every(number):
    assert number < 24

@pytest.mark.deeper
def test_deeper():
    assert isinstance(depth.thorough, bool)
"""


@pytest.mark.sample(2)
@pytest.mark.parametrize(
    ("options", "passed", "told"),
    [
        (["."], 5 + 2 + 24 + 4 + 1, "usual run: 36 of 97 cases; --rest runs the others"),
        ([".", "-n", "1"], 5 + 2 + 24 + 4 + 1, "usual run: 36 of 97 cases; --rest runs the others"),
        ([".", "--rest"], 19 + 22 + 8 + 1, "rest run: 50 of 97 cases that the usual run leaves out"),
        ([".", "--thorough"], 24 + 24 + 24 + 12 + 1, "thorough run: 85 of 97 cases; --exhaustive"),
        ([".", "--exhaustive", "--thorough"], 97, "exhaustive run: 97 of 97 cases"),
        (["test_here.py"], 85, "thorough run: 85 of 97 cases"),
        (["test_here.py::test_many"], 24, "thorough run: 24 of 24 cases"),
        (["-k", "test_many"], 24, "thorough run: 24 of 24 cases"),
    ],
)
def test_a_run_says_how_much_it_takes(tmp_path: Path, options: list[str], passed: int, told: str) -> None:
    (tmp_path / "test_here.py").write_text(A_TEST, encoding="utf-8")
    command = [sys.executable, "-m", "pytest", "-q", "-p", "conftest", "-p", "no:cacheprovider", *options]
    environment = {
        **os.environ,
        "PYTHONPATH": PATHS,
    }
    done = subprocess.run(
        command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False, timeout=1200
    )
    assert done.stdout.count(told) == 2, done.stdout  # before the first test, and at the end
    assert re.findall(r"(\d+) (passed|deselected)", done.stdout.splitlines()[-1]) == [
        (str(number), what)
        for number, what in ((passed, "passed"), (0 if "::" in options[0] else 97 - passed, "deselected"))
        if number
    ]


def test_a_file_that_is_not_there_is_what_is_said(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "pytest", "-q", "-p", "conftest", "-p", "no:cacheprovider", "test_nowhere.py"]
    environment = {
        **os.environ,
        "PYTHONPATH": PATHS,
    }
    done = subprocess.run(
        command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False, timeout=1200
    )
    assert "file or directory not found: test_nowhere.py" in done.stderr
    assert "INTERNALERROR" not in done.stdout + done.stderr
