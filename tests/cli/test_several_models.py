"""Thousands of models: JSON lines as they finish, a run that resumes an interrupted one, bounded memory."""

from __future__ import annotations

import gc
import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
import weakref
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from invented_reports import CLEAN, REPORTS, report
from model_cases import MODELS

from toolfmt.cli.commands import main
from toolfmt.cli.output import json_line
from toolfmt.cli.output_targets import FORMATS
from toolfmt.cli.printing.models import models_text
from toolfmt.cli.report_lines import ReportLines
from toolfmt.errors import ToolfmtError
from toolfmt.inspect.inspection import inspect_template
from toolfmt.inspect.report.report import Report, SamplePrompt
from toolfmt.model.batch import InspectionOutcome, Inspector
from toolfmt.model.sandbox.pool import Limits

NAMES = [*REPORTS, "gone"]


@pytest.fixture
def looked_at(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The reports of `test_inspect_command` instead of inspections, and the inspected paths."""
    places: list[str] = []

    def inspected(inspector: Inspector, place: str, worker: object) -> Report:
        places.append(place)
        if place.partition("/")[0] not in REPORTS:
            raise ToolfmtError(f"{place}: no such\ndirectory; give one that is there")
        return REPORTS[place.partition("/")[0]]

    monkeypatch.setattr(Inspector, "_report", inspected)
    return places


def run(*arguments: str) -> Result:
    return CliRunner().invoke(main, ["inspect", *arguments], prog_name="toolfmt")


def going_on(file: Path, *places: str) -> Result:
    result = run("--json", "--continue", str(file), *places)
    assert result.stdout == ""
    return result


def outcome(name: str) -> InspectionOutcome:
    return InspectionOutcome(name, REPORTS[name])


# --- lines as they are done


def test_places_are_handed_out_in_their_order_and_few_are_ahead(monkeypatch: pytest.MonkeyPatch) -> None:
    started: list[str] = []
    first_may_go = threading.Event()

    def inspected(inspector: Inspector, place: str, worker: object) -> Report:
        started.append(place)
        if place == "0":
            first_may_go.wait(60)
        return report(place)

    monkeypatch.setattr(Inspector, "_report", inspected)
    places = [str(number) for number in range(100)]
    outcomes = Inspector().looked_at(places, jobs=2)
    received: list[InspectionOutcome] = []
    reading = threading.Thread(target=lambda: received.extend(outcomes))
    reading.start()
    deadline = time.monotonic() + 60
    while len(started) < 8 and time.monotonic() < deadline:
        time.sleep(0.01)
    time.sleep(0.2)
    assert (received, sorted(started, key=int)) == ([], places[:8])
    first_may_go.set()
    reading.join(60)
    assert [one.place for one in received] == places


@pytest.mark.parametrize(("jobs", "places", "workers"), [(3, 10, 3), (20, 2, 2), (1, 5, 1), (40, 50, 40)])
def test_jobs_are_the_number_of_workers(
    jobs: int, places: int, workers: int, monkeypatch: pytest.MonkeyPatch, looked_at: list[str]
) -> None:
    made: list[object] = []

    class Counted:
        def __init__(self, limits: Limits | None) -> None:
            made.append(self)

        def stop(self) -> None:
            pass

    monkeypatch.setattr("toolfmt.model.batch.new_worker", Counted)
    result = run("--jobs", str(jobs), *[f"clean/{number}" for number in range(places)])
    assert (result.exit_code, len(made), len(looked_at)) == (0, workers, places)


def test_a_line_is_printed_as_soon_as_its_place_is_done(monkeypatch: pytest.MonkeyPatch) -> None:
    printed: list[str] = []
    first_is_there = threading.Event()

    def inspected(inspector: Inspector, place: str, worker: object) -> Report:
        assert place == "clean" or first_is_there.wait(60)
        return REPORTS[place]

    def print_text(text: str) -> None:
        printed.append(json.loads(text)["path"])
        first_is_there.set()

    monkeypatch.setattr(Inspector, "_report", inspected)
    monkeypatch.setattr("toolfmt.cli.report_outputs.print_text", print_text)
    begin = time.monotonic()
    run("clean", "noted", "bad", "--json", "--jobs", "1")
    assert (printed, time.monotonic() - begin < 50) == (["clean", "noted", "bad"], True)


def test_a_line_is_one_line_and_harmless_whatever_a_template_contains() -> None:
    hostile = "a\n\u2028\u202e\x1b[2J\x85\ud800b"
    line = json_line({"path": hostile})
    assert (line.splitlines(keepends=True), json.loads(line)) == ([line], {"path": hostile})
    assert {"\u202e", "\x1b", "\u2028"} & set(line) == set()


def test_what_is_kept_of_a_report_is_what_a_table_shows() -> None:
    whole = [outcome(name) for name in REPORTS] + [InspectionOutcome("gone", None, "gone: no such directory")]
    brief = [one.in_brief() for one in whole]
    for width in (None, 60, 100):
        assert models_text(brief, width, False) == models_text(whole, width, False)
    real = inspect_template((MODELS / "double-encoded" / "chat_template.jinja").read_text("utf-8"))
    assert len(repr(InspectionOutcome("real", real))) > 30_000
    assert len(repr(InspectionOutcome("real", real).in_brief())) < 4_000


@pytest.mark.sample(0)
@pytest.mark.parametrize("form", ["text", "json", "sarif"])
def test_the_reports_of_thousands_are_not_held(form: str, monkeypatch: pytest.MonkeyPatch) -> None:
    alive, most, lock = [0], list[int](), threading.Lock()

    def count(number: int) -> None:
        with lock:
            alive[0] += number

    class Watched(Report):
        __hash__ = object.__hash__

        def __init__(self, **parts: Any) -> None:  # also called by `dataclasses.replace`
            super().__init__(**parts)
            if self.prompts:
                count(1)
                weakref.finalize(self, count, -1)

    def inspected(inspector: Inspector, place: str, worker: object) -> Report:
        if len(most) % 100 == 0:
            gc.collect()
        most.append(alive[0])
        parts = {name: getattr(REPORTS["noted"], name) for name in Report.__dataclass_fields__}
        return Watched(**parts | {"prompts": {"a question": SamplePrompt("long")}})

    monkeypatch.setattr(Inspector, "_report", inspected)
    assert run(*[str(number) for number in range(1000)], "--jobs", "2", "--output-format", form).exit_code == 0
    assert (len(most), 0 < max(most) < 100) == (1000, True)


@pytest.mark.usefixtures("looked_at")
def test_an_output_that_fails_does_not_stop_the_others(tmp_path: Path) -> None:
    file = tmp_path / "report.html"
    (tmp_path / "report.html.d" / "fair.html").mkdir(parents=True)
    summary = tmp_path / "summary.md"
    names = ("clean", "fair", "noted")
    outputs = ("--output-format", f"html={file}", "--output-format", f"markdown={summary}")
    result = run(*names, *outputs, "--output-format", "text")
    assert (result.exit_code, result.stderr.count("\n")) == (2, 1)
    assert "fair.html: cannot be written (" in result.stderr
    assert result.stdout == run(*names).stdout
    assert summary.read_text("utf-8") == run(*names, "--output-format", "markdown").stdout
    # Pages that were written are listed.
    assert re.findall(r'href="([^"#]+)"', file.read_text("utf-8")) == ["report.html.d/clean.html"]


def test_nothing_is_inspected_if_an_output_cannot_be_written(tmp_path: Path, looked_at: list[str]) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "mine").write_text("mine")
    cannot = {"folder": "Is a directory", "gone/file": "No such file or directory"}
    for format in FORMATS:
        for name, why in cannot.items():
            result = run("bad", "fair", "--output-format", f"{format}={tmp_path / name}")
            assert (result.exit_code, result.stdout) == (2, "")
            problem = f"{tmp_path / name}: cannot be written ({why})"
            assert result.stderr == f"toolfmt: {problem}; name a writable file in an existing directory\n"
        if format != "markdown":
            result = run("bad", "fair", "--output-format", f"{format}={tmp_path / 'mine'}")
            assert (result.exit_code, result.stdout, result.stderr.count("\n")) == (2, "", 1)
            assert "remove it or name another file" in result.stderr
    assert (looked_at, (tmp_path / "mine").read_text()) == ([], "mine")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["folder", "mine"]


@pytest.mark.usefixtures("looked_at")
def test_an_interrupted_run_lists_its_pages_and_replaces_no_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = {format: tmp_path / f"x.{format}" for format in FORMATS}
    outputs = [word for format, file in files.items() for word in ("--output-format", f"{format}={file}")]
    assert run("clean", "noted", *outputs).exit_code == 0
    before = {format: file.read_bytes() for format, file in files.items()}

    def inspected(inspector: Inspector, place: str, worker: object) -> Report:
        if place == "noted":
            raise KeyboardInterrupt
        return REPORTS[place]

    monkeypatch.setattr(Inspector, "_report", inspected)
    assert run("clean", "noted", *outputs).exit_code == 130
    changed = {format for format, file in files.items() if file.read_bytes() != before[format]}
    assert changed == {"html", "markdown"}
    assert re.findall(r'href="([^"#]+)"', files["html"].read_text("utf-8")) == ["x.html.d/clean.html"]
    assert files["markdown"].read_bytes().startswith(before["markdown"])


# --- a resumed run


@pytest.mark.usefixtures("looked_at")
def test_a_run_that_goes_on_writes_what_an_uncut_one_prints(tmp_path: Path) -> None:
    uncut = run("--json", *NAMES)
    torn = tmp_path / "torn.jsonl"
    torn.write_text(uncut.stdout.partition("\n")[0] + "\n" + '{"path": "' + "x" * len(uncut.stdout), "utf-8")
    assert going_on(torn, *NAMES).exit_code == uncut.exit_code
    assert sorted(torn.read_text("utf-8").splitlines()) == sorted(uncut.stdout.splitlines())
    for cut in (0, 1, 40, len(uncut.stdout.partition("\n")[0]), len(uncut.stdout) // 2, len(uncut.stdout) - 1):
        file = tmp_path / f"{cut}.jsonl"
        file.write_text(uncut.stdout[:cut], "utf-8")
        result = going_on(file, *NAMES)
        whole = uncut.stdout[: uncut.stdout.rfind("\n", 0, cut) + 1]
        assert file.read_text("utf-8").startswith(whole)
        lines = sorted(file.read_text("utf-8").splitlines(keepends=True))
        assert (lines, result.exit_code) == (sorted(uncut.stdout.splitlines(keepends=True)), uncut.exit_code)


def test_a_slow_place_keeps_no_line_of_another_waiting(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A run that is cut off keeps all that was done; what `--json` prints stays in the order of the places."""
    file, all_there, seen = tmp_path / "reports.jsonl", threading.Event(), list[str]()

    def inspected(inspector: Inspector, place: str, worker: object) -> Report:
        if place == "0":
            all_there.wait(60)
        return report(place)

    def added(lines: ReportLines, looked: InspectionOutcome) -> None:
        seen.append(looked.place)
        if len(seen) == 9:
            all_there.set()

    monkeypatch.setattr(Inspector, "_report", inspected)
    monkeypatch.setattr(ReportLines, "add", added)
    going_on(file, "--jobs", "2", *map(str, range(10)))
    assert (sorted(seen), seen[-1]) == ([str(number) for number in range(10)], "0")


def test_models_already_in_the_file_are_not_inspected_again(tmp_path: Path, looked_at: list[str]) -> None:
    file = tmp_path / "reports.jsonl"
    assert going_on(file, "clean", "noted").stderr == ""
    assert sorted(looked_at) == ["clean", "noted"]
    result = going_on(file, "clean", "bad", "noted")
    assert (looked_at[2:], result.stderr) == (["bad"], f"toolfmt: 2 of 3 models were already in {file}\n")
    written = [json.loads(line)["path"] for line in file.read_text().splitlines()]
    assert (sorted(written[:2]), written[2:]) == (["clean", "noted"], ["bad"])
    assert going_on(file, "clean", "bad", "noted").exit_code == 1
    assert (len(looked_at), going_on(file, "clean", "noted").exit_code) == (3, 0)


@pytest.mark.usefixtures("looked_at")
def test_the_exit_status_is_that_of_all_places(tmp_path: Path) -> None:
    for before, after, status in ((["bad"], ["clean"], 1), (["gone"], ["clean"], 2), (["clean"], ["noted"], 0)):
        file = tmp_path / before[0]
        going_on(file, *before)
        assert going_on(file, *before, *after).exit_code == status
        assert going_on(file, *after).exit_code == 0


@pytest.mark.sample(0)
def test_what_could_not_be_looked_at_is_tried_again(tmp_path: Path) -> None:
    file, late, there = tmp_path / "reports.jsonl", tmp_path / "late.jinja", str(MODELS / "json-frames")
    failed = going_on(file, there, str(late))
    again = going_on(file, there, str(late))
    assert (failed.exit_code, again.exit_code) == (2, 2)
    assert str(late) in again.stderr
    late.write_text((MODELS / "json-frames" / "chat_template.jinja").read_text("utf-8"), "utf-8")
    assert going_on(file, there, str(late)).exit_code == 0
    written = [json.loads(line) for line in file.read_text("utf-8").splitlines()]
    assert ["error" in one for one in written if one["path"] == str(late)] == [True, True, False]
    assert going_on(file, there, str(late)).stderr == f"toolfmt: 2 of 2 models were already in {file}\n"
    assert len(file.read_text("utf-8").splitlines()) == len(written)


@pytest.mark.usefixtures("looked_at")
def test_lines_already_in_the_file_count_as_if_inspected_now(tmp_path: Path) -> None:
    file, baseline = tmp_path / "reports.jsonl", tmp_path / "baseline.json"
    baseline.write_text(json.dumps({**REPORTS["bad"].to_dict(), "path": "bad"}))
    codes = ",".join({one.code for one in REPORTS["bad"].findings})
    every_way: list[tuple[str, ...]] = [
        (),
        ("--ignore", codes),
        ("--baseline", str(baseline)),
        ("--fail-on", "never"),
        ("--fail-on", "never", "--require", "tools"),
        ("--select", "note"),
    ]
    statuses = [run("bad", *way).exit_code for way in every_way]
    assert set(statuses) == {0, 1}
    for way in every_way:
        file.unlink(missing_ok=True)
        run("--json", "--continue", str(file), "bad", *way)
        assert file.read_text() == run("--json", "bad", "clean").stdout.splitlines(keepends=True)[0]
        assert [run("--json", "--continue", str(file), "bad", *now).exit_code for now in every_way] == statuses
    file.write_text(run("--json", "--baseline", str(baseline), "bad", "clean").stdout)
    assert '"new": false' in file.read_text()
    assert going_on(file, "bad").exit_code == 1


def test_a_place_is_the_same_however_its_path_is_spelled(tmp_path: Path, looked_at: list[str]) -> None:
    file = tmp_path / "reports.jsonl"
    going_on(file, "bad", "./bad")
    assert looked_at == ["bad"]
    result = going_on(file, os.path.abspath("bad"), "./bad", "clean")
    assert (looked_at, result.exit_code) == (["bad", "clean"], 1)
    assert result.stderr == f"toolfmt: 1 of 2 models were already in {file}\n"


def test_lines_are_not_written_into_a_file_called_like_standard_output(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, looked_at: list[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    result = run("--json", "--continue", "-", "clean")
    assert (result.exit_code, result.stdout, result.stderr.count("\n"), looked_at) == (2, "", 1, [])
    assert "--continue goes on in a file, which standard output is not; name a file; " in result.stderr
    assert not list(tmp_path.iterdir())


@pytest.mark.usefixtures("looked_at")
@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("hello", 1),
        ("# notes\nmore\n", 1),
        ("[]\n", 1),
        ("{}\n", 1),
        ('{"path": "a"}\n', 1),
        ('{"path": 1, "error": ""}\n', 1),
        ('{"path": "a", "schema": "toolfmt.report/0"}\n', 1),
        ("\n", 1),
        ("[" * 100_000 + "\n", 1),
        ('{"path": "a", "error": "x"}\n{"pith', 2),
        ('{"path": "a", "error": "x"}\n\n', 2),
        (json.dumps({"path": "bad", **REPORTS["bad"].to_dict(), "findings": [{"code": "TF013"}]}) + "\n", 1),
        (json.dumps({"path": "bad", **REPORTS["bad"].to_dict(), "notes": 3}) + "\n", 1),
        (json.dumps({"path": "bad", **REPORTS["bad"].to_dict(), "schema": "toolfmt.report/0"}) + "\n", 1),
    ],
)
def test_a_file_with_other_content_is_rejected_and_left_unchanged(text: str, number: int, tmp_path: Path) -> None:
    file = tmp_path / "notes.txt"
    file.write_text(text)
    result = going_on(file, "clean", "noted")
    message = f"toolfmt: {file}: line {number} is not a report of this version of toolfmt; "
    assert (result.exit_code, result.stderr.startswith(message), result.stderr.count("\n")) == (2, True, 1)
    assert file.read_text() == text


def test_what_is_not_a_plain_file_is_rejected_at_once(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for file in (tmp_path / "pipe", tmp_path, tmp_path / "none" / "x", Path("/dev/null")):
        with pytest.raises(ToolfmtError, match=r"cannot be written \(.*\); name a writable file in an existing"):
            ReportLines(str(file))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ((), "goes with --json"),
        (("--json", "--output-format", "html=x.html"), "nothing else"),
        (("--output-format", "sarif"), ""),
    ],
)
def test_options_that_do_not_go_with_it_are_one_line(options: tuple[str, ...], message: str, tmp_path: Path) -> None:
    result = run(str(MODELS / "json-frames"), "--continue", str(tmp_path / "x"), *options)
    assert (result.exit_code, result.stdout, result.stderr.count("\n")) == (2, "", 1)
    assert result.stderr.startswith("toolfmt: --continue needs --json and allows no other output; ")
    assert not (tmp_path / "x").exists()


@pytest.mark.sample(0)
@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="no process is killed so")
def test_a_run_that_was_killed_goes_on(tmp_path: Path) -> None:
    for name in "abcd":
        (tmp_path / f"{name}.jinja").write_text(CLEAN)
    file = tmp_path / "reports.jsonl"
    command = [sys.executable, "-m", "toolfmt", "inspect", "--json", "--jobs", "1", "--continue", str(file)]
    with subprocess.Popen([*command, str(tmp_path)]) as process:
        deadline = time.monotonic() + 60
        while not (file.exists() and file.read_bytes().count(b"\n")) and time.monotonic() < deadline:
            time.sleep(0.005)
        process.kill()
    lines_before = file.read_bytes().count(b"\n")
    assert subprocess.run([*command, str(tmp_path)], check=False, timeout=300).returncode in (0, 1)
    written = [json.loads(line)["path"] for line in file.read_text("utf-8").splitlines()]
    assert (written, lines_before > 0) == ([str(tmp_path / f"{name}.jinja") for name in "abcd"], True)


# --- what could not be inspected


@pytest.mark.usefixtures("looked_at")
def test_of_many_places_that_cannot_be_read_some_are_named() -> None:
    result = run("--json", *[f"gone{number}" for number in range(1000)])
    messages = result.stderr.splitlines()
    assert (result.exit_code, len(messages), len(result.stdout.splitlines())) == (2, 21, 1000)
    assert messages[0] == "toolfmt: gone0: no such directory; give one that is there"
    assert messages[-1] == "toolfmt: and 980 more places"
    assert json.loads(result.stdout.splitlines()[-1])["error"].startswith("gone999: ")
