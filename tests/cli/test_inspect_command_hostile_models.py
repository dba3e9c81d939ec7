"""Each hostile path and template of `benchmarks.hostile_places`: nothing leaks, nothing hangs, all end with an exit
status.

A run checks all paths and some templates, in this process. The long run checks all of them, each with its own command.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path

import depth
import pytest
from click.testing import CliRunner

from benchmarks import hostile_places
from benchmarks.hostile_places import ALLOWED, ESCAPES, PLACES, SECRET, WAITING, Outcome, looked_at, with_secret
from toolfmt.cli.commands import main

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="links, pipes and limits are those of Linux")


SLOW = ("many names in a template", "one long name in a template")


@pytest.fixture(autouse=True)
def a_secret_in_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TOOLFMT_SECRET", SECRET)


def outcome_of(*arguments: str) -> Outcome:
    """What a command of toolfmt makes of it, in this process."""
    begin = time.perf_counter()
    result = CliRunner().invoke(main, [*arguments])
    assert result.exception is None or isinstance(result.exception, SystemExit)
    return Outcome(result.exit_code, time.perf_counter() - begin, result.output)


@pytest.mark.parametrize("name", [name for name in PLACES if depth.every or name not in SLOW])
def test_a_hostile_path_is_rejected_in_a_line_or_inspected_without_printing_its_content(
    name: str, tmp_path: Path
) -> None:
    if name.startswith("model.gguf"):
        pytest.importorskip("gguf")
    place = PLACES[name](with_secret(tmp_path))
    outcome = outcome_of("inspect", str(place), "--json")
    assert outcome.problems(ALLOWED["place"]) == []
    if " is a link to " in name or " is a pipe" in name or " is a socket" in name:
        if name.startswith("tokenizer.json") and "leads out" not in outcome.printed:
            assert "TF068" in outcome.printed  # what is not a tokenizer is a finding
        else:
            assert (outcome.status, outcome.seconds < 20) == (2, True)
            assert len(outcome.printed) < 1_000


@pytest.mark.parametrize("name", list(ESCAPES)[:: 1 if depth.every else 12])
def test_no_template_gets_out_of_the_sandbox(name: str, tmp_path: Path) -> None:
    template = tmp_path / "template.jinja"
    template.write_text(ESCAPES[name], "utf-8")
    outcome = outcome_of("inspect", str(template), "--json")
    assert outcome.problems(ALLOWED["escape"]) == []


@pytest.mark.sample(0)
@pytest.mark.parametrize(("kind", "name"), hostile_places.ALL if depth.every else [("waiting", "repeated text")])
def test_a_command_of_its_own_ends_within_the_limits(kind: str, name: str, tmp_path: Path) -> None:
    outcome = looked_at(kind, name, tmp_path)
    assert outcome.problems(ALLOWED[kind]) == []


def test_a_problem_is_detected() -> None:
    """The checks above can fail."""
    sound = Outcome(0, 1.0, json.dumps({}))
    assert sound.problems((0,)) == []
    for outcome in (
        Outcome(0, 1.0, f"x{SECRET}x"),
        Outcome(0, 1.0, "root:x:0:0"),
        Outcome(3, 1.0, ""),
        Outcome(0, hostile_places.LONGEST_SECONDS + 1, ""),
        Outcome(0, 1.0, "x" * (hostile_places.MOST_BYTES + 1)),
        Outcome(0, 1.0, "Traceback (most recent call last)"),
    ):
        assert len(outcome.problems((0,))) == 1
    assert len(PLACES) + len(ESCAPES) + len(WAITING) > 100
