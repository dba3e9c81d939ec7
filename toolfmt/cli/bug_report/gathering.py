"""A bug report of what was given: versions, a model's inspection, an answer that was read wrong.

Whatever goes wrong while it looks is part of the report, not the end of it: that is the fault to be reported.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from toolfmt.cli.bug_report.errors import fault
from toolfmt.cli.bug_report.masking import Masking, markers_in
from toolfmt.cli.bug_report.output import answered, as_it_is, names_in
from toolfmt.cli.bug_report.page import Page
from toolfmt.cli.bug_report.scrubbing import scrubbed
from toolfmt.cli.bug_report.versions import versions
from toolfmt.errors import BadFormat, ToolfmtError
from toolfmt.formats import ToolCallFormat
from toolfmt.formats.known import KNOWN
from toolfmt.formats.stored import as_data


@dataclass(frozen=True)
class GivenAnswer:
    """An answer that was read wrong: `format` is None where the model's is meant."""

    text: str
    format: ToolCallFormat | None
    tools: list[dict[str, Any]] | None = None
    prefix: str = ""
    strict: bool = False


@dataclass(frozen=True)
class Wanted:
    """What a report is to be of; without anything, of the versions alone."""

    place: str | None = None
    answer: GivenAnswer | None = None
    with_template: bool = False
    with_answer: bool = False
    trusted: bool = False


def _nobody(line: str) -> None:
    """Who is told where nobody asks."""


def bug_report(wanted: Wanted, tell: Callable[[str], object] = _nobody) -> str:
    """The report, as Markdown. Raises `ToolfmtError` for an answer whose format nobody knows.

    `tell` is told in a line why a model cannot be read, with its name, which the report does not have.
    """
    page = Page(versions())
    with warnings.catch_warnings(action="ignore"):  # they quote what was given
        format = None if wanted.place is None else _model(page, wanted, wanted.place, tell)
        if wanted.answer is not None:
            _answer(page, wanted, wanted.answer, wanted.answer.format or format)
    return page.text()


def _model(page: Page, wanted: Wanted, place: str, tell: Callable[[str], object]) -> ToolCallFormat | None:
    """Tell of the model; its format, as far as that is known."""
    try:
        from toolfmt.cli.bug_report.inspected import Told
        from toolfmt.model.model import load

        told = Told(with_template=wanted.with_template)
        model = load(place, trusted=wanted.trusted)
        files = told.files(model.files)
    except Exception as error:  # noqa: BLE001 - whatever it is, it is what is to be reported
        if isinstance(error, ToolfmtError):
            tell(str(error))
        page.raised("The model cannot be read", fault(error, place=place))
        return None
    try:
        report = model.inspect()
        inspected = told.report(report)
    except Exception as error:  # noqa: BLE001 - see above
        page.model(files, None)
        page.raised("The inspection fails", fault(error))
        inspected = None
    else:
        page.model(files, inspected)
    if wanted.with_template:
        page.template((one.sha256, scrubbed(one.text)) for one in model.files.templates)
    return model.profile.tool_call_format if inspected is not None else None


def _answer(page: Page, wanted: Wanted, given: GivenAnswer, format: ToolCallFormat | None) -> None:
    if format is None:
        raise ToolfmtError("the format of this model is not known; name the one to read the answer with as --format")
    own = _as_data(format) if given.format is not None and format not in KNOWN else None
    if wanted.with_answer:
        told = as_it_is(format, scrubbed(given.text), scrubbed_json(given.tools), scrubbed(given.prefix), given.strict)
    else:
        known = markers_in(own) if own is not None else frozenset[str]()
        masking = Masking(names_in(given.tools), known)
        told = answered(format, given.text, given.tools, given.prefix, given.strict, masking)
    page.answer(told, own, wanted.with_answer)


def _as_data(format: ToolCallFormat) -> dict[str, Any] | None:
    """A format that is none of toolfmt's own; None for one that only code can say."""
    try:
        return as_data(format)
    except BadFormat:
        return None


def scrubbed_json(value: Any) -> Any:
    """The same value with its texts scrubbed."""
    if isinstance(value, str):
        return scrubbed(value)
    if isinstance(value, list):
        return [scrubbed_json(one) for one in value]
    if isinstance(value, dict):
        return {scrubbed(key): scrubbed_json(one) for key, one in value.items()}
    return value
