"""Reports in a file, one a line, to which a run adds what it looks at: cut off, the next run goes on where it stopped.

`ReportLines` is the file. `earlier` reads what stands there whole before anything is written, and takes away a last
line that was cut off; anything else in the file than what `toolfmt inspect --json` prints of several places is refused,
so that no other file is lost to a slip in a name. `add` writes the line of one more place at once.
"""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Iterator
from dataclasses import replace
from typing import Any, BinaryIO

from toolfmt.cli.output import json_line
from toolfmt.errors import ToolfmtError
from toolfmt.inspect.report.report import SCHEMA, Finding, FormatDecision, Report, Verdict
from toolfmt.model.batch import InspectionOutcome

_LONGEST = 200_000_000
"""Bytes of a line. A report is smaller than what a worker may answer."""
_BEGIN = b'{"path": "'


class ReportLines:
    """The file, opened and created where it is not there; raises `ToolfmtError` where it cannot be written, or is no
    plain file."""

    def __init__(self, file: str) -> None:
        self._name = file
        try:
            self._file: BinaryIO = open(file, "r+b" if os.path.lexists(file) else "x+b", opener=_plain)  # noqa: SIM115 - closed by its own method, when the run ends
        except (OSError, ValueError) as error:
            raise self._refused(error) from None

    def earlier(self) -> Iterator[InspectionOutcome]:
        """What became of the places whose lines stand in the file whole, in brief; behind the last of them the file
        ends, and `add` goes on.

        Raises `ToolfmtError` for a line that is none; then the file is as it was.
        """
        whole = 0
        for number, line in enumerate(iter(lambda: self._file.readline(_LONGEST), b""), 1):
            if not line.endswith(b"\n"):
                if not line.startswith(_BEGIN[: len(line)]) or len(line) == _LONGEST:
                    raise self._no_report(number)
                break
            yield self._report(line, number)
            whole += len(line)
        self._file.seek(whole)
        self._file.truncate()

    def add(self, looked: InspectionOutcome) -> None:
        """Write what became of a place as the next line."""
        try:
            self._file.write(json_line(looked.to_dict()).encode("utf-8", "backslashreplace"))
            self._file.flush()
        except OSError as error:
            raise self._refused(error) from None

    def close(self) -> None:
        self._file.close()

    def _report(self, line: bytes, number: int) -> InspectionOutcome:
        try:
            return _outcome(json.loads(line))
        except (ValueError, RecursionError, LookupError, TypeError, AttributeError):
            raise self._no_report(number) from None

    def _no_report(self, number: int) -> ToolfmtError:
        what = f"line {number:,} is not a report of this version of toolfmt"
        return ToolfmtError(f"{self._name}: {what}; name a file that --continue wrote, or a new one")

    def _refused(self, error: OSError | ValueError) -> ToolfmtError:
        why = error.strerror if isinstance(error, OSError) else error
        return ToolfmtError(f"{self._name}: cannot be written ({why}); name a file that can be")


def _outcome(told: dict[str, Any]) -> InspectionOutcome:
    """What a line says, as far as the exit status needs it; raises an error of any kind where it is no report."""
    path = "" + told["path"]
    if "error" in told:
        return InspectionOutcome(path, None, told["error"])
    if told["schema"] != SCHEMA:
        raise ValueError("the report of another version")
    findings, notes = (
        tuple(replace(Finding(**finding), new=None) for finding in told[name]) for name in ("findings", "notes")
    )
    report = Report(
        path=path,
        verdict=Verdict(**told["verdict"]),
        model_type=told["model_type"],
        template=None,
        capabilities={},
        format=FormatDecision(told["format"]["name"], told["format"]["confidence"]),
        strategy=told["strategy"],
        runtimes={},
        findings=findings,
        notes=notes,
    )
    return InspectionOutcome(path, report)


def _plain(file: str, flags: int) -> int:
    """Open a plain file and nothing that may block."""
    opened = os.open(file, flags | getattr(os, "O_NONBLOCK", 0), 0o666)
    if not stat.S_ISREG(os.fstat(opened).st_mode):
        os.close(opened)
        raise ValueError("no plain file")
    return opened
