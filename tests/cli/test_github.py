"""Findings as workflow commands of GitHub Actions: one line each, escaped, whatever a template or a path contains."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest
from command_line import run
from invented_reports import REPORTS, finding, report
from model_cases import MODELS

from toolfmt.cli.printing.github import escaped_message, escaped_property, workflow_commands
from toolfmt.model.batch import InspectionOutcome

COMMAND = re.compile(r"::(error|warning|notice) file=([^,:\n]*)(?:,line=(\d+))?,title=([^,:\n]*)::([^\n]*)\n")


def test_a_finding_is_a_line_with_its_place_and_its_fix() -> None:
    assert workflow_commands(InspectionOutcome("bad", REPORTS["bad"])) == (
        "::error file=bad/chat_template.jinja,line=7,title=TF013 name-of-tf013::What TF013 says.%0ADo this.\n"
        "::warning file=bad/chat_template.jinja,title=TF004 name-of-tf004::What TF004 says.%0ADo this.\n"
        "::notice file=bad/chat_template.jinja,title=TF038 name-of-tf038::What TF038 says.%0ADo this.\n"
    )
    assert workflow_commands(InspectionOutcome("clean", REPORTS["clean"])) == ""


def test_a_model_that_was_not_inspected_is_an_error() -> None:
    outcome = InspectionOutcome("gone", None, "gone: no such directory")
    assert workflow_commands(outcome) == "::error file=gone,title=toolfmt%3A not inspected::gone: no such directory\n"


def test_the_line_of_a_template_inside_another_file_is_not_the_line_of_the_file() -> None:
    template = REPORTS["bad"].template
    assert template is not None
    inside = replace(REPORTS["bad"], template=replace(template, origin="tokenizer_config.json"), notes=())
    first, _ = workflow_commands(InspectionOutcome("bad", inside)).splitlines()
    assert first.startswith(
        "::error file=bad/tokenizer_config.json,title=TF013 name-of-tf013::What TF013 says. (line 7 "
    )


def test_with_a_baseline_only_new_findings_are_shown() -> None:
    findings = (replace(finding("TF013", "error"), new=False), replace(finding("TF004"), new=True))
    lines = workflow_commands(InspectionOutcome("m", replace(REPORTS["clean"], findings=findings))).splitlines()
    assert [line.partition(",title=")[2].partition(" ")[0] for line in lines] == ["TF004"]


@pytest.mark.parametrize(
    ("text", "message", "value"),
    [
        ("a: b, c", "a: b, c", "a%3A b%2C c"),
        ("50%", "50%25", "50%25"),
        ("%0A", "%250A", "%250A"),
        ("a\r\nb", "a%0D%0Ab", "a%0D%0Ab"),
    ],
)
def test_escapes_are_those_of_githubs_toolkit(text: str, message: str, value: str) -> None:
    """`escapeData` and `escapeProperty` of actions/toolkit, packages/core/src/command.ts."""
    assert (escaped_message(text), escaped_property(text)) == (message, value)


def test_nothing_in_a_report_or_a_path_starts_another_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    hostile = "x\n::error::y\r::stop-commands::z,line=9:%0A::\u2028::\x1b[2J\u202e\x00"
    found = replace(finding("TF013", "error", 0), message=hostile, fix=hostile)
    made = replace(report("m", found), template=replace(REPORTS["bad"].template, origin=hostile))  # type: ignore[type-var]  # the report has a template
    for outcome in (InspectionOutcome(hostile, made), InspectionOutcome(hostile, None, hostile)):
        line = workflow_commands(outcome)
        command = COMMAND.fullmatch(line)
        assert command is not None, line
        assert line[:-1].isprintable()
        assert command[1] == "error"
    assert COMMAND.fullmatch(workflow_commands(InspectionOutcome("m", report("m", found))))[3] == "1"  # type: ignore[index]  # it matches


def test_ignored_findings_are_one_notice(tmp_path: Path) -> None:
    file = tmp_path / "a.jinja"
    source = (MODELS / "double-encoded" / "chat_template.jinja").read_text("utf-8")
    file.write_text("{# toolfmt: ignore[TF014] we send ::objects #}\n" + source, "utf-8")
    printed = run("inspect", str(file), "--output-format", "github").stdout
    (line,) = [line for line in printed.splitlines() if "ignored findings" in line]
    assert line.startswith("::notice file=")
    assert line.endswith("title=toolfmt%3A ignored findings::TF014 (the template: we send ::objects)")
