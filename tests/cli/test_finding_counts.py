"""`--statistics`: how many models have each finding; and how every output shows ignored findings."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from invented_reports import REPORTS, finding, run, run_json

from toolfmt.inspect.checks import ALL_OUTCOMES
from toolfmt.inspect.fix.known_fixes import is_fixable

HOSTILE = "we know\x1b[31m <script>alert(1)</script> `@team` ]]>"


@pytest.fixture(autouse=True)
def ignoring(invented: object, monkeypatch: pytest.MonkeyPatch) -> None:
    """A model whose template ignores TF014, and a configuration TF017."""
    ignored = (
        replace(finding("TF014", line=3), ignored_by="template", reason=HOSTILE),
        replace(finding("TF017"), ignored_by="my/toolfmt.toml"),
    )
    monkeypatch.setitem(REPORTS, "accepted", replace(REPORTS["fair"], path="accepted", ignored=ignored))
    monkeypatch.setenv("COLUMNS", "120")


# --- statistics


def test_findings_are_counted_by_models_the_most_frequent_first() -> None:
    status, counts = run_json("bad", "fair", "noted", "clean", "gone", "accepted", "--statistics")
    assert status == 1
    assert (counts["models"], counts["not_inspected"], counts["ignored"]) == (5, 1, 2)
    assert [tuple(one.values()) for one in counts["findings"]] == [
        ("TF004", "name-of-tf004", 3, 3, 0),
        ("TF014", "name-of-tf014", 2, 2, 2),
        ("TF038", "name-of-tf038", 2, 2, 0),
        ("TF013", "name-of-tf013", 1, 1, 0),
    ]
    assert list(counts["findings"][0]) == ["code", "name", "models", "findings", "fixable"]


def test_several_findings_of_a_model_count_once_as_a_model(monkeypatch: pytest.MonkeyPatch) -> None:
    several = replace(REPORTS["fair"], findings=(finding("TF014", line=1), finding("TF014", line=2)))
    monkeypatch.setitem(REPORTS, "several", several)
    _, counts = run_json("several", "noted", "--statistics")
    assert [(one["code"], one["models"], one["findings"]) for one in counts["findings"]] == [
        ("TF014", 1, 2),
        ("TF038", 1, 1),
    ]


def test_the_table_has_the_same_numbers_and_a_summary() -> None:
    made = run("bad", "fair", "gone", "accepted", "--statistics")
    *rows, _, summary = made.stdout.splitlines()
    assert [row.split() for row in rows] == [
        ["models", "findings", "fixable", "code", "name"],
        ["3", "3", "0", "TF004", "name-of-tf004"],
        ["2", "2", "2", "TF014", "name-of-tf014"],
        ["1", "1", "0", "TF013", "name-of-tf013"],
        ["1", "1", "0", "TF038", "name-of-tf038"],
    ]
    assert summary == "3 models, 1 not inspected, 2 findings ignored."
    assert (made.exit_code, made.stderr) == (1, "toolfmt: gone: no such directory; give one that is there\n")
    assert run("clean", "--statistics").stdout == "1 model.\n"


def test_only_what_is_selected_is_counted_and_it_decides_the_exit_status() -> None:
    status, counts = run_json("bad", "fair", "--statistics", "--select", "TF014")
    assert (status, [one["code"] for one in counts["findings"]]) == (0, ["TF014"])
    assert run_json("fair", "--statistics", "--fail-on", "warning")[0] == 1


def test_statistics_go_to_a_file_and_not_to_other_formats(tmp_path: Path) -> None:
    file = tmp_path / "counts.json"
    made = run("bad", "fair", "--statistics", "--output-format", f"json={file}", "--output-format", "text")
    assert json.loads(file.read_text("utf-8"))["models"] == 2
    assert made.stdout.endswith("2 models.\n")
    for options, error in (
        (("--output-format", "sarif"), "--statistics prints text or JSON; leave the other outputs out"),
        (("--full",), "--statistics counts findings; leave --full out"),
        (("--json", "--continue", str(file)), "--statistics counts findings; leave --continue out"),
        (("--fix", "--output", "copy"), "--fix prints what it changed, as text or JSON; leave --statistics out"),
        (("--for", "training"), "--for training does not support --statistics"),
    ):
        made = run("bad", "--statistics", *options)
        assert (made.exit_code, made.stderr) == (2, f"toolfmt: {error}; see toolfmt inspect --help\n")


# --- ignored findings in every output


def printed(*options: str) -> str:
    made = run("accepted", *options)
    assert made.exit_code == 0, made.stderr
    return made.stdout


def test_the_text_shows_what_is_ignored_by_what_and_why() -> None:
    text = printed()
    assert "2 warnings, 1 ignored by the template, 1 ignored by my/toolfmt.toml" in text
    rows = [line.strip() for line in text.splitlines() if "TF014, by" in line or "TF017, by" in line]
    assert rows[0].startswith("ignored      warning TF014, by the template: we know\\x1b[31m <script>")
    assert rows[1] == "warning TF017, by my/toolfmt.toml: no reason given"
    assert "(What TF017 says.)" not in text
    assert "(What TF017 says.)" in printed("--full")
    assert "1 warning, 1 ignored by my/toolfmt.toml, 2 excluded by --select or --ignore" in printed("--ignore", "TF014")
    assert "ignored" not in printed("--select", "TF004")


def test_a_table_of_models_counts_them() -> None:
    assert "1 broken, 2 findings ignored. E/W/N" in run("accepted", "bad").stdout
    assert "ignored" not in run("fair", "bad").stdout


def test_markdown_names_them() -> None:
    text = printed("--output-format", "markdown")
    assert "- ignored by my/toolfmt.toml (no reason given), warning TF017\n" in text
    line = next(line for line in text.splitlines() if line.startswith("- ignored by the template"))
    assert "TF014" in line
    assert "<script>" not in line and "`" not in line
    assert "| 0 | 2 | 0 |" in text


def test_sarif_has_suppressions() -> None:
    (run_,) = json.loads(printed("--output-format", "sarif"))["runs"]
    suppressed = {one["ruleId"]: one.get("suppressions") for one in run_["results"] if one["ruleId"] != "TF004"}
    own = [one.get("suppressions") for one in run_["results"] if one["ruleId"] in ("TF004", "TF014")]
    assert own[:2] == [None, None]
    assert suppressed == {
        "TF014": [{"kind": "inSource", "status": "accepted", "justification": HOSTILE}],
        "TF017": [{"kind": "external", "status": "accepted"}],
    }


def test_junit_has_skipped_tests() -> None:
    text = printed("--output-format", "junit", "--fail-on", "never")
    assert 'message="ignored by my/toolfmt.toml (no reason given), warning: What TF017 says."' in text
    assert text.count("<failure") == 0
    made = run("accepted", "--output-format", "junit", "--fail-on", "warning", "--ignore", "TF004,TF014")
    assert ("<failure" in made.stdout, made.exit_code) == (False, 0)


def test_an_ignored_note_is_a_skipped_test_too(monkeypatch: pytest.MonkeyPatch) -> None:
    note = replace(finding("TF038", "note"), ignored_by="template", reason="we know")
    monkeypatch.setitem(REPORTS, "accepted", replace(REPORTS["clean"], ignored=(note,)))
    assert '<skipped type="note" message="ignored by the template (we know), note: What' in printed(
        "--output-format", "junit"
    )


def test_what_a_setting_or_a_change_of_the_template_fixes_is_fixable() -> None:
    fixable = {code for code, outcome in ALL_OUTCOMES if is_fixable((code, outcome))}
    assert {"TF014", "TF022"} <= fixable
    assert not {"TF004", "TF055", "TF093"} & fixable


def test_one_annotation_counts_what_is_ignored() -> None:
    lines = printed("--output-format", "github").splitlines()
    assert [line.partition("title=")[2][:5] for line in lines[:-1]] == ["TF004", "TF014"]
    assert lines[-1].startswith("::notice ") and " TF017" in lines[-1]


def test_the_page_has_a_section_for_them(tmp_path: Path) -> None:
    printed("--output-format", f"html={tmp_path / 'page.html'}")
    page = (tmp_path / "page.html").read_text("utf-8")
    section = page.partition('<section aria-labelledby="ignored">')[2].partition("</section>")[0]
    assert "<strong>Ignored by my/toolfmt.toml:</strong> no reason given" in section
    assert "<strong>Ignored by the template:</strong> we know\\x1b[31m &lt;script&gt;" in section
    assert "<script" not in page
    printed("--select", "TF004", "--output-format", f"html={tmp_path / 'other.html'}")
    assert 'id="ignored"' not in (tmp_path / "other.html").read_text("utf-8")


def test_json_has_a_list_and_a_baseline_of_it_does_not_know_them(tmp_path: Path) -> None:
    report: dict[str, Any] = json.loads(printed("--json"))
    assert [(one["code"], one["ignored_by"], one["reason"]) for one in report["ignored"]] == [
        ("TF014", "template", HOSTILE),
        ("TF017", "my/toolfmt.toml", ""),
    ]
    (tmp_path / "before.json").write_text(json.dumps(report), "utf-8")
    assert printed("--baseline", str(tmp_path / "before.json"), "--fail-on", "warning")
