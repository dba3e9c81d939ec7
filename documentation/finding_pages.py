"""The pages of the findings: what `toolfmt explain` prints, how bad it is, and which models of the corpus have it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any, get_args

from documentation.markdown import literal, prose, said, span, table
from toolfmt.inspect import checks
from toolfmt.inspect.checks.diagnostic import FindingOutcome
from toolfmt.inspect.report.report import Severity

_MODELS = Path(__file__).parents[1] / "corpus" / "models"
_MEANS: dict[str, str] = {
    "error": "tool calling is not reliable, and `render` does not fix it by itself",
    "warning": "a plain client goes wrong, and what is named fixes it",
    "note": "cost and taste",
}
_FIXES: dict[str, str] = {
    "render": "toolfmt's `render` fixes it by itself",
    "prompt": "toolfmt's `render` fixes it with the strategy `prompt`",
    "setting": "a setting fixes it",
    "request": "a change of the request fixes it",
    "template": "an edit of the template fixes it",
}


def pages() -> dict[str, str]:
    """Every page of a finding, and the table of all, by their paths in the site."""
    seen = _seen()
    listed = {
        f"reference/findings/{checks.code(check)}.md": _page(check, seen.get(checks.code(check), []))
        for check in checks.CHECKS
    }
    return {"reference/findings.md": _overview(), **listed}


def _overview() -> str:
    rows = [
        (
            f"[{checks.code(check)}](findings/{checks.code(check)}.md)<br>{span(checks.name(check))}",
            checks.severity(check),
            _first_line(check),
        )
        for check in checks.CHECKS
    ]
    means = table(("severity", "means"), [(span(name), _MEANS[name]) for name in get_args(Severity)])
    return (
        "# Findings\n\nWhat `toolfmt inspect` may find, each with a page: what it is, why it matters, what to do. "
        "`toolfmt explain CODE` prints the same. The severity shows how reliable tool calling is with the model as "
        f"it is; a check may say less or more of a single thing that it found.\n\n{means}\n"
    ) + table(("finding", "severity", "what it says"), rows)


def _first_line(check: ModuleType) -> str:
    return prose(checks.page(check).partition("\n")[0])


def _page(check: ModuleType, seen: list[tuple[str, dict[str, Any]]]) -> str:
    code, name, severity = checks.code(check), checks.name(check), checks.severity(check)
    outcomes = checks.outcomes(check)
    means = f"**{severity}**: {_MEANS[severity]}{_fixed_by(outcomes[name])}." if name in outcomes else _outcomes(check)
    return (
        f"---\ntitle: {code} {name}\n---\n\n# {code} {literal(name)}\n\n"
        f"{means}\n\n{prose(checks.page(check))}\n{_where(seen)}"
    )


def _fixed_by(outcome: FindingOutcome) -> str:
    fixed = f"; {_FIXES[outcome.fixed_by]}" if outcome.fixed_by else ""
    return fixed + ("; it depends on the files next to the template" if outcome.about_files else "")


def _outcomes(check: ModuleType) -> str:
    """The outcomes of a check that has several, each with its severity and the finding that it replaces."""
    rows = [
        (
            span(outcome),
            f"{declared.severity}{_fixed_by(declared)}",
            span(declared.replaces) if declared.replaces else "",
        )
        for outcome, declared in checks.outcomes(check).items()
    ]
    return table(("outcome", "severity", "was"), rows)


def _where(seen: list[tuple[str, dict[str, Any]]]) -> str:
    if not seen:
        return "\nNo model of the small corpus that toolfmt is tested with has it.\n"
    told = [
        f"- {span(f'corpus/models/{model}')} ({finding['severity']}): {said(finding['message'])}<br>"
        f"→ {said(finding['fix'])}\n"
        for model, finding in seen
    ]
    what = "In the small models that toolfmt is tested with; `toolfmt inspect` says there:"
    return f"\n## Where it is seen\n\n{what}\n\n" + "".join(told)


def _seen() -> dict[str, list[tuple[str, dict[str, Any]]]]:
    """The findings of the corpus' models by code: what their reports, which the tests compare with real ones, hold."""
    found: dict[str, list[tuple[str, dict[str, Any]]]] = {}
    for model, finding in _found():
        found.setdefault(finding["code"], []).append((model, finding))
    return found


def _found() -> Iterator[tuple[str, dict[str, Any]]]:
    for file in sorted(_MODELS.glob("*/report.json")):
        report = json.loads(file.read_text(encoding="utf-8"))
        for finding in (*report["findings"], *report["notes"]):
            yield file.parent.name, finding
