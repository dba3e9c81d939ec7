"""The outputs of `toolfmt inspect`: one inspection, written in several formats to standard output and to files.

`Outputs` passes each outcome to every output, and finishes them at the end. An output that fails does not stop the
others. A file is replaced as a whole, and only if it is empty or has an earlier output of the same format. Markdown is
appended, because `$GITHUB_STEP_SUMMARY` collects the text of several steps.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Protocol

from toolfmt.cli.output import (
    PIPE_WIDTH,
    complain,
    is_terminal,
    json_line,
    json_text,
    print_text,
    terminal,
)
from toolfmt.cli.output_files import cannot_write, check_file, check_place, write_whole
from toolfmt.cli.output_targets import Target
from toolfmt.cli.printing.summary import Summary
from toolfmt.cli.rules.model_rules import ModelRules
from toolfmt.cli.special_files import write_special
from toolfmt.errors import ToolfmtError
from toolfmt.model.batch import InspectionOutcome
from toolfmt.templates import place_name

_WIDEST_TABLE = 1000
_NOT_IN_NAMES = re.compile(r"[^A-Za-z0-9._-]+")
_LONGEST_NAME = 80


@dataclass(frozen=True)
class Content:
    """What the outputs of a run show: whether there are `several` models, `full` for text, `statistics` instead of
    reports, and the rules for each model.
    """

    several: bool
    full: bool
    statistics: bool
    rules: ModelRules


class Output(Protocol):
    """One output of a run. Both methods raise `ToolfmtError` if it cannot be written."""

    keeps_part: bool
    """Whether an interrupted run finishes it, with the models inspected until then."""

    def add(self, outcome: InspectionOutcome) -> None:
        """Add the outcome of one more model."""

    def finish(self) -> None:
        """Write what is not written yet."""


class Outputs:
    """All outputs of a run, as a context manager. Raises `ToolfmtError` at the start if a file cannot be written."""

    def __init__(self, chosen: Sequence[Target], content: Content) -> None:
        self._outputs = [_output(target, content) for target in chosen]
        self.streams = content.several and any(
            target.file is None and target.format in ("json", "github") and not content.statistics for target in chosen
        )
        """Whether standard output gets text before the last model is inspected."""
        self.failed = False

    def add(self, outcome: InspectionOutcome) -> None:
        """Pass the outcome to every output. Raises `ToolfmtError` if the last one fails."""
        for output in list(self._outputs):
            try:
                output.add(outcome)
            except ToolfmtError as error:
                self._outputs.remove(output)
                _keep_part(output)
                if not self._outputs:
                    raise
                self._report(error)

    def __enter__(self) -> Outputs:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        for output in self._outputs:
            if kind is not None:
                _keep_part(output)
                continue
            try:
                output.finish()
            except ToolfmtError as failure:
                self._report(failure)

    def _report(self, error: ToolfmtError) -> None:
        self.failed = True
        complain(str(error))


def _keep_part(output: Output) -> None:
    if output.keeps_part:
        with suppress(ToolfmtError, OSError):
            output.finish()


def _output(target: Target, content: Content) -> Output:
    if target.format == "html" and target.file is not None:
        return HtmlPages(target.file) if content.several else HtmlPage(target.file)
    if target.format == "markdown":
        return MarkdownOutput(target.file)
    return TextOutput(target, content)


class TextOutput:
    """A format that is printed as text. A file is written as a whole."""

    keeps_part = False

    def __init__(self, target: Target, content: Content) -> None:
        self._target = target
        if target.file is not None:
            check_file(target.file, target.format)
        self._add, self._end = _printer(target, content)
        self._pieces: list[str] = []

    def add(self, outcome: InspectionOutcome) -> None:
        self._write(self._add(outcome))

    def finish(self) -> None:
        self._write(self._end())
        if self._target.file is not None:
            write_whole(self._target.file, "".join(self._pieces), self._target.format)

    def _write(self, text: str) -> None:
        if self._target.file is None:
            print_text(text)
        else:
            self._pieces.append(text)


class MarkdownOutput:
    """A short summary, appended to the file."""

    keeps_part = True

    def __init__(self, file: str | None) -> None:
        if file is not None:
            check_place(file)
        self._file = file
        self._summary = Summary()

    def add(self, outcome: InspectionOutcome) -> None:
        self._summary.add(outcome)

    def finish(self) -> None:
        text = self._summary.text()
        if self._file is None:
            print_text(text)
            return
        try:
            data = text.encode("utf-8", "backslashreplace")
            if not write_special(self._file, data):
                with open(self._file, "ab") as file:
                    file.write(data)
        except (OSError, ValueError) as error:
            raise cannot_write(self._file, error) from None


class HtmlPage:
    """The page of one model."""

    keeps_part = False

    def __init__(self, file: str) -> None:
        check_file(file, "html")
        self._file = file
        self._page = ""

    def add(self, outcome: InspectionOutcome) -> None:
        from toolfmt.cli.printing.page import report_page

        self._page = "" if outcome.report is None else report_page(outcome.report)

    def finish(self) -> None:
        write_whole(self._file, self._page, "html")


class HtmlPages:
    """A page for each model in the folder `FILE.d`, and the page `FILE`, which lists them."""

    keeps_part = True

    def __init__(self, file: str) -> None:
        check_file(file, "html")
        self._file = file
        self._folder = Path(f"{file}.d")
        self._outcomes: list[InspectionOutcome] = []
        self._names: list[str] = []
        self._taken: set[str] = set()

    def add(self, outcome: InspectionOutcome) -> None:
        from toolfmt.cli.printing.page import report_page

        name = ""
        if outcome.report is not None:
            name = f"{self._folder.name}/{self._name(outcome.place)}"
            self._make_folder()
            page = report_page(outcome.report, f"../{Path(self._file).name}")
            write_whole(str(self._folder.parent / name), page, "html")
        self._outcomes.append(outcome.in_brief())
        self._names.append(name)

    def finish(self) -> None:
        from toolfmt.cli.printing.index_page import index_page

        write_whole(self._file, index_page(self._outcomes, self._names), "html")

    def _name(self, place: str) -> str:
        """Return a file name that no other model has, ignoring case."""
        plain = _NOT_IN_NAMES.sub("-", place_name(place)).strip("-.")[:_LONGEST_NAME] or "model"
        number, name = 1, plain
        while name.lower() in self._taken:
            number += 1
            name = f"{plain}-{number}"
        self._taken.add(name.lower())
        return f"{name}.html"

    def _make_folder(self) -> None:
        try:
            self._folder.mkdir(exist_ok=True)
        except OSError as error:
            raise ToolfmtError(f"{self._folder}: cannot be made ({error.strerror}); name another file") from None


# --- the formats


_Printer = tuple[Callable[[InspectionOutcome], str], Callable[[], str]]
"""Return what is printed of each outcome when it arrives, and at the end."""


def _printer(target: Target, content: Content) -> _Printer:
    if content.statistics:
        from toolfmt.cli.printing.finding_counts import FindingCounts

        counted = FindingCounts()
        if target.format == "json":
            return _collecting(counted.add), lambda: json_text(counted.to_dict())
        colour = target.file is None and terminal()[1]
        return _collecting(counted.add), lambda: counted.text(colour)
    if target.format == "json":
        return (_json_of_several if content.several else _json_of_one), _nothing
    if target.format == "sarif":
        from toolfmt.cli.printing.sarif import SarifLog

        log = SarifLog()
        return _collecting(log.add), lambda: json_text(log.to_dict())
    if target.format == "github":
        from toolfmt.cli.printing.github import workflow_commands

        return workflow_commands, _nothing
    if target.format == "junit":
        from toolfmt.cli.printing.junit import JUnitReport

        report = JUnitReport(content.rules)
        return _collecting(report.add), report.text
    return _text_of_several(target.file is None) if content.several else _text_of_one(target.file is None, content)


def _nothing() -> str:
    return ""


def _collecting(add: Callable[[InspectionOutcome], None]) -> Callable[[InspectionOutcome], str]:
    def added(outcome: InspectionOutcome) -> str:
        add(outcome)
        return ""

    return added


def _json_of_one(outcome: InspectionOutcome) -> str:
    return json_text(outcome.to_dict() if outcome.report is None else outcome.report.to_dict())


def _json_of_several(outcome: InspectionOutcome) -> str:
    return json_line(outcome.to_dict())


def _text_of_one(printed: bool, content: Content) -> _Printer:
    from toolfmt.cli.printing.report import report_text

    shown = terminal() if printed else (PIPE_WIDTH, False)
    whole = not (printed and is_terminal())

    def text(outcome: InspectionOutcome) -> str:
        if outcome.report is None:
            return ""
        notes = content.rules.of(outcome.place).shows_notes
        return report_text(outcome.report, *shown, full=content.full, notes=notes, whole=whole)

    return text, _nothing


def _text_of_several(printed: bool) -> _Printer:
    from toolfmt.cli.printing.models import models_text

    outcomes: list[InspectionOutcome] = []

    def table() -> str:
        if not printed:
            return models_text(outcomes, None, False, cut=False)
        width, colour = terminal(_WIDEST_TABLE)
        bounded = is_terminal() or bool(os.environ.get("COLUMNS"))
        return models_text(outcomes, width if bounded else None, colour, cut=is_terminal())

    return _collecting(lambda outcome: outcomes.append(outcome.in_brief())), table
