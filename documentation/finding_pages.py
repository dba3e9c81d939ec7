"""The pages of the findings: what `toolfmt explain` prints, how bad it is, and which models of the corpus have it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any, get_args

from documentation.markdown import literal, prose, said, span, table
from toolfmt.inspect import checks
from toolfmt.inspect.report.report import Severity

_MODELS = Path(__file__).parents[1] / "corpus" / "models"
_MEANS: dict[str, str] = {
    "error": "tool calling is not reliable, and `render` does not fix it by itself",
    "warning": "a plain client goes wrong, and what is named heals it",
    "note": "cost and taste",
}
_HEALERS: dict[str, str] = {
    "render": "toolfmt's `render` heals it by itself",
    "prompt": "toolfmt's `render` heals it with the strategy `prompt`",
    "setting": "a setting heals it",
    "request": "a change of the request heals it",
    "template": "an edit of the template heals it",
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
    healed = checks.fixed_by(check)
    heals = f"; {_HEALERS[healed]}" if healed else ""
    about = "\n\nIt is about what the files beside the template say." if checks.about_files(code) else ""
    return (
        f"---\ntitle: {code} {name}\n---\n\n# {code} {literal(name)}\n\n"
        f"**{severity}**: {_MEANS[severity]}{heals}.{about}\n\n{prose(checks.page(check))}\n{_where(seen)}"
    )


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
