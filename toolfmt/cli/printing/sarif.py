"""Findings as SARIF 2.1.0, the form in which code hosts and editors take the results of checks.

`sarif` makes the JSON of one run from what became of each place; the command line prints it. Field names and what is
required are those of the OASIS standard and its JSON schema (sarif-schema-2.1.0.json, errata 01). The same findings
give the same JSON. A line is told only where the template is a file of its own: inside a JSON or GGUF file the
template's line is not the file's.
"""

from __future__ import annotations

import os.path
from collections.abc import Iterable, Iterator
from pathlib import Path, PurePath
from types import ModuleType
from typing import Any
from urllib.parse import quote

from toolfmt import __version__
from toolfmt.inspect.checks import CHECKS, code, name, page, severity
from toolfmt.inspect.report.report import Finding, Report
from toolfmt.model.batch import NOT_INSPECTED, InspectionOutcome

_SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"


def sarif(looked: Iterable[InspectionOutcome]) -> dict[str, Any]:
    """The log: every check as a rule, every finding and note as a result, every place that was not inspected as a
    notification, and the verdict on each place as a property.

    What became of the places is taken one by one, and nothing else of it is kept.
    """
    results: list[dict[str, Any]] = []
    unread: list[dict[str, Any]] = []
    verdicts: list[dict[str, str]] = []
    for one in looked:
        results += _results(one)
        if one.report is None:
            unread.append(_notification(one))
        else:
            verdicts.append(_verdict(one.place, one.report))
    run: dict[str, Any] = {
        "tool": {"driver": {"name": "toolfmt", "version": __version__, "rules": [_rule(check) for check in CHECKS]}},
        "invocations": [
            {"executionSuccessful": not unread} | ({"toolExecutionNotifications": unread} if unread else {})
        ],
        "results": results,
        "columnKind": "unicodeCodePoints",
        "properties": {"verdicts": verdicts},
    }
    return {"$schema": _SCHEMA, "version": "2.1.0", "runs": [run]}


def _verdict(place: str, report: Report) -> dict[str, str]:
    """The verdict on a place, for which the standard has no field of its own."""
    return {"place": relative(place), **report.verdict.to_dict()}


def _notification(one: InspectionOutcome) -> dict[str, Any]:
    text = f"{NOT_INSPECTED}: {one.reason}"
    return {"level": "error", "message": {"text": text}, "locations": [_location(relative(one.place), None)]}


def _rule(check: ModuleType) -> dict[str, Any]:
    text = page(check)
    short, _, _ = text.partition("\n")
    why = text.strip().split("\n\n")[1:2]
    return {
        "id": code(check),
        "name": name(check),
        "shortDescription": {"text": short},
        "fullDescription": {"text": " ".join([short, *why]).replace("\n", " ")},
        "help": {"text": text, "markdown": text},
        "defaultConfiguration": {"level": severity(check)},
    }


def _results(one: InspectionOutcome) -> Iterator[dict[str, Any]]:
    report = one.report
    if report is None:
        return
    places = {code(check): position for position, check in enumerate(CHECKS)}
    for finding in (*report.findings, *report.notes):
        yield {
            "ruleId": finding.code,
            "ruleIndex": places[finding.code],
            "level": finding.severity,
            "message": {"text": _message(finding, report)},
            "locations": _locations(one.place, finding, report),
            **({} if finding.new is None else {"baselineState": "new" if finding.new else "unchanged"}),
        }


def _message(finding: Finding, report: Report) -> str:
    """What was found and what to do; the line of a template inside another file is told in words."""
    inside = finding.line is not None and not _is_a_file(report)
    where = f" (line {finding.line} of the template)" if inside else ""
    return f"{finding.message}{where} {finding.fix}"


def _locations(place: str, finding: Finding, report: Report) -> list[dict[str, Any]]:
    uri = relative(place)
    if report.template is None:  # GitHub refuses a whole log for one result without a location
        return [_location(uri, None)]
    if Path(place).is_dir() or not os.path.exists(place):
        uri = report.template.origin if uri == "." else f"{uri}/{report.template.origin}"
    return [_location(uri, finding.line if _is_a_file(report) else None)]


def _location(uri: str, line: int | None) -> dict[str, Any]:
    # A colon in the first part of a relative reference would make it a scheme (RFC 3986, 4.2): quote it.
    physical: dict[str, Any] = {"artifactLocation": {"uri": quote(_bytes(uri), safe="/")}}
    if line is not None:
        physical["region"] = {"startLine": max(1, line)}
    return {"physicalLocation": physical}


def _bytes(uri: str) -> bytes:
    """As the file system has it, where a name may be no UTF-8."""
    try:
        return uri.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:  # half a surrogate pair, which no file's name holds
        return uri.encode("utf-8", "replace")


def _is_a_file(report: Report) -> bool:
    """Whether the template in force is a file of its own, so that its lines are the file's."""
    return report.template is not None and report.template.origin.endswith(".jinja")


def relative(place: str) -> str:
    """The place as seen from the working directory, which is where code hosts start from; with / between the parts.

    A place outside of it is called by its last part, so that no path of this machine gets into the log.
    """
    if not os.path.exists(place):
        return place
    try:
        path = os.path.relpath(place)
    except ValueError:  # on another drive than the working directory
        path = os.path.abspath(place)
    if path.startswith("..") or os.path.isabs(path):
        path = os.path.basename(os.path.realpath(place))
    return PurePath(path).as_posix()
