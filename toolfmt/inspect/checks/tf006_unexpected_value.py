"""A value in the model's files has an unexpected type and is ignored.

What it checks: the values that toolfmt reads from the model's files. For example, a template is a list instead of a
string, a token is a number, or an id is not in the vocabulary. The rest of the report was made without these values.

Why it matters: one runtime ignores such a value, another fails on it, and a third prints it into the prompt.

Affected runtimes: every runtime that reads the value, each in its own way.

Example:

    "bos_token": 1

In a GGUF file, a list of strings under `tokenizer.chat_template` is another example.

Fix: copy the value from the original model, or remove it.

    "bos_token": "<s>"
"""

from __future__ import annotations

from collections.abc import Iterator

from toolfmt.inspect.checks.diagnostic import Diagnostic
from toolfmt.inspect.facts import Facts
from toolfmt.inspect.report.report import FixedBy, Severity

SEVERITY: Severity = "warning"
ABOUT_FILES = True
FIXED_BY: FixedBy = "setting"

_MOST_REPORTED = 8


def check(facts: Facts) -> Iterator[Diagnostic]:
    problems = facts.files.problems
    for problem in problems[:_MOST_REPORTED]:
        yield Diagnostic(f"{problem}.", "Copy the value from the original model, or remove it.")
    more = len(problems) - _MOST_REPORTED
    if more > 0:
        yield Diagnostic(f"{more} more values are invalid.", "Fix the values above first.")
