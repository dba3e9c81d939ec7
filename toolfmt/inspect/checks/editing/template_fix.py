"""What a check declares if a small change of the template may fix its findings."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Literal, TypeAlias

from toolfmt.inspect.checks.editing.prelude import Clause
from toolfmt.inspect.checks.editing.sites import Sites
from toolfmt.inspect.checks.editing.source import Edit
from toolfmt.inspect.report.report import Report

Variant: TypeAlias = Literal[
    "arguments-string",
    "arguments-object",
    "content-null",
    "content-absent",
    "calls-null",
    "calls-empty",
    "tools-empty",
    "developer",
    "parts",
]
"""A form in which a client may send a conversation."""


def only(*variants: Variant) -> Callable[[Report], tuple[Variant, ...]]:
    """Return a function that returns the same variants for every report."""
    return lambda report: variants


def _no_variants(report: Report) -> tuple[Variant, ...]:
    return ()


def _possible(report: Report) -> str:
    return ""


@dataclass(frozen=True)
class TemplateFix:
    """Edits of the template, or a clause before it, that may fix the findings of a check.

    `variants` returns the forms that the template should accept after it. A `typed` fix changes how values of calls
    that are not strings are written. `impossible` returns why a report rules the fix out, or an empty string.
    """

    variants: Callable[[Report], tuple[Variant, ...]] = _no_variants
    edits: Callable[[Sites], Iterator[Edit]] | None = None
    clause: Clause | None = None
    typed: bool = False
    outcomes: tuple[str, ...] = ()
    """The outcomes that it may fix; all of the check's if empty."""
    impossible: Callable[[Report], str] = _possible
