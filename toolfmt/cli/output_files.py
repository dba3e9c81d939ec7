"""What `toolfmt inspect` writes into files beside what it prints: web pages, and a summary for a CI run.

Each takes what became of the places one after the other (`add`), and writes what can only be written at the end then
(`finish`). Of a place nothing is kept but what the end needs. Both raise `ToolfmtError` where a file cannot be written;
where that can be seen before anything is looked at, it is raised when the thing is made.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Protocol

from toolfmt.cli.output import STANDARD_OUTPUT, print_text, write_page
from toolfmt.cli.printing.summary import Summary
from toolfmt.cli.special_files import write_special
from toolfmt.errors import ToolfmtError
from toolfmt.model.batch import InspectionOutcome
from toolfmt.templates import place_name

_NOT_IN_NAMES = re.compile(r"[^A-Za-z0-9._-]+")
_LONGEST_NAME = 80


class Beside(Protocol):
    """Something that is written beside the report."""

    def add(self, looked: InspectionOutcome) -> None:
        """Take what became of one more place."""

    def finish(self) -> None:
        """Write what is left to be written."""


class OnePage:
    """The page of one place; printed where the file is called `-`."""

    def __init__(self, file: str) -> None:
        self._file = _checked(file)
        self._page = ""

    def add(self, looked: InspectionOutcome) -> None:
        from toolfmt.cli.printing.page import report_page

        self._page = "" if looked.report is None else report_page(looked.report)

    def finish(self) -> None:
        if self._file == "-":
            print_text(self._page)
        else:
            write_page(self._file, self._page)


class Pages:
    """A page of each place in a folder `FILE.d`, and the page `FILE` that lists them."""

    def __init__(self, file: str) -> None:
        self._file = _checked(file)
        self._folder = Path(f"{file}.d")
        self._looked: list[InspectionOutcome] = []
        self._names: list[str] = []
        self._taken: set[str] = set()

    def add(self, looked: InspectionOutcome) -> None:
        from toolfmt.cli.printing.page import report_page

        name = ""
        if looked.report is not None:
            name = f"{self._folder.name}/{self._name(looked.place)}"
            self._make_folder()
            write_page(str(self._folder.parent / name), report_page(looked.report, f"../{Path(self._file).name}"))
        self._looked.append(looked.in_brief())
        self._names.append(name)

    def finish(self) -> None:
        from toolfmt.cli.printing.index_page import index_page

        write_page(self._file, index_page(self._looked, self._names))

    def _name(self, place: str) -> str:
        """A file's name for a place, which no other place has, whatever letters are told apart there."""
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


class SummaryFile:
    """A short Markdown, added to a file; printed where that is called `-`."""

    def __init__(self, file: str) -> None:
        self._file = _checked(file)
        self._summary = Summary()

    def add(self, looked: InspectionOutcome) -> None:
        self._summary.add(looked)

    def finish(self) -> None:
        text = self._summary.text()
        if self._file == "-" or self._file in STANDARD_OUTPUT:
            print_text(text)
            return
        try:
            data = text.encode("utf-8", "backslashreplace")
            if not write_special(self._file, data):
                with open(self._file, "ab") as file:
                    file.write(data)
        except (OSError, ValueError) as error:
            why = error.strerror if isinstance(error, OSError) else error
            raise ToolfmtError(f"{self._file}: cannot be written ({why}); name a file that can be") from None


def _checked(file: str) -> str:
    """The file's name, where nothing stands against it that is known before anything is written."""
    path = Path(file)
    for wrong, why in ((path.is_dir(), "Is a directory"), (not path.parent.is_dir(), "No such file or directory")):
        if file != "-" and wrong:
            raise ToolfmtError(f"{file}: cannot be written ({why}); name a file that can be")
    return file
