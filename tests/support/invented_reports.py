"""Reports that no inspection made, for tests of how reports are printed."""

from __future__ import annotations

import json
from typing import Any

import pytest
from click.testing import CliRunner, Result

from toolfmt.cli.commands import main
from toolfmt.errors import ToolfmtError
from toolfmt.inspect.checks import ALL_OUTCOMES
from toolfmt.inspect.checks.verdict import verdict
from toolfmt.inspect.facts import InspectionOptions
from toolfmt.inspect.report.report import (
    CAPABILITIES,
    Answer,
    Finding,
    FixedBy,
    FormatDecision,
    Report,
    Severity,
    TemplateInfo,
)
from toolfmt.inspect.runtimes.template_choice import RUNTIMES
from toolfmt.model.batch import Inspector

CLEAN = "{% for m in messages %}{{ m.role }}: {{ m.content }}{% endfor %}"

YES = Answer("yes", "seen")


def finding(code: str, severity: Severity = "warning", line: int | None = None) -> Finding:
    fixed_by: FixedBy = "render" if severity == "warning" else ""
    name, outcome, message = f"name-of-{code.lower()}", first_outcome(code), f"What {code} says."
    return Finding(code, name, message, line, "Do this.", severity, fixed_by, outcome=outcome, runtimes=RUNTIMES)


def first_outcome(code: str) -> str:
    """The first outcome of the finding with this code; an empty string if there is no such finding."""
    return next((outcome for found, outcome in ALL_OUTCOMES if found == code), "")


def report(path: str, *findings: Finding) -> Report:
    """A report with these findings and notes, in which every capability is there."""
    decided = FormatDecision("json", "verified")
    return Report(
        path=path,
        verdict=verdict(findings, decided, "template"),
        model_type="qwen3",
        template=TemplateInfo("chat_template.jinja", "default", "0" * 64, ("messages",)),
        capabilities=dict.fromkeys(CAPABILITIES, YES),
        format=decided,
        strategy="template",
        runtimes={},
        findings=tuple(one for one in findings if one.severity != "note"),
        notes=tuple(one for one in findings if one.severity == "note"),
    )


REPORTS: dict[str, Report] = {
    "bad": report("bad", finding("TF004"), finding("TF013", "error", 7), finding("TF038", "note")),
    "fair": report("fair", finding("TF004"), finding("TF014")),
    "noted": report("noted", finding("TF038", "note")),
    "clean": report("clean"),
}


@pytest.fixture
def invented(monkeypatch: pytest.MonkeyPatch) -> dict[str, InspectionOptions]:
    """The reports above instead of inspections; their arguments, by path."""
    options_by_path: dict[str, InspectionOptions] = {}

    def inspected(inspector: Inspector, place: str, worker: object) -> Report:
        options_by_path[place] = inspector.options
        if place not in REPORTS:
            raise ToolfmtError(f"{place}: no such\ndirectory; give one that is there")
        return REPORTS[place]

    monkeypatch.setattr(Inspector, "_report", inspected)
    return options_by_path


def run(*arguments: str) -> Result:
    return CliRunner().invoke(main, ["inspect", *arguments], prog_name="toolfmt")


def run_json(*arguments: str) -> tuple[int, Any]:
    result = run(*arguments, "--json")
    return result.exit_code, json.loads(result.stdout)


def lines(*arguments: str) -> tuple[int, list[dict[str, Any]]]:
    """The exit status, and the output for several models, one JSON object per line."""
    result = run(*arguments, "--json")
    assert result.stdout.endswith("\n")
    return result.exit_code, [json.loads(line) for line in result.stdout[:-1].split("\n")]
