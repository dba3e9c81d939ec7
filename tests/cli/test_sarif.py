"""Findings as SARIF 2.1.0: the members that its JSON schema requires and allows, rules, results, locations.

The schema itself is not included here. `REQUIRED` and `ALLOWED` list its rules for the objects that toolfmt writes
(sarif-schema-2.1.0.json of OASIS, errata 01, which allows no additional members).
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import replace
from email.message import Message
from importlib.metadata import PackageNotFoundError
from pathlib import Path
from typing import Any

import depth
import pytest
from click.testing import CliRunner
from invented_reports import finding, report
from model_cases import MODELS

from toolfmt.cli.commands import main
from toolfmt.cli.printing.sarif import SarifLog
from toolfmt.inspect.checks import CHECKS, code, name, page, severity
from toolfmt.model.batch import InspectionOutcome

# Of each kind of object: its members with the kinds of object in them ("" for a plain value), the required ones first.
MEMBERS: dict[str, dict[str, str]] = {
    "log": {"version": "", "runs": "run", "$schema": ""},
    "run": {"tool": "tool", "results": "result", "invocations": "invocation", "columnKind": "", "properties": "bag"},
    "bag": {"verdicts": "verdict"},
    "verdict": {"place": "", "tools": "", "sentence": ""},
    "tool": {"driver": "component"},
    "component": {"name": "", "version": "", "rules": "rule"},
    "rule": {
        "id": "", "name": "", "shortDescription": "string", "fullDescription": "string", "help": "string",
        "helpUri": "", "defaultConfiguration": "configuration",
    },
    "string": {"text": "", "markdown": ""},
    "configuration": {"level": ""},
    "invocation": {"executionSuccessful": "", "toolExecutionNotifications": "notification"},
    "notification": {"message": "message", "level": "", "locations": "location"},
    "message": {"text": ""},
    "result": {
        "message": "message", "ruleId": "", "ruleIndex": "", "level": "", "locations": "location", "baselineState": "",
    },
    "location": {"physicalLocation": "physical"},
    "physical": {"artifactLocation": "artifact", "region": "region"},
    "artifact": {"uri": ""},
    "region": {"startLine": ""},
}  # fmt: skip
REQUIRED = {
    "log": ["version", "runs"],
    "run": ["tool", "results"],  # results: required of a log of a scan
    "tool": ["driver"],
    "component": ["name"],
    "rule": ["id"],
    "string": ["text"],
    "invocation": ["executionSuccessful"],
    "notification": ["message"],
    "message": ["text"],
    "result": ["message"],
    "physical": ["artifactLocation"],
}


def sarif(outcomes: Iterable[InspectionOutcome]) -> dict[str, Any]:
    log = SarifLog()
    for one in outcomes:
        log.add(one)
    return log.to_dict()


def check(kind: str, value: Any) -> None:
    """Every object has the members it must have and no others."""
    if isinstance(value, list):
        for item in value:
            check(kind, item)
        return
    if kind:
        assert set(value) <= set(MEMBERS[kind]), kind
        assert set(REQUIRED.get(kind, [])) <= set(value), kind
        for member, inside in MEMBERS[kind].items():
            if member in value:
                check(inside, value[member])
    else:
        assert isinstance(value, (str, int, bool))


def results(*looked: InspectionOutcome) -> list[dict[str, Any]]:
    log = sarif(looked)
    check("log", log)
    made: list[dict[str, Any]] = log["runs"][0]["results"]
    return made


def physical(result: dict[str, Any]) -> tuple[str, int | None]:
    location = result["locations"][0]["physicalLocation"]
    return location["artifactLocation"]["uri"], location.get("region", {}).get("startLine")


def test_every_check_is_a_rule() -> None:
    rules = sarif([])["runs"][0]["tool"]["driver"]["rules"]
    assert [(rule["id"], rule["name"], rule["help"]["text"], rule["defaultConfiguration"]) for rule in rules] == [
        (code(one), name(one), page(one), {"level": severity(one)}) for one in CHECKS
    ]
    assert all(rule["fullDescription"]["text"].startswith(rule["shortDescription"]["text"]) for rule in rules)
    assert all("\n" not in rule["fullDescription"]["text"] for rule in rules)


def test_findings_and_notes_are_results_with_their_level_rule_and_place(tmp_path: Path) -> None:
    place = tmp_path / "a model: 1"
    place.mkdir()
    made = results(
        InspectionOutcome(
            str(place), report("x", finding("TF013", "error", 7), finding("TF004"), finding("TF038", "note"))
        )
    )
    assert [(one["ruleId"], one["level"], one["message"]["text"]) for one in made] == [
        ("TF013", "error", "What TF013 says. Do this."),
        ("TF004", "warning", "What TF004 says. Do this."),
        ("TF038", "note", "What TF038 says. Do this."),
    ]
    assert [code(CHECKS[one["ruleIndex"]]) for one in made] == ["TF013", "TF004", "TF038"]
    uri = "a%20model%3A%201/chat_template.jinja"
    assert [physical(one) for one in made] == [(uri, 7), (uri, None), (uri, None)]


def test_paths_are_relative_to_the_working_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "models" / "one").mkdir(parents=True)
    monkeypatch.chdir(tmp_path)
    found = report("x", finding("TF013", "error", 7))
    for place, uri in (
        ("models/one", "models/one/chat_template.jinja"),
        (str(tmp_path / "models" / "one"), "models/one/chat_template.jinja"),
        ("models/../models/one/", "models/one/chat_template.jinja"),
    ):
        assert physical(results(InspectionOutcome(place, found))[0]) == (uri, 7)
    monkeypatch.chdir(tmp_path / "models" / "one")
    assert physical(results(InspectionOutcome(".", found))[0]) == ("chat_template.jinja", 7)
    monkeypatch.chdir("/")
    assert (
        str(tmp_path.parent.name) in physical(results(InspectionOutcome(str(tmp_path / "models" / "one"), found))[0])[0]
    )


def test_a_template_inside_another_file_has_no_region_but_its_line_in_words(tmp_path: Path) -> None:
    found = report("x", finding("TF013", "error", 7))
    assert found.template is not None
    inside = replace(found, template=replace(found.template, origin="tokenizer_config.json"))
    one = results(InspectionOutcome(str(tmp_path), inside))[0]
    assert physical(one) == (f"{tmp_path.name}/tokenizer_config.json", None)
    assert one["message"]["text"] == "What TF013 says. (line 7 of the template) Do this."
    # GitHub: "locationFromSarifResult: expected at least one location" (github/codeql-action, issue 2459).
    assert physical(results(InspectionOutcome(str(tmp_path), replace(found, template=None)))[0]) == (
        tmp_path.name,
        None,
    )


def test_a_template_file_alone_is_its_own_artefact(tmp_path: Path) -> None:
    path = tmp_path / "one.jinja"
    path.write_text("x")
    found = report("x", finding("TF013", "error", 7))
    assert found.template is not None
    alone = replace(found, template=replace(found.template, origin="one.jinja"))
    assert physical(results(InspectionOutcome(str(path), alone))[0]) == ("one.jinja", 7)


def test_a_place_that_cannot_be_read_is_a_notification() -> None:
    log = sarif([InspectionOutcome("gone", None, "gone: no such directory")])
    check("log", log)
    assert log["runs"][0]["invocations"][0]["executionSuccessful"] is False
    notification = log["runs"][0]["invocations"][0]["toolExecutionNotifications"][0]
    assert (notification["level"], notification["message"]) == (
        "error",
        {"text": "not inspected: gone: no such directory"},
    )


@pytest.mark.sample(0)
def test_the_command_line_prints_the_same_log_every_time() -> None:
    """Whichever process inspects: those of two workers, or this one."""

    def run(*arguments: str) -> tuple[int, str]:
        done = CliRunner().invoke(main, ["inspect", *arguments, "--output-format", "sarif"])
        return done.exit_code, done.stdout

    names = {"broken", "double-encoded", *depth.some(sorted(path.name for path in MODELS.iterdir()), 5)}
    places = [str(MODELS / name) for name in sorted(names)]
    status, printed = run(*places)
    log = json.loads(printed)
    check("log", log)
    assert (status, printed) == run("--trusted", *places)
    assert status == 1  # one of them is broken
    assert "TF014" in {one["ruleId"] for one in log["runs"][0]["results"]}
    only = json.loads(run("--trusted", str(MODELS / "null-content-rejected"), "--select", "TF019")[1])
    assert [(one["ruleId"], physical(one)[1]) for one in only["runs"][0]["results"]] == [
        ("TF019", 21)
    ]  # at the line with `one call a turn`


@pytest.mark.parametrize(
    ("address", "linked"),
    [
        ("https://docs.example.org/toolfmt", "https://docs.example.org/toolfmt/reference/findings/TF001.html"),
        ("https://OWNER.example.org/toolfmt/", None),
        (None, None),
    ],
)
def test_a_rule_links_to_its_page_if_the_site_has_an_address(
    address: str | None, linked: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = Message()
    package["Project-URL"] = "Repository, https://example.org/toolfmt"
    if address is not None:
        package["Project-URL"] = f"Documentation, {address}"
    monkeypatch.setattr("toolfmt.cli.printing.sarif.metadata", lambda name: package)
    rules = SarifLog().to_dict()["runs"][0]["tool"]["driver"]["rules"]
    assert rules[0].get("helpUri") == linked
    assert len(rules) == len(CHECKS)


def test_without_the_package_metadata_no_rule_has_a_link(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> None:
        raise PackageNotFoundError(name)

    monkeypatch.setattr("toolfmt.cli.printing.sarif.metadata", missing)
    rules = SarifLog().to_dict()["runs"][0]["tool"]["driver"]["rules"]
    assert not any("helpUri" in rule for rule in rules)
