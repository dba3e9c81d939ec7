"""Every finding is shown by a template that has it, with its severity and line, and by none that does not have it.

`tests/findings/<CODE>/`, or `tests/findings/<CODE>/<outcome>/` if the finding has several outcomes, contains
`with.jinja`, or the model directory `with/`, and in `expected.json` the findings of this code and outcome in its
report: `severity` and `line`. `without.jinja` or `without/` is as similar as possible and does not have the finding; if
neither exists, `clean.jinja` is used. A model directory may contain `options.json`, the options of the inspection.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from left_to_fill import check_filled

from toolfmt.inspect import checks
from toolfmt.inspect.facts import InspectionOptions
from toolfmt.inspect.inspection import inspect_files
from toolfmt.inspect.report.report import Finding, FindingKey
from toolfmt.templates import load_files

HERE = Path(__file__).parent
LEADS = ("What it checks", "Why it matters", "Affected runtimes", "Example", "Fix")
"""The paragraphs of every page."""
FOLDERS = {
    (code, outcome): HERE / code / outcome if len(checks.outcomes(check)) > 1 else HERE / code
    for check in checks.CHECKS
    for code in [checks.code(check)]
    for outcome in checks.outcomes(check)
}


def found(key: FindingKey, name: str) -> list[Finding]:
    """Return the findings of this code and outcome in the report on the template or model directory `name`."""
    folder = FOLDERS[key]
    path = next((path for path in (folder / f"{name}.jinja", folder / name) if path.exists()), HERE / "clean.jinja")
    options = path / "options.json"
    given = json.loads(options.read_text("utf-8")) if options.is_file() else {}
    report = inspect_files(load_files(path), InspectionOptions(**given))
    return [finding for finding in (*report.findings, *report.notes) if finding.key == key]


def seen(finding: Finding) -> dict[str, Any]:
    return {"severity": finding.severity, "line": finding.line}


@pytest.mark.parametrize("key", FOLDERS, ids="-".join)
def test_a_template_with_it_has_the_finding_and_one_without_it_does_not(key: FindingKey) -> None:
    findings = found(key, "with")
    assert [seen(finding) for finding in findings] == json.loads((FOLDERS[key] / "expected.json").read_text("utf-8"))
    assert findings
    for finding in findings:
        assert finding.message.endswith((".", "…"))
        assert finding.fix.endswith(".")
        assert "\n" not in finding.message
    assert found(key, "without") == []


@pytest.mark.sample(1_000)  # each takes a millisecond
@pytest.mark.parametrize("code", [checks.code(check) for check in checks.CHECKS])
def test_a_finding_is_complete(code: str) -> None:
    """It has a folder here and a page, and no line is left that `toolfmt dev new-finding` leaves to a person."""
    (check,) = [check for check in checks.CHECKS if checks.code(check) == code]
    assert check.__file__ is not None
    only = len(checks.outcomes(check)) == 1
    check_filled(code, [Path(check.__file__), *sorted((HERE / code).rglob("*.jinja"))])
    page = checks.explain(code)
    assert page == checks.explain(checks.name(check).upper())
    assert page.startswith(f"# {code} {checks.name(check)}\n")
    assert [lead for lead in LEADS if f"\n\n{lead}:" not in page] == []
    assert [one for one in checks.outcomes(check) if not only and f"- `{one}`: " not in page] == []


def test_codes_are_in_order_and_every_outcome_has_a_folder() -> None:
    codes = [checks.code(check) for check in checks.CHECKS]
    assert codes == sorted(set(codes))
    assert {path.parent for path in HERE.rglob("expected.json")} == set(FOLDERS.values())
