"""The directory contains a tokenizer.json that is not a tokenizer.

What it checks: whether `tokenizer.json` can be loaded. If not, the report contains nothing about tokens.

Why it matters: a runtime does not start, or uses another tokenizer that splits the prompt differently.

Affected runtimes: every runtime that reads this file.

Example:

    version https://git-lfs.github.com/spec/v1

Fix: download or convert the file again. A file of a few hundred bytes is often the pointer that Git leaves if Git LFS
is not installed.
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
    if facts.tokenizer is not None and facts.tokenizer.problem:
        yield Diagnostic(f"{facts.tokenizer.problem}.", "Download tokenizer.json again.")
