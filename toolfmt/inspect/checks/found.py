"""What a check yields: the message, what to do, the line. The check's module gives code, name and page."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Found:
    """One thing that will go wrong: a plain sentence what, a plain sentence what to do, the template's line."""

    message: str
    fix: str
    line: int | None = None
