"""A file of reports, one per line, to which a run appends, so that an interrupted run can continue.

`ReportLines` is the file. `earlier` reads the complete lines before anything is written, and removes an incomplete last
line. It rejects a file with anything but lines of `toolfmt inspect --json` for several models, so that a mistyped name
does not destroy another file. `add` writes the line of one more model immediately.
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
from toolfmt.inspect.report.report import SCHEMA, Finding, FormatDecision, Report, Sections
from toolfmt.inspect.report.verdicts import Advice, RuntimeVerdict, Verdict
from toolfmt.model.batch import InspectionOutcome

_LONGEST = 200_000_000
"""Maximum size of a line in bytes. A report is smaller than the limit of a worker's response."""
_BEGIN = b'{"path": "'


class ReportLines:
    """The file, created if it does not exist. Raises `ToolfmtError` if it is not a writable regular file."""

    def __init__(self, file: str) -> None:
        self._name = file
        try:
            self._file: BinaryIO = open(file, "r+b" if os.path.lexists(file) else "x+b", opener=_plain)  # noqa: SIM115 - closed by its own method, when the run ends
        except (OSError, ValueError) as error:
            raise self._not_writable(error) from None

    def earlier(self) -> Iterator[InspectionOutcome]:
        """Yield brief outcomes of the complete lines in the file. `add` appends after the last of them.

        Raises `ToolfmtError` for an invalid line. The file is then unchanged.
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
        """Append the outcome for a path as the next line."""
        try:
            self._file.write(json_line(looked.to_dict()).encode("utf-8", "backslashreplace"))
            self._file.flush()
        except OSError as error:
            raise self._not_writable(error) from None

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

    def _not_writable(self, error: OSError | ValueError) -> ToolfmtError:
        why = error.strerror if isinstance(error, OSError) else error
        return ToolfmtError(f"{self._name}: cannot be written ({why}); name a writable file in an existing directory")


def _outcome(data: dict[str, Any]) -> InspectionOutcome:
    """Return the outcome in a line, as far as the exit status needs it. Raises any error if it is not a report."""
    path = "" + data["path"]
    if "error" in data:
        return InspectionOutcome(path, None, data["error"])
    if data["schema"] != SCHEMA:
        raise ValueError("the report of another version")
    findings, notes, ignored = (
        tuple(replace(Finding(**finding), new=None, runtimes=tuple(finding["runtimes"])) for finding in data[name])
        for name in ("findings", "notes", "ignored")
    )
    verdict = data["verdict"]
    runtimes = {
        name: RuntimeVerdict(one["status"], one["settings"], tuple(one["codes"]))
        for name, one in verdict["runtimes"].items()
    }
    report = Report(
        path=path,
        verdict=Verdict(verdict["tools"], verdict["sentence"], runtimes),
        model_type=data["model_type"],
        template=None,
        capabilities={},
        format=FormatDecision(data["format"]["name"], data["format"]["confidence"]),
        strategy=data["strategy"],
        runtimes={},
        findings=findings,
        notes=notes,
        ignored=ignored,
        sections=Sections(advice=tuple(Advice(**advice) for advice in data["advice"])),
    )
    return InspectionOutcome(path, report)


def _plain(file: str, flags: int) -> int:
    """Open a regular file and nothing that may block."""
    opened = os.open(file, flags | getattr(os, "O_NONBLOCK", 0), 0o666)
    if not stat.S_ISREG(os.fstat(opened).st_mode):
        os.close(opened)
        raise ValueError("no plain file")
    return opened
