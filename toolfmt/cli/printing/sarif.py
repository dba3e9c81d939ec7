"""Findings as SARIF 2.1.0, the format in which code hosts and editors read the results of checks.

`SarifLog` creates the JSON of one run from the outcome of each model; the command line prints it. Field names and
required fields are those of the OASIS standard and its JSON schema (sarif-schema-2.1.0.json, errata 01). The same
findings give the same JSON. A line is included only if the template is a file of its own: inside a JSON or GGUF file,
the template's line is not the file's.
"""

from __future__ import annotations

import os.path
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, metadata
from pathlib import PurePath
from types import ModuleType
from typing import Any
from urllib.parse import quote

from toolfmt import __version__
from toolfmt.inspect.checks import CHECKS, code, name, page, severity
from toolfmt.inspect.report.report import BY_TEMPLATE, Finding, Report
from toolfmt.model.batch import NOT_INSPECTED, InspectionOutcome

_SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"


class SarifLog:
    """The log of one run.

    Every check is a rule, every finding and note a result, every model that was not inspected a notification, and the
    verdict on each model a property.
    """

    def __init__(self) -> None:
        self._results: list[dict[str, Any]] = []
        self._unread: list[dict[str, Any]] = []
        self._verdicts: list[dict[str, str]] = []

    def add(self, outcome: InspectionOutcome) -> None:
        """Add one more model. Nothing else of the outcome is kept."""
        self._results += _results(outcome)
        if outcome.report is None:
            self._unread.append(_notification(outcome))
        else:
            self._verdicts.append(_verdict(outcome.place, outcome.report))

    def to_dict(self) -> dict[str, Any]:
        """The log as JSON data."""
        rules = [_rule(check) for check in CHECKS]
        notifications = {"toolExecutionNotifications": self._unread} if self._unread else {}
        run: dict[str, Any] = {
            "tool": {"driver": {"name": "toolfmt", "version": __version__, "rules": rules}},
            "invocations": [{"executionSuccessful": not self._unread} | notifications],
            "results": self._results,
            "columnKind": "unicodeCodePoints",
            "properties": {"verdicts": self._verdicts},
        }
        return {"$schema": _SCHEMA, "version": "2.1.0", "runs": [run]}


def _verdict(place: str, report: Report) -> dict[str, str]:
    """Return the verdict on a path. The standard has no field for it."""
    return {"place": relative(place), "tools": report.verdict.tools, "sentence": report.verdict.sentence}


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
        **({"helpUri": f"{site}reference/findings/{code(check)}.html"} if (site := _documentation()) else {}),
        "defaultConfiguration": {"level": severity(check)},
    }


def _documentation() -> str | None:
    """Return the address of the documentation in the package's metadata, or None if it has no real one yet."""
    try:
        urls = metadata("toolfmt").get_all("Project-URL") or []
    except PackageNotFoundError:
        return None
    named = dict(entry.split(", ", 1) for entry in urls)
    site = named.get("Documentation")
    return None if site is None or "OWNER" in site else site.rstrip("/") + "/"


def _results(one: InspectionOutcome) -> Iterator[dict[str, Any]]:
    report = one.report
    if report is None:
        return
    places = {code(check): position for position, check in enumerate(CHECKS)}
    for finding in (*report.findings, *report.notes, *report.ignored):
        yield {
            "ruleId": finding.code,
            "ruleIndex": places[finding.code],
            "level": finding.severity,
            "message": {"text": f"{message_text(finding, report)} {finding.fix}"},
            "locations": _locations(one.place, finding, report),
            **({} if finding.new is None else {"baselineState": "new" if finding.new else "unchanged"}),
            **({"suppressions": [_suppression(finding)]} if finding.ignored_by else {}),
        }


def _suppression(finding: Finding) -> dict[str, str]:
    kind = "inSource" if finding.ignored_by == BY_TEMPLATE else "external"
    return {"kind": kind, "status": "accepted", **({"justification": finding.reason} if finding.reason else {})}


def message_text(finding: Finding, report: Report) -> str:
    """The message. If the template is inside another file, it names the line of the template."""
    inside = finding.line is not None and not _is_a_file(report)
    return f"{finding.message} (line {finding.line} of the template)" if inside else finding.message


def _locations(place: str, finding: Finding, report: Report) -> list[dict[str, Any]]:
    return [_location(*file_and_line(place, finding, report))]  # GitHub rejects a log with a result without a location


def file_and_line(place: str, finding: Finding, report: Report) -> tuple[str, int | None]:
    """The path of the template, relative to the working directory, and the line in this file if it has one."""
    path = relative(place)
    if report.template is None:
        return path, None
    if os.path.isdir(place) or not os.path.exists(place):
        path = report.template.origin if path == "." else f"{path}/{report.template.origin}"
    return path, finding.line if _is_a_file(report) else None


def _location(uri: str, line: int | None) -> dict[str, Any]:
    # A colon in the first part of a relative reference would make it a scheme (RFC 3986, 4.2): quote it.
    physical: dict[str, Any] = {"artifactLocation": {"uri": quote(_bytes(uri), safe="/")}}
    if line is not None:
        physical["region"] = {"startLine": max(1, line)}
    return {"physicalLocation": physical}


def _bytes(uri: str) -> bytes:
    """Return the path as bytes of the file system, because a name may not be valid UTF-8."""
    try:
        return uri.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:  # half a surrogate pair, which file names cannot contain
        return uri.encode("utf-8", "replace")


def _is_a_file(report: Report) -> bool:
    """Return whether the template in force is a file of its own, so that its lines are the file's."""
    return report.template is not None and report.template.origin.endswith(".jinja")


def relative(place: str) -> str:
    """Return the path relative to the working directory, which code hosts use as the root, with / as the separator.

    A path outside of it becomes its last component, so that the log contains no path of this machine.
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
