"""`toolfmt report-bug`: options in, the report printed or written into a file that is not there yet."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import click

from toolfmt.cli.bug_report.gathering import GivenAnswer, Wanted, bug_report
from toolfmt.cli.input import counted, naming, pieces, read_json, shown
from toolfmt.cli.output import complain, print_text
from toolfmt.errors import BadTools, ToolfmtError

_LONGEST_ANSWER = 1_000_000
_MOST_IN_AN_ISSUE = 60_000
"""Characters; code hosts take some 65,000."""


@dataclass(frozen=True)
class Reporting:
    """What was typed."""

    place: str | None
    answer_file: str | None
    format_name: str | None
    tools_file: str | None
    prefix: str | None
    strict: bool
    with_template: bool
    with_answer: bool
    output: str | None
    trusted: bool

    def status(self) -> int:
        """Print or write the report; the exit status."""
        self._check()
        wanted = Wanted(self.place, self._answer(), self.with_template, self.with_answer, self.trusted)
        text = bug_report(wanted, complain)
        if self.output is None:
            print_text(text)
        else:
            _write(self.output, text)
        if len(text) > _MOST_IN_AN_ISSUE:
            complain(f"{len(text):,} characters, more than an issue takes; attach the report as a file")
        return 0

    def _check(self) -> None:
        of_answers = {
            "--format": self.format_name,
            "--tools": self.tools_file,
            "--prefix": self.prefix,
            "--strict": self.strict,
            "--with-answer": self.with_answer,
        }
        if self.answer_file is None and (given := [name for name, value in of_answers.items() if value]):
            raise click.UsageError(f"{given[0]} goes with --answer")
        if self.answer_file is not None and self.format_name is None and self.place is None:
            raise click.UsageError("--answer needs a --format, or a MODEL whose format it is read in")
        if self.with_template and self.place is None:
            raise click.UsageError("--with-template needs a MODEL")
        if self.tools_file == "-" == self.answer_file:
            raise click.UsageError("the answer and --tools cannot both be standard input")

    def _answer(self) -> GivenAnswer | None:
        if self.answer_file is None:
            return None
        from toolfmt.formats.format_files import given_format

        format = None if self.format_name is None else given_format(self.format_name)
        tools = None
        if self.tools_file is not None:
            with naming(self.tools_file, BadTools):
                tools = counted(read_json(self.tools_file), shown(self.tools_file), complain)
        return GivenAnswer(_text(self.answer_file, complain), format, tools, self.prefix or "", self.strict)


def _text(file: str, tell: Callable[[str], object]) -> str:
    """The answer, whole."""
    text = ""
    for piece in pieces(file, tell):
        text += piece
        if len(text) > _LONGEST_ANSWER:
            raise ToolfmtError(
                f"{shown(file)}: longer than {_LONGEST_ANSWER:,} characters; cut it to what is read wrong"
            )
    return text


def _write(file: str, text: str) -> None:
    try:
        with open(file, "x", encoding="utf-8", errors="backslashreplace", newline="\n") as page:
            page.write(text)
    except FileExistsError:
        raise ToolfmtError(f"{file}: there already; name another file") from None
    except OSError as error:
        raise ToolfmtError(f"{file}: cannot be written ({error.strerror}); name a file that can be") from None
