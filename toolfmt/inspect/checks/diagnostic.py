"""What a check yields and declares; the check's module gives code, name and page."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from toolfmt.inspect.report.report import FixedBy, Severity
from toolfmt.inspect.runtimes.request_handling import RequestForm

Setting: TypeAlias = Literal["", "parser", "template-file", "same-template"]
"""What `--fix` may write: the name of a parser, the template into its own file, the same template into every file."""


@dataclass(frozen=True)
class Diagnostic:
    """A problem: a sentence for what goes wrong, a sentence for the fix, and the template's line.

    `outcome` is one of the check's `OUTCOMES`, if it declares them. `severity` and `fixed_by` replace the outcome's.
    `forms` replaces the outcome's, too. It concerns the runtimes that pass one of these forms of a request to the
    template, all of them if there are none; or only `runtimes`, if they are given.
    """

    message: str
    fix: str
    line: int | None = None
    severity: Severity | None = None
    fixed_by: FixedBy | None = None
    outcome: str = ""
    forms: tuple[RequestForm, ...] = ()
    runtimes: tuple[str, ...] | None = None


@dataclass(frozen=True)
class FindingOutcome:
    """One outcome of a check: its usual severity, and what fixes it if it is a warning.

    `replaces` is the code and the name of a finding that is this outcome now; both still select it. An outcome
    `about_files` depends on the files next to the template, not on what the template renders.
    """

    severity: Severity
    fixed_by: FixedBy = ""
    replaces: str = ""
    about_files: bool = False
    on_request: bool = False
    """Whether text shows it on request only, as a note: it is common, or a row of the report states it."""
    in_verdict: bool = False
    """Whether the verdict states it, unless there are errors. Text then shows it on request only, as a note."""
    setting: Setting = ""
    """The setting that may fix it."""
    why_not_fixed: str = ""
    """Why `--fix` does not try, or what to know if it fails."""
    forms: tuple[RequestForm, ...] = ()
    """The forms of a request that it is about. Empty if it does not depend on the form."""
    summary: str = ""
    """The phrase for it in the sentence of a verdict; the outcome's name if empty."""
