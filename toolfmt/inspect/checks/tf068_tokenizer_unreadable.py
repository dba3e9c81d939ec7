"""The directory holds a tokenizer.json that is not a tokenizer.

Runtimes that read this file do not start, or fall back to another tokenizer that cuts the prompt differently. Nothing
can be said about tokens here.

What to do: download or convert the file again. A file of some hundred bytes is often the pointer that Git leaves where
Git LFS is not installed.

Example: a tokenizer.json that begins with `version https://git-lfs`.
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
