"""What a check yields: the message, what to do, the line. The check's module gives code, name, severity and page."""

from __future__ import annotations

from dataclasses import dataclass

from toolfmt.inspect.report.report import FixedBy, Severity


@dataclass(frozen=True)
class Diagnostic:
    """One thing that will go wrong: a plain sentence what, a plain sentence what to do, the template's line.

    `severity` is for what is better or worse than the check's own, `fixed_by` for what another thing heals.
    """

    message: str
    fix: str
    line: int | None = None
    severity: Severity | None = None
    fixed_by: FixedBy | None = None
