"""A bug report as Markdown, to be pasted into an issue form. It says at its top what it holds."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from typing import Any

from toolfmt.cli.bug_report.errors import Fault
from toolfmt.cli.bug_report.output import Answered

HEAD = "Made by `toolfmt report-bug`, which sends nothing anywhere. Read it before you paste it.\n\nIt holds:\n"
_VERSIONS = "the versions below; nothing of the environment, of names or of places on the machine"
MODEL = (
    "of the model: what toolfmt decided, with codes and line numbers, the sha256 of each template and which of the "
    "usual files there are. Its name and its place are left out; of what its template and files say, letters are x and "
    "digits are 1, but in markers and names that toolfmt knows"
)
TEMPLATE = (
    "the text of the template and what it says elsewhere, as it stands; paths and the names of user and host are out"
)
ANSWER = (
    "the answer with x for letters and 1 for digits: lengths, signs and blanks are its own, and so are markers of "
    "formats, the words of JSON, `true`, `false` and `null`, and words such as name, user or string. Names of tools "
    "and parameters are others, the same everywhere; of their schemas there are the types, and no descriptions"
)
ANSWER_AS_IT_IS = "the answer and its tools as they stand; paths and the names of user and host are out"
FORMAT = "the format as it stands, which is none of toolfmt's own"
RAISED = "where in the code of toolfmt an exception was raised; its message has x where it may quote you"


class Page:
    """The report, part by part."""

    def __init__(self, versions: Mapping[str, str]) -> None:
        self._holds = [_VERSIONS]
        self._parts = ["## Versions\n", *_table(versions)]

    def model(self, place: Mapping[str, Any], report: Mapping[str, Any] | None) -> None:
        self._holding(MODEL)
        self._parts += ["\n## Model\n", *_compact_json(place)]
        if report is not None:
            self._parts += ["\n## Inspection\n", *_compact_json(report)]

    def template(self, texts: Iterable[tuple[str, str]]) -> None:
        """The templates, each with its sha256."""
        self._holding(TEMPLATE)
        for sha256, text in texts:
            self._parts += [f"\n## Template {sha256[:12]}\n", *_fenced("jinja", text)]

    def raised(self, title: str, fault: Fault) -> None:
        """An exception, and those that led to it."""
        self._holding(RAISED)
        self._parts.append(f"\n## {title}\n")
        told: Fault | None = fault
        lines: list[str] = []
        while told is not None:
            lines += [*(["led to by"] if lines else []), *told.places, f"{told.kind}: {told.message}"]
            told = told.led_by
        self._parts += _fenced("text", "\n".join(lines))

    def answer(self, answered: Answered, format: Mapping[str, Any] | None, as_it_is: bool) -> None:
        """The answer and what is read of it; `format` is one of a file."""
        self._holding(ANSWER_AS_IT_IS if as_it_is else ANSWER)
        if format is not None:
            self._holding(FORMAT)
            self._parts += ["\n## Format\n", *_compact_json(format)]
        self._parts += ["\n## Answer\n", *_compact_json(answered.case)]
        if answered.read.raised is None:
            events = [_line(event.to_dict()) for event in answered.read.events]
            self._parts += ["\n## What is read of it\n", *_fenced("text", "\n".join(events))]
        else:
            self.raised("What reading it raised", answered.read.raised)
        if not answered.alike:
            self._parts += [
                "\nThe answer itself is read otherwise, so the fault may not show above:\n",
                *_fenced("text", "\n".join(_line(one) for one in answered.original.outline())),
            ]
            if answered.original.raised is not None:
                self.raised("What reading the answer itself raised", answered.original.raised)
        elif not as_it_is:
            self._parts.append("\nThe answer itself is read alike: the same events, at the same places.")
        if not answered.in_pieces:
            self._parts.append("\nA character at a time it is read otherwise than whole.")
        self._parts.append("\n## What should be read\n\n(Please say: which calls, with which arguments.)")

    def text(self) -> str:
        """The whole report."""
        holds = "\n".join(f"- {what}." for what in self._holds)
        return _visible(f"{HEAD}\n{holds}\n\n" + "\n".join(self._parts) + "\n")

    def _holding(self, what: str) -> None:
        if what not in self._holds:
            self._holds.append(what)


def _table(rows: Mapping[str, str]) -> list[str]:
    return ["| | |", "|---|---|", *(f"| {name} | {value} |" for name, value in rows.items())]


def _compact_json(value: Mapping[str, Any]) -> list[str]:
    """A member a line, and of those that hold several, each of these a line."""
    lines = []
    for name, inside in value.items():
        several = isinstance(inside, (dict, list)) and len(_line(inside)) > 100
        if several and isinstance(inside, dict):
            rows = [f"    {_line(key)}: {_line(one)}" for key, one in inside.items()]
            lines.append(f"  {_line(name)}: {{\n" + ",\n".join(rows) + "\n  }")
        elif several:
            lines.append(f"  {_line(name)}: [\n" + ",\n".join(f"    {_line(one)}" for one in inside) + "\n  ]")
        else:
            lines.append(f"  {_line(name)}: {_line(inside)}")
    return _fenced("json", "{\n" + ",\n".join(lines) + "\n}")


def _line(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def _fenced(language: str, text: str) -> list[str]:
    """The text in a fence that nothing in it closes."""
    longest = max(map(len, re.findall("`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    return [f"{fence}{language}", text, fence]


def _visible(text: str) -> str:
    """The text with what a terminal or a page would not show, or would obey, as escapes."""
    return "".join(char if char.isprintable() or char in "\n\t" else json.dumps(char)[1:-1] for char in text)
