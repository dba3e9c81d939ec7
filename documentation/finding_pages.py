"""The pages of the findings: what `toolfmt explain` prints, and the severity."""

from __future__ import annotations

import re
from types import ModuleType
from typing import get_args

from documentation.markdown import literal, prose, span, table
from toolfmt.inspect import checks
from toolfmt.inspect.checks.diagnostic import FindingOutcome
from toolfmt.inspect.report.report import Severity

_MEANS: dict[str, str] = {
    "error": "tool calling is not reliable, and `toolfmt render` cannot fix it",
    "warning": "a plain client fails; the fix is listed",
    "note": "cost or style",
}
_FIXES: dict[str, str] = {
    "render": "`toolfmt render` fixes it",
    "prompt": "`toolfmt render --strategy prompt` fixes it",
    "setting": "a setting fixes it",
    "request": "a change of the request fixes it",
    "template": "an edit of the template fixes it",
}

_CODES = {
    "The template and its files": "TF001 TF002 TF004 TF005 TF006 TF007 TF021 TF039 TF060 TF068 TF070 TF085 TF095",
    "Tool definitions": "TF010 TF011 TF040 TF041 TF042 TF044 TF067 TF078",
    "Tool calls": "TF009 TF013 TF014 TF017 TF019 TF030 TF049 TF053",
    "Tool results": "TF020 TF029 TF031 TF032",
    "Format and parser": "TF022 TF023 TF024 TF025 TF026 TF043 TF061",
    "System, user and other messages": "TF003 TF027 TF034 TF036 TF037 TF076 TF090 TF091",
    "Reasoning": "TF033 TF075",
    "Generation prompt and stop tokens": "TF038 TF045 TF046 TF048 TF065 TF069 TF094",
    "Prefix cache": "TF050",
    "Security": "TF047 TF055 TF056 TF057 TF086 TF093",
}
_TOPICS = {topic: codes.split() for topic, codes in _CODES.items()}

_LEAD = re.compile(
    r"^(What it checks|Why it matters|Affected runtimes|Example|Fix|References):(?: (\S)|$)", re.MULTILINE
)
"""The beginnings of the paragraphs of a page, which become headings."""


def _heading(lead: re.Match[str]) -> str:
    return f"## {lead[1]}\n\n{(lead[2] or '').upper()}"


def pages() -> dict[str, str]:
    """Every page of a finding, and the table of all, by their paths in the site."""
    listed = {f"reference/findings/{checks.code(check)}.md": _page(check) for check in checks.CHECKS}
    return {"reference/findings.md": _overview(), **listed}


def _overview() -> str:
    means = table(("severity", "means"), [(span(name), _MEANS[name]) for name in get_args(Severity)])
    by_code = {checks.code(check): check for check in checks.CHECKS}
    groups = [
        f"## {topic}\n\n" + table(("finding", "severity", "problem"), [_row(by_code.pop(code)) for code in codes])
        for topic, codes in _TOPICS.items()
    ]
    if by_code:
        raise ValueError(f"no topic lists {', '.join(by_code)}")
    return (
        "# Findings\n\nEverything that `toolfmt inspect` can report. Each finding has a page, which "
        "`toolfmt explain CODE` also prints. The severity shows how reliable tool calling is with the unchanged "
        "model; a single finding can "
        f"have a lower or higher severity than its check.\n\n{means}\n"
    ) + "\n".join(groups)


def _row(check: ModuleType) -> tuple[str, str, str]:
    code = checks.code(check)
    return (
        f"[{code}](findings/{code}.md)<br>{span(checks.name(check))}",
        checks.severity(check),
        _first_line(check),
    )


def _first_line(check: ModuleType) -> str:
    return prose(checks.page(check).partition("\n")[0])


def _page(check: ModuleType) -> str:
    code, name, severity = checks.code(check), checks.name(check), checks.severity(check)
    outcomes = checks.outcomes(check)
    means = f"**{severity}**: {_MEANS[severity]}{_fixed_by(outcomes[name])}." if name in outcomes else _outcomes(check)
    first, _, rest = checks.page(check).partition("\n\n")
    return (
        f"---\ntitle: {code} {name}\n---\n\n# {code} {literal(name)}\n\n"
        f"{prose(first)}\n\n{means}\n\n{prose(_LEAD.sub(_heading, rest))}\n"
    )


def _fixed_by(outcome: FindingOutcome) -> str:
    fixed = f"; {_FIXES[outcome.fixed_by]}" if outcome.fixed_by else ""
    return fixed + ("; it depends on the files next to the template" if outcome.about_files else "")


def _outcomes(check: ModuleType) -> str:
    """The outcomes of a check that has several, each with its severity and the finding that it replaces."""
    rows = [
        [
            span(outcome),
            f"{declared.severity}{_fixed_by(declared)}",
            span(declared.replaces) if declared.replaces else "",
        ]
        for outcome, declared in checks.outcomes(check).items()
    ]
    columns = 3 if any(replaced for _, _, replaced in rows) else 2
    return table(("outcome", "severity", "old name")[:columns], [row[:columns] for row in rows])
