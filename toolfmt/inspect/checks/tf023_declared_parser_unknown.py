"""The directory declares a parser that no known format is called.

It may be a misspelling, a plug-in of one runtime, or a format that toolfmt does not have yet. The declaration
was left out of the decision.

What to do: check the spelling against `toolfmt formats`.

Example: `"tool_parser_type": "not_a_parser"`.
"""

from __future__ import annotations

from collections.abc import Iterator

from toolfmt.inspect.checks.diagnostic import Diagnostic
from toolfmt.inspect.facts import Facts
from toolfmt.inspect.report.report import FixedBy, Severity

SEVERITY: Severity = "warning"
ABOUT_FILES = True
FIXED_BY: FixedBy = "setting"


def check(facts: Facts) -> Iterator[Diagnostic]:
    for declared in facts.decided.declarations:
        if not declared.formats:
            yield Diagnostic(
                f"{declared.source} declares {declared.value!r}, which no known format is called.",
                "Check the spelling against the list of `toolfmt formats`.",
            )
