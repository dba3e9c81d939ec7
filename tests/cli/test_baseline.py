"""When `toolfmt inspect` fails: by severity, by verdict, and with a baseline only for new findings."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from invented_reports import REPORTS, finding, lines, report, run, run_json

from toolfmt.cli.rules.baseline import Baseline
from toolfmt.inspect.report.report import Finding
from toolfmt.model.batch import InspectionOutcome

pytestmark = pytest.mark.usefixtures("invented")
REPORTS["told-in-words"] = replace(
    report("told-in-words"), verdict=replace(REPORTS["clean"].verdict, tools="prompt-only"), strategy="prompt"
)


def saved(tmp_path: Path, value: Any) -> str:
    path = tmp_path / "before.json"
    path.write_text(value if isinstance(value, str) else json.dumps(value), "utf-8")
    return str(path)


@pytest.mark.parametrize(
    ("place", "statuses"),
    [("bad", "1110"), ("fair", "1100"), ("noted", "1000"), ("clean", "0000"), ("told-in-words", "0000")],
)
def test_a_finding_that_is_bad_enough_fails(place: str, statuses: str) -> None:
    levels = ("note", "warning", "error", "never")
    assert [run(place, "--fail-on", level).exit_code for level in levels] == [int(one) for one in statuses]
    assert [run("clean", place, "--fail-on", level).exit_code for level in levels] == [int(one) for one in statuses]
    assert run(place).exit_code == int(statuses[2])


def test_notes_are_shown_in_full_if_they_fail_the_run_or_are_selected() -> None:
    assert "What TF038 says." not in run("noted").stdout
    for given in (("--fail-on", "note"), ("--select", "TF038"), ("--select", "note")):
        assert "What TF038 says." in run("noted", *given).stdout


def test_where_tools_are_required_a_verdict_without_them_fails() -> None:
    places = ("bad", "fair", "noted", "clean", "told-in-words")
    assert [run(place, "--require", "tools", "--fail-on", "never").exit_code for place in places] == [1, 0, 0, 0, 1]
    assert run("told-in-words", "--require", "tools").exit_code == 1
    assert run("bad", "--ignore", "error", "--require", "tools").exit_code == 1  # broken, whatever is shown
    assert run("clean", "told-in-words", "--require", "tools").exit_code == 1
    assert run("clean", "--require", "calls").exit_code == 2


def test_what_was_there_before_does_not_fail(tmp_path: Path) -> None:
    same = saved(tmp_path, REPORTS["bad"].to_dict())
    status, shown = run_json("bad", "--baseline", same)
    assert (status, [one["new"] for one in (*shown["findings"], *shown["notes"])]) == (0, [False] * 3)
    assert "1 error, 1 warning, 1 note, 0 new" in run("bad", "--baseline", same).stdout
    assert run("bad", "--baseline", same, "--fail-on", "note", "--require", "tools").exit_code == 0
    other = saved(tmp_path, REPORTS["fair"].to_dict() | {"path": "bad"})
    status, shown = run_json("bad", "--baseline", other)
    assert (status, {one["code"]: one["new"] for one in (*shown["findings"], *shown["notes"])}) == (
        1,
        {"TF004": False, "TF013": True, "TF038": True},
    )
    text = " ".join(run("bad", "--baseline", other).stdout.split())
    assert "error TF013 new: What TF013 says." in text
    assert "warning TF004 What TF004 says." in text
    assert run("bad", "--baseline", other, "--require", "tools", "--fail-on", "never").exit_code == 1


@pytest.mark.parametrize(
    ("known", "new"),
    [
        ({"code": "TF015"}, False),  # by a toolfmt in which the outcome was a separate finding
        ({"code": "TF016"}, True),
        ({"code": "TF014"}, True),
        ({"code": "TF014", "outcome": "object-rejected"}, False),
        ({"code": "TF014", "outcome": "string-rejected"}, True),
    ],
)
def test_the_outcome_counts_and_a_code_that_it_replaces(known: dict[str, str], new: bool, tmp_path: Path) -> None:
    made = replace(REPORTS["clean"], findings=(replace(finding("TF014"), outcome="object-rejected"),))
    entry = {"severity": "warning", "message": "It is so.", "line": None, "fix": "Do this.", **known}
    before = {**REPORTS["clean"].to_dict(), "path": "m", "findings": [entry], "notes": []}
    compared = Baseline({"m": before}).compared(InspectionOutcome("m", made))
    assert compared.report is not None
    assert [one.new for one in compared.report.findings] == [new]


@pytest.mark.parametrize("absolute", [True, False])
def test_a_place_is_found_however_its_path_is_spelled(absolute: bool, tmp_path: Path) -> None:
    earlier = os.path.abspath("bad") if absolute else "./elsewhere/../bad"
    before = saved(tmp_path, REPORTS["bad"].to_dict() | {"path": earlier})
    assert run("bad", "--baseline", before).exit_code == 0
    assert "new" in run("bad", "--baseline", saved(tmp_path, REPORTS["bad"].to_dict() | {"path": "/bad"})).stderr


def test_without_a_baseline_nothing_is_marked_as_new() -> None:
    _, shown = run_json("bad")
    assert [one for one in (*shown["findings"], *shown["notes"]) if "new" in one] == []
    assert "new" not in run("bad").stdout


def test_several_places_are_found_in_a_list_and_in_lines(tmp_path: Path) -> None:
    before = [{"path": "./bad", **REPORTS["bad"].to_dict()}, {"path": "gone", "error": "gone: not there"}]
    for text in (json.dumps(before), "\n".join(map(json.dumps, before)) + "\n\n", json.dumps(before, indent=2)):
        file = saved(tmp_path, text)
        status, shown = lines("bad", "fair", "--baseline", file)
        news = [[one["new"] for one in (*report["findings"], *report["notes"])] for report in shown]
        assert (status, news) == (0, [[False] * 3, [True] * 2])
        assert run("fair", "bad", "--baseline", file, "--fail-on", "warning").exit_code == 1
        result = run("bad", "fair", "clean", "--baseline", file)
        assert result.stderr == f"toolfmt: fair and 1 more are not in {file}: whatever is found there counts as new\n"
        assert run("bad", "--baseline", file).stderr == ""
    one_line = saved(tmp_path, json.dumps(before[0]))
    assert lines("bad", "clean", "--baseline", one_line)[0] == 0


def test_the_sarif_log_marks_new_results(tmp_path: Path) -> None:
    file = saved(tmp_path, REPORTS["fair"].to_dict() | {"path": "bad"})
    log = json.loads(run("bad", "--baseline", file, "--output-format", "sarif").stdout)
    states = {one["ruleId"]: one["baselineState"] for one in log["runs"][0]["results"]}
    assert states == {"TF004": "unchanged", "TF013": "new", "TF038": "new"}
    plain = json.loads(run("bad", "--output-format", "sarif").stdout)
    assert [one for one in plain["runs"][0]["results"] if "baselineState" in one] == []


@pytest.mark.parametrize(
    ("before", "now", "new"),
    [
        (["TF041 a"], ["TF041 a"], []),
        (["TF041 a"], ["TF041 b"], []),  # a message quotes the template: other quotes are not another finding
        (["TF041 a"], ["TF041 b", "TF041 a"], ["TF041 b"]),
        (["TF041 a"], ["TF041 a", "TF041 a"], ["TF041 a"]),
        (["TF041 a", "TF041 b"], ["TF041 b"], []),
        (["TF041 a"], ["TF040 a"], ["TF040 a"]),
        (["TF041 a warning"], ["TF041 a error"], ["TF041 a error"]),
        (["TF041 a error"], ["TF041 a warning"], []),
        (["TF041 a note", "TF041 b error"], ["TF041 b error", "TF041 a error"], ["TF041 a error"]),
        ([], ["TF041 a note"], ["TF041 a note"]),
    ],
)
def test_a_finding_is_new_where_fewer_of_its_code_were_as_bad(
    before: list[str], now: list[str], new: list[str]
) -> None:
    was = report("m", *map(made, before))
    outcome = Baseline({"m": was.to_dict()}).compared(InspectionOutcome("m", report("m", *map(made, now))))
    assert outcome.report is not None
    found = (*outcome.report.findings, *outcome.report.notes)
    assert [key_fields(one) for one in found if one.new] == [key_fields(made(one)) for one in new]
    assert all(one.new is not None for one in found)


def made(words: str) -> Finding:
    code, message, severity = (*words.split(), "warning")[:3]
    level = {"error": "error", "note": "note"}.get(severity, "warning")
    return replace(finding(code, level), message=message)  # type: ignore[arg-type]  # one of the three values


def key_fields(one: Finding) -> tuple[str, str, str]:
    return one.code, one.message, one.severity


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", "empty; give what toolfmt inspect --json printed"),
        ("{]", "not JSON (Expecting property name"),
        ("[]", "not a toolfmt report; give what toolfmt inspect --json printed"),
        ("[1]", "not a toolfmt report"),
        ('{"findings": []}', "not a toolfmt report"),
        ('{"schema": "toolfmt.report/1", "findings": []}', "not a toolfmt report"),
        ('{"schema": "toolfmt.report/1", "findings": [{"code": "TF001"}], "notes": []}', "not a toolfmt report"),
        ('{"schema": "toolfmt.report/2", "findings": [], "notes": []}', "not a toolfmt report"),
        ('{"schema": "toolfmt.report/1", "findings": [], "notes": [], "path": 1}', "not a toolfmt report"),
        ('{"schema": "toolfmt.report/1", "findings": [], "notes": [], "verdict": []}', "not a toolfmt report"),
        ('{"path": "a"}\n{"path', "not JSON ("),
        ("[" * 100_000, "JSON that cannot be read"),
    ],
)
def test_a_file_that_is_no_baseline_is_one_line_that_names_it(text: str, expected: str, tmp_path: Path) -> None:
    file = saved(tmp_path, text)
    result = run("bad", "--baseline", file)
    assert (result.exit_code, result.stdout, result.stderr.count("\n")) == (2, "", 1)
    assert result.stderr.startswith(f"toolfmt: {file}: ")
    assert expected in result.stderr


def unnamed(name: str) -> dict[str, Any]:
    """A report as an earlier toolfmt printed it of one place."""
    return {key: value for key, value in REPORTS[name].to_dict().items() if key != "path"}


def test_the_report_on_one_place_is_none_on_another(tmp_path: Path) -> None:
    file = saved(tmp_path, run("fair", "--json").stdout)
    result = run("bad", "--baseline", file)
    assert result.exit_code == 1
    assert result.stderr == f"toolfmt: bad is not in {file}: whatever is found there counts as new\n"
    status, shown = run_json("fair", "--baseline", file)
    assert (status, {one["new"] for one in shown["findings"]}) == (0, {False})


@pytest.mark.parametrize(
    ("earlier", "hinted"),
    [("models/bad", True), ("./elsewhere/bad", True), ("models/fair", False), ("here/bad", False)],
)
def test_a_path_from_another_directory_gets_a_hint_about_the_base_directory(
    earlier: str, hinted: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "here" / "bad").mkdir(parents=True)  # this one is another model: nothing is wrong with its path
    file = saved(tmp_path, REPORTS["bad"].to_dict() | {"path": earlier})
    hint = f"; relative paths, in the file too, count from {os.getcwd()}" if hinted else ""
    line = f"toolfmt: bad is not in {file}: whatever is found there counts as new{hint}\n"
    assert run("bad", "--baseline", file).stderr == line


def test_a_report_without_a_path_is_taken_for_the_same_model_with_a_message(tmp_path: Path) -> None:
    file = saved(tmp_path, unnamed("bad"))
    result = run("bad", "--baseline", file)
    assert result.exit_code == 0
    assert result.stderr == f"toolfmt: {file} names no place: taken for an earlier report on bad\n"


def test_the_report_on_one_place_is_compared_with_that_place_of_several(tmp_path: Path) -> None:
    def news(*places: str) -> list[set[bool]]:
        shown = lines(*places, "--baseline", file)[1]
        return [{one["new"] for one in (*report["findings"], *report["notes"])} for report in shown]

    file = saved(tmp_path, unnamed("bad"))  # it is the first
    assert news("bad", "fair") == [{False}, {True}]
    result = run("bad", "fair", "--baseline", file)
    assert result.stderr.splitlines() == [
        f"toolfmt: {file} names no place: taken for an earlier report on bad",
        f"toolfmt: fair is not in {file}: whatever is found there counts as new",
    ]
    file = saved(tmp_path, {"path": "bad", **REPORTS["bad"].to_dict()})
    assert news("fair", "bad") == [{True}, {False}]


def test_reports_that_name_no_place_are_no_baseline_for_several(tmp_path: Path) -> None:
    file = saved(tmp_path, [unnamed("bad"), unnamed("fair")])
    result = run("bad", "fair", "--baseline", file)
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr == (
        f"toolfmt: {file}: 2 reports that name no place; give what toolfmt inspect --json printed of these 2\n"
    )
    missing = run("bad", "--baseline", str(tmp_path / "gone.json"))
    assert (missing.exit_code, "gone.json: cannot be read" in missing.stderr) == (2, True)


def test_models_of_the_baseline_that_left_the_folder_are_named(tmp_path: Path) -> None:
    folder = tmp_path / "models"
    for name in ("a", "b"):
        (folder / name).mkdir(parents=True)
        (folder / name / "chat_template.jinja").write_text("{{ messages[0].content }}", encoding="utf-8")
    before = [REPORTS["bad"].to_dict() | {"path": str(folder / name)} for name in ("a", "b", "left", "inner/left")]
    file = saved(tmp_path, [*before, REPORTS["bad"].to_dict() | {"path": str(tmp_path / "elsewhere")}])
    result = run(str(folder), "--baseline", file)
    first = result.stderr.splitlines()[0]
    assert first == f"toolfmt: in {file}, but not found now: {folder}/left, {folder}/inner/left"


def test_a_model_that_the_baseline_could_not_inspect_is_in_it(tmp_path: Path) -> None:
    before = [REPORTS["bad"].to_dict() | {"path": "bad"}, {"path": "gone", "error": "gone: not there"}]
    assert "whatever is found there" not in run("bad", "gone", "--baseline", saved(tmp_path, before)).stderr
