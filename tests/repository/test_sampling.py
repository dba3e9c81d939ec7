"""The default run takes a sample of each test that leaves no format out; `--all` takes every case."""

from __future__ import annotations

import ast
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest
from sampling import END_TO_END, aspects, chosen, most_of

from toolfmt.formats import FORMATS
from toolfmt.testing import corpus
from toolfmt.testing.corpus import TOPICS

ROOT = Path(__file__).parents[2]
PATHS = os.pathsep.join(map(str, (ROOT, ROOT / "tests", ROOT / "tests" / "support")))
CASES = {f"{kind}: {number}": [kind, f"{kind}: {number}"] for kind in "abcdefgh" for number in range(30)}


def without_timeout(file: Path) -> Iterator[str]:
    """If a test starts a process, or waits for one, without a limit: a hang would block the whole run."""
    text = file.read_text("utf-8")
    is_free = not re.search(r"subprocess\.|\.communicate\(|\.wait\(", text)
    for call in () if is_free else ast.walk(ast.parse(text)):
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


def test_every_format_and_topic_is_in_a_run_of_everything(request: pytest.FixtureRequest) -> None:
    cases = {
        item.nodeid.partition("[")[2].partition(":")[0]
        for item in request.session.items
        if "test_corpus.py::test_case" in item.nodeid
    }
    if cases:  # not a run of this file alone
        assert {f"{format.name}/{topic}" for format in FORMATS for topic in TOPICS} <= cases


def test_files_that_only_all_collects_exist() -> None:
    assert sorted(name for name in END_TO_END if not (ROOT / "tests" / name).is_file()) == []


def test_a_sample_shows_each_kind_first_and_does_not_change_with_the_order() -> None:
    taken = chosen(CASES, 12)
    assert len(taken) == 12
    assert {name[0] for name in taken[:8]} == set("abcdefgh")
    assert chosen(dict(reversed(CASES.items())), 12) == taken
    assert set(chosen(CASES, 30)) > set(taken)
    fewer = {name: shown for name, shown in CASES.items() if name[0] != "c"}
    assert set(taken[:8]) - {name for name in taken if name[0] == "c"} == set(chosen(fewer, 7))


def test_a_case_of_the_corpus_shows_the_tolerances_of_its_engine() -> None:
    case = next(case for case in corpus.cases("lfm2") if case.title == "a positional argument, then a named one")
    shown = aspects(SimpleNamespace(id=case.id, indices={"case": 0}, params={"case": case}))
    assert shown == ["lfm2/malformed", ("case", 0), ("CallExpression", "positional_arguments")]


def test_few_cases_are_all_taken() -> None:
    assert [most_of(number, 2) for number in (1, 2, 25, 26, 6838)] == [1, 2, 2, 3, 286]
    assert [most_of(number, 1) for number in (1, 2, 24, 25)] == [1, 1, 1, 2]


A_TEST = """
import depth, pytest

@pytest.mark.parametrize("number", range(26))
def test_many(number):
    assert number < 26

@pytest.mark.sample(2)
@pytest.mark.parametrize("number", [*range(25), pytest.param(25, marks=pytest.mark.sample(1))])
def test_sampled(number):
    assert number < 26

@pytest.mark.sample(0)
def test_slow():
    assert depth.all_cases
"""


@pytest.mark.sample(0)
@pytest.mark.parametrize(
    ("options", "passed"),
    [
        (["."], 3 + 3),
        ([".", "-n", "1"], 3 + 3),
        ([".", "--all"], 26 + 26 + 1),
        ([".", "-n", "1", "--all"], 26 + 26 + 1),
        (["test_here.py"], 26 + 26 + 1),
        (["test_here.py::test_many"], 26),
        (["-k", "test_many"], 26),
    ],
)
def test_a_run_takes_a_sample_or_everything(tmp_path: Path, options: list[str], passed: int) -> None:
    (tmp_path / "test_here.py").write_text(A_TEST, encoding="utf-8")
    command = [sys.executable, "-m", "pytest", "-q", "-p", "conftest", "-p", "no:cacheprovider", *options]
    usual = {name: value for name, value in os.environ.items() if not name.startswith("TOOLFMT_TEST_")}
    environment = {**usual, "PYTHONPATH": PATHS}
    done = subprocess.run(
        command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False, timeout=1200
    )
    assert re.findall(r"(\d+) passed", done.stdout.splitlines()[-1]) == [str(passed)]
    assert ("--all runs every case" in done.stdout) == (passed == 6)
