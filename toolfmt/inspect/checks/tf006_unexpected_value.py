"""A value in the model's files is of a type that nobody expects there, and counts as absent.

A template that is a list where a text is expected, a token that is a number, an id that the vocabulary does not
have: one runtime ignores such a value, the next one fails on it, and a third prints it into the prompt. What this
report says was found without it.

What to do: write the value as the original model has it, or leave it out.

Example: `"bos_token": 1` in `tokenizer_config.json`, or a list of texts under `tokenizer.chat_template` in a GGUF
file.
"""

from __future__ import annotations

from collections.abc import Iterator

from toolfmt.inspect.checks.diagnostic import Diagnostic
from toolfmt.inspect.facts import Facts
from toolfmt.inspect.report.report import FixedBy, Severity

SEVERITY: Severity = "warning"
ABOUT_FILES = True
FIXED_BY: FixedBy = "setting"

_TOLD_AT_MOST = 8


def check(facts: Facts) -> Iterator[Diagnostic]:
    problems = facts.files.problems
    for problem in problems[:_TOLD_AT_MOST]:
        yield Diagnostic(f"{problem}.", "Copy the value from the original model, or remove it.")
    more = len(problems) - _TOLD_AT_MOST
    if more > 0:
        yield Diagnostic(f"{more} more values are invalid.", "Fix the values above first.")
