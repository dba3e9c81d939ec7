"""A comment in the template is meant to ignore a finding, but it has no effect.

What it checks: the comments of the template that begin with `toolfmt:`. `{# toolfmt: ignore[TF014] reason #}` ignores
TF014, wherever the comment is. Several findings are separated by commas: a code, a name or an outcome each. The reason
is optional; reports show it.

- `ignored-finding-missing`: the template does not have the finding, or an earlier comment ignores it.
- `ignored-code-unknown`: no finding has this code or name. A comment cannot name several findings by the start of their
  codes, or by a severity.
- `ignored-finding-protected`: a template cannot ignore errors, and findings that warn users of a template that they do
  not trust: TF004, TF007, TF021, TF047, TF055, TF056, TF057, TF085, TF086, TF093 and TF095. Only the user can, with
  `--ignore` or a configuration.
- `ignore-comment-unreadable`: the comment names no finding in brackets, or the colon after `toolfmt` is missing. Or
  the comments name more than 100 findings.

Why it matters: a comment that has no effect hides that a problem was fixed, or that it is still reported.

Affected runtimes: none. A comment is not part of any prompt.

Example:

    {# toolfmt: ignore[TF999] our clients send objects #}

Fix: remove the code or the comment, or correct it. Write it on a separate line. Do not write markers such as
`<tool_call>` in the reason: some runtimes search the source of the template for them.

    {# toolfmt: ignore[TF014] our clients send objects #}
"""

from __future__ import annotations

from collections.abc import Iterator

from toolfmt.inspect.checks.diagnostic import Diagnostic, FindingOutcome
from toolfmt.inspect.facts import Facts
from toolfmt.inspect.report.wording import quote

_WHY_NOT_FIXED = "edit the comment"
_OF_NO_PROMPT = FindingOutcome("note", about_files=True, why_not_fixed=_WHY_NOT_FIXED)
OUTCOMES = {
    "ignored-finding-missing": _OF_NO_PROMPT,
    "ignored-code-unknown": _OF_NO_PROMPT,
    "ignored-finding-protected": _OF_NO_PROMPT,
    "ignore-comment-unreadable": _OF_NO_PROMPT,
}
PROTECTED = True

_LONGEST = 80


def check(facts: Facts) -> Iterator[Diagnostic]:
    for problem in facts.ignore_problems:
        code = quote(problem.code, _LONGEST)
        message, fix, outcome = {
            "unused": (
                f"A comment ignores {code}, but there is no such finding, or an earlier comment ignores it.",
                f"Remove {code} from the comment.",
                "ignored-finding-missing",
            ),
            "unknown": (
                f"A comment cannot ignore {code}: {problem.hint}.",
                "Write the code or the name of a finding.",
                "ignored-code-unknown",
            ),
            "protected": (
                f"A comment ignores {code}, which a template cannot ignore.",
                "Ignore it with --ignore or in toolfmt.toml.",
                "ignored-finding-protected",
            ),
            "too many": (
                "The comments of the template name too many findings: from here on, they ignore nothing.",
                "Name at most 100 findings.",
                "ignore-comment-unreadable",
            ),
            "unreadable": (
                "A comment is for toolfmt, but names no finding to ignore.",
                "Write `{# toolfmt: ignore[CODE] reason #}`.",
                "ignore-comment-unreadable",
            ),
        }[problem.kind]
        yield Diagnostic(message, fix, problem.line, outcome=outcome)
