"""Findings as JUnit XML, which GitLab, Jenkins and others show as test results.

A model is a test suite. Its test cases are the verdict and every check that is selected. A check fails if its findings
count for the exit status. Other errors and warnings, and ignored findings, are shown as a skipped test, and notes as
its output. Only what all of these tools read is used: one `failure` per test case, and no two test cases with the same
class and name.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from xml.etree.ElementTree import Element, SubElement, indent, tostring

from toolfmt.cli.printing.control_characters import visible
from toolfmt.cli.printing.models import names_of
from toolfmt.cli.printing.sarif import file_and_line, message_text
from toolfmt.cli.printing.severities import ignored_text, worst_first
from toolfmt.cli.rules.model_rules import ModelRules
from toolfmt.inspect.checks import CHECKS, code, name
from toolfmt.inspect.report.report import Finding, Report
from toolfmt.model.batch import NOT_INSPECTED, InspectionOutcome

_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_COUNTED = ("tests", "failures", "errors", "skipped")


class JUnitReport:
    """The test results of one run. The rules decide what is selected, and what counts for the exit status."""

    def __init__(self, rules: ModelRules) -> None:
        self._rules = rules
        self._places: list[str] = []
        self._suites: list[Element] = []

    def add(self, outcome: InspectionOutcome) -> None:
        """Add the suite of one more model."""
        suite = Element("testsuite")
        if outcome.report is None:
            _result(_case(suite, "inspection"), "error", NOT_INSPECTED, outcome.short_reason, outcome.reason)
        else:
            self._add_verdict(suite, outcome, outcome.report)
            self._add_checks(suite, outcome.place, outcome.report)
        self._places.append(outcome.place)
        self._suites.append(suite)

    def text(self) -> str:
        """The document."""
        root = Element("testsuites", name="toolfmt")
        for called, suite in zip(_unique(names_of(self._places)), self._suites, strict=True):
            suite.set("name", called)
            for case in suite:
                case.set("classname", _class(called))
            _count(suite)
            root.append(suite)
        for counted in _COUNTED:
            root.set(counted, str(sum(int(suite.get(counted, "0")) for suite in self._suites)))
        indent(root)
        return f'<?xml version="1.0" encoding="UTF-8"?>\n{tostring(root, encoding="unicode")}\n'

    def _add_verdict(self, suite: Element, outcome: InspectionOutcome, report: Report) -> None:
        case, verdict = _case(suite, "verdict"), report.verdict
        message = f"{verdict.tools}: {verdict.sentence}"
        if self._rules.fails_verdict(outcome):
            _result(case, "failure", verdict.tools, message, message)
        else:
            SubElement(case, "system-out").text = _xml(message)

    def _add_checks(self, suite: Element, place: str, report: Report) -> None:
        selected = self._rules.of(place).codes
        for id, called in ((code(check), name(check)) for check in CHECKS if code(check) in selected):
            case = _case(suite, f"{id} {called}")
            found = [one for one in worst_first((*report.findings, *report.notes)) if one.code == id]
            failing = [one for one in found if self._rules.fails_finding(place, one)]
            ignored = [one for one in report.ignored if one.code == id]
            if found or ignored:
                self._add_findings(case, failing or found or ignored, bool(failing), place, report)

    def _add_findings(self, case: Element, found: Sequence[Finding], failing: bool, place: str, report: Report) -> None:
        first = found[0]
        file, line = file_and_line(place, first, report)
        case.set("file", _xml(file))
        if line is not None:
            case.set("line", str(line))
        more = f" (and {len(found) - 1} more)" if found[1:] else ""
        message = f"{ignored_text(first)}{first.severity}: {message_text(first, report)}{more}"
        body = _body(found, place, report)
        if failing or first.severity != "note" or first.ignored_by:
            _result(case, "failure" if failing else "skipped", first.severity, message, body)
        else:
            SubElement(case, "system-out").text = _xml_lines(body)


def _case(suite: Element, called: str) -> Element:
    return SubElement(suite, "testcase", name=called)


def _result(case: Element, tag: str, kind: str, message: str, body: str) -> None:
    result = SubElement(case, tag, type=kind, message=_xml(message))
    result.text = _xml_lines(body)


def _body(findings: Sequence[Finding], place: str, report: Report) -> str:
    """Return the findings with their locations and fixes. Newlines within them are escaped."""
    parts = []
    for one in findings:
        file, line = file_and_line(place, one, report)
        where = file if line is None else f"{file}:{line}"
        new = "new " if one.new else visible(ignored_text(one))
        parts.append(f"{visible(where)}\n{new}{one.severity}: {visible(message_text(one, report))}\n{visible(one.fix)}")
    return "\n\n".join(parts)


def _count(suite: Element) -> None:
    tags = [result.tag for case in suite for result in case]
    numbers = (len(suite), tags.count("failure"), tags.count("error"), tags.count("skipped"))
    for counted, number in zip(_COUNTED, numbers, strict=True):
        suite.set(counted, str(number))


def _unique(names: Sequence[str]) -> list[str]:
    """Return unique names, because a test is identified by its class and name."""
    found: dict[str, str] = {}
    for called in map(_xml, names):
        number, unique = 1, called
        while _class(unique) in found:
            number += 1
            unique = f"{called} ({number})"
        found[_class(unique)] = unique
    return list(found.values())


def _class(name: str) -> str:
    """Return the class of a model's tests. Jenkins splits a class name at its dots: the package is `toolfmt`."""
    return f"toolfmt.{name.replace('.', '_')}"


def _xml_lines(text: str) -> str:
    return "\n".join(map(_xml, text.split("\n")))


def _xml(text: str) -> str:
    """Return the text with control characters escaped. Characters that XML cannot contain become U+FFFD."""
    return _NOT_XML.sub("\ufffd", visible(text))
