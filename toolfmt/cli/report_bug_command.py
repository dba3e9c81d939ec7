"""`toolfmt report-bug`: print the report."""

from __future__ import annotations

from dataclasses import dataclass

import click

from toolfmt.cli.bug_report.report import WrongOutput, bug_report
from toolfmt.cli.input import counted, naming, pieces, read_json, shown
from toolfmt.cli.output import complain, print_text
from toolfmt.errors import BadTools, ToolfmtError

_LONGEST_ANSWER = 1_000_000
_MOST_IN_AN_ISSUE = 60_000
"""Maximum number of characters; code hosts accept about 65,000."""


@dataclass(frozen=True)
class Reporting:
    """The options."""

    place: str | None
    answer_file: str | None
    format_name: str | None
    tools_file: str | None
    trusted: bool

    def status(self) -> int:
        """Print the report. Return the exit status."""
        self._check()
        text = bug_report(self.place, self._output(), trusted=self.trusted, warn=complain)
        print_text(text)
        if len(text) > _MOST_IN_AN_ISSUE:
            complain(f"{len(text):,} characters, more than an issue takes; attach the report as a file")
        return 0

    def _check(self) -> None:
        of_answers = {"--format": self.format_name, "--tools": self.tools_file}
        if self.answer_file is None and (given := [name for name, value in of_answers.items() if value]):
            raise click.UsageError(f"{given[0]} goes with --model-output")
        if self.answer_file is not None and self.format_name is None and self.place is None:
            raise click.UsageError("--model-output needs --format, or the MODEL that wrote the output")
        if self.tools_file == "-" == self.answer_file:
            raise click.UsageError("the output and --tools cannot both be standard input")

    def _output(self) -> WrongOutput | None:
        if self.answer_file is None:
            return None
        from toolfmt.formats.serialization.files import named_format

        format = None if self.format_name is None else named_format(self.format_name)
        tools = None
        if self.tools_file is not None:
            with naming(self.tools_file, BadTools):
                tools = counted(read_json(self.tools_file), shown(self.tools_file), complain)
        return WrongOutput(_text(self.answer_file), format, tools)


def _text(file: str) -> str:
    """The whole output."""
    text = ""
    for piece in pieces(file, complain):
        text += piece
        if len(text) > _LONGEST_ANSWER:
            raise ToolfmtError(
                f"{shown(file)}: longer than {_LONGEST_ANSWER:,} characters; cut it to the part that fails"
            )
    return text
