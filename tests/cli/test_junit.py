"""Findings as JUnit XML: what counts for the exit status fails, and the document is well-formed for any report."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import replace
from xml.etree.ElementTree import Element, fromstring

import pytest
from click.testing import CliRunner
from hypothesis import example, given
from hypothesis import strategies as st
from invented_reports import REPORTS, finding
from model_cases import MODELS

from toolfmt.cli.commands import main
from toolfmt.cli.printing.junit import JUnitReport
from toolfmt.cli.rules.configuration import NO_OPTIONS, Configuration, Options
from toolfmt.cli.rules.exit_status import FailOn
from toolfmt.cli.rules.model_rules import ModelRules
from toolfmt.inspect.checks import CHECKS, code, name
from toolfmt.inspect.report.report import Report
from toolfmt.inspect.report.verdicts import Verdict
from toolfmt.model.batch import InspectionOutcome

GONE = InspectionOutcome("gone", None, "gone: no such directory")


def document(*outcomes: InspectionOutcome, options: Options = NO_OPTIONS) -> Element:
    report = JUnitReport(ModelRules(options, (), Configuration()))
    for outcome in outcomes:
        report.add(outcome)
    text = report.text()
    assert text.startswith('<?xml version="1.0" encoding="UTF-8"?>\n<testsuites name="toolfmt"')
    return fromstring(text)


def results(suite: Element) -> dict[str, tuple[str, str]]:
    """The tag of every result with its message, by the name of the test case."""
    return {case.get("name", ""): (result.tag, result.get("message", "")) for case in suite for result in case}


def numbers(element: Element) -> list[int]:
    return [int(element.get(name, "")) for name in ("tests", "failures", "errors", "skipped")]


def test_a_model_is_a_suite_with_its_verdict_and_every_check() -> None:
    (suite,) = document(InspectionOutcome("bad", REPORTS["bad"]))
    assert suite.get("name") == "bad"
    assert [case.get("name") for case in suite] == ["verdict", *(f"{code(check)} {name(check)}" for check in CHECKS)]
    assert {case.get("classname") for case in suite} == {"toolfmt.bad"}
    found = results(suite)
    tags = {named.partition(" ")[0]: result for named, result in found.items()}
    assert tags == {
        "verdict": ("system-out", ""),
        "TF013": ("failure", "error: What TF013 says."),
        "TF004": ("skipped", "warning: What TF004 says."),
        "TF038": ("system-out", ""),
    }
    (failed,) = (case for case in suite if case.find("failure") is not None)
    assert (failed.get("file"), failed.get("line")) == ("bad/chat_template.jinja", "7")
    assert failed[0].text == "bad/chat_template.jinja:7\nerror: What TF013 says.\nDo this."
    assert numbers(suite) == [len(CHECKS) + 1, 1, 0, 1]


@pytest.mark.parametrize(
    ("fail_on", "failed"),
    [("never", set()), ("error", {"TF013"}), ("warning", {"TF013", "TF004"}), ("note", {"TF013", "TF004", "TF038"})],
)
def test_what_counts_for_the_exit_status_fails(fail_on: FailOn, failed: set[str]) -> None:
    options = Options(fail_on=fail_on)
    outcome = InspectionOutcome("bad", REPORTS["bad"])
    root = document(outcome, options=options)
    assert {named.partition(" ")[0] for named, (tag, _) in results(root[0]).items() if tag == "failure"} == failed
    assert (numbers(root)[1] > 0) == ModelRules(options, (), Configuration()).fails(outcome)


def test_a_verdict_fails_if_it_is_required() -> None:
    prose = replace(REPORTS["clean"], verdict=Verdict("prompt-only", "It works."))
    for options, expected in (
        (NO_OPTIONS, ("system-out", "")),
        (Options(require="tools"), ("failure", "prompt-only: It works.")),
    ):
        (suite,) = document(InspectionOutcome("m", prose), options=options)
        assert results(suite)["verdict"] == expected


def test_what_a_baseline_has_does_not_fail() -> None:
    old, new = (replace(finding("TF013", "error", line), new=line == 2) for line in (1, 2))
    for findings, result in (((old,), "skipped"), ((old, new), "failure")):
        (suite,) = document(InspectionOutcome("m", replace(REPORTS["clean"], findings=findings)))
        (case,) = (case for case in suite if (case.get("name") or "").startswith("TF013"))
        assert [one.tag for one in case] == [result]
        assert case.get("line") == ("2" if result == "failure" else "1")


def test_several_findings_of_a_check_are_one_failure() -> None:
    findings = tuple(finding("TF013", "error", line) for line in (1, 2, 3))
    (suite,) = document(InspectionOutcome("m", replace(REPORTS["clean"], findings=findings)))
    (failure,) = suite.iter("failure")
    assert failure.get("message") == "error: What TF013 says. (and 2 more)"
    assert re.findall(r"jinja:(\d)", failure.text or "") == ["1", "2", "3"]


def test_a_model_that_was_not_inspected_is_an_error() -> None:
    root = document(GONE, InspectionOutcome("bad", REPORTS["bad"]))
    assert results(root[0]) == {"inspection": ("error", "no such directory")}
    assert numbers(root[0]) == [1, 0, 1, 0]
    assert numbers(root) == [left + right for left, right in zip(numbers(root[0]), numbers(root[1]), strict=True)]


def test_only_selected_checks_are_tests() -> None:
    (suite,) = document(InspectionOutcome("m", REPORTS["clean"]), options=Options(select=("TF013",)))
    assert [(case.get("name") or "").partition(" ")[0] for case in suite] == ["verdict", "TF013"]


def test_no_two_tests_have_the_same_class_and_name() -> None:
    names = ["a.b", "a_b", "a.b", "a\x1bb", "a\\x1bb"]
    root = document(*(InspectionOutcome(name, REPORTS["clean"]) for name in names))
    tests = [(case.get("classname"), case.get("name")) for case in root.iter("testcase")]
    assert len(set(tests)) == len(tests) == len(names) * (len(CHECKS) + 1)
    assert all((case.get("classname") or "").count(".") == 1 for case in root.iter("testcase"))


def hostile(text: str) -> Report:
    found = (replace(finding("TF013", "error", 1), message=text, fix=text), replace(finding("TF004"), message=text))
    note = replace(finding("TF038", "note"), message=text)
    made = replace(REPORTS["bad"], findings=found, notes=(note,), verdict=Verdict("broken", text))
    assert made.template is not None
    return replace(made, template=replace(made.template, origin=text))


@given(st.text(st.characters() | st.sampled_from("\x00\x1b\ufffe\uffff\ud800\U0001fffe<&]>\"'\n\r\t\u2028\u202e")))
@example("x" * 300)  # longer than the name of a file may be
def test_any_text_gives_a_document_that_can_be_read(text: str) -> None:
    root = document(InspectionOutcome(f"m{text}", hostile(text)), InspectionOutcome(f"n{text}", None, text))
    assert [suite.tag for suite in root] == ["testsuite", "testsuite"]
    (failure,) = root.iter("failure")
    shown = (failure.get("message") or "") + (failure.text or "")
    # Whether an unassigned Unicode character is printable depends on the version of Python.
    assert {unicodedata.category(char) for char in shown if char != "\n"}.isdisjoint({"Cc", "Cf", "Cs", "Zl", "Zp"})


def test_characters_that_xml_cannot_have_are_replaced() -> None:
    root = document(InspectionOutcome("m", hostile("a\x00\x1b\ufffe\ud800<]]>&b")))
    (failure,) = root.iter("failure")
    assert failure.get("message") == "error: a\\x00\\x1b\ufffd\\ud800<]]>&b (line 1 of the template)"


@pytest.mark.sample(0)
def test_models_of_the_corpus() -> None:
    places = [str(MODELS / name) for name in ("json-frames", "in-conflict", "broken")]
    done = CliRunner().invoke(main, ["inspect", *places, "--output-format", "junit", "--select", "error,warning"])
    root = fromstring(done.stdout)
    assert [suite.get("name") for suite in root] == ["json-frames", "in-conflict", "broken"]
    assert [numbers(suite)[1] for suite in root] == [0, 1, 1]
    assert done.exit_code == 1
