"""How a family writes JSON, as data: delimiters, line breaks and escapes."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

_MOST_INDENT = 16
_COMMA, _COLON = re.compile(r"[ \t]{0,4},[ \t]{0,4}"), re.compile(r"[ \t]{0,4}:[ \t]{0,4}")
_MARGIN = re.compile(r"[ \t]{0,64}")
_DELIMITERS = ((", ", ": "), (",", ":"), (",", ": "), (", ", ":"), (" , ", " : "), (", ", " : "), (",", " : "))
"""Delimiters between members, and between key and value. The most common ones come first, because an object with one
member shows only the second delimiter."""


@dataclass(frozen=True)
class JsonStyle:
    """How a value is written.

    Attributes:
        comma: The delimiter between members, with the spaces around it.
        colon: The delimiter between key and value, with the spaces around it.
        indent: The indentation of members, each on its own line. None writes everything on one line.
        margin: Whitespace at the start of each line except the first.
        sort_keys: Whether keys are sorted.
        ascii: Whether characters beyond ASCII are escaped.
        python: Whether Python's syntax is used: single quotes, `True`, `None`. Then the delimiters are Python's.

    Raises:
        ValueError: An attribute is invalid.
    """

    comma: str = ", "
    colon: str = ": "
    indent: int | None = None
    margin: str = ""
    sort_keys: bool = False
    ascii: bool = False
    python: bool = False

    def __post_init__(self) -> None:
        for parameter, delimiter, form in (("comma", self.comma, _COMMA), ("colon", self.colon, _COLON)):
            if not form.fullmatch(delimiter):
                raise ValueError(
                    f"{parameter} is {delimiter!r:.80}, but must be the delimiter with a few spaces around it"
                )
        if self.indent is not None and not 0 <= self.indent <= _MOST_INDENT:
            raise ValueError(f"indent is {self.indent!r:.80}, but must be a number from 0 to {_MOST_INDENT}")
        if not _MARGIN.fullmatch(self.margin):
            raise ValueError(f"margin is {self.margin!r:.80}, but must consist of whitespace")
        if self.python and (self.comma, self.colon, self.indent, self.margin, self.ascii) != (
            ", ",
            ": ",
            None,
            "",
            False,
        ):
            raise ValueError("python: Python's syntax has its own delimiters; set no others")

    def __call__(self, value: Any) -> str:
        """Return a JSON value as text."""
        if self.python:
            return repr(json.loads(json.dumps(value, sort_keys=self.sort_keys)))
        text = json.dumps(
            value,
            ensure_ascii=self.ascii,
            indent=self.indent,
            separators=(self.comma, self.colon),
            sort_keys=self.sort_keys,
        )
        return text.replace("\n", "\n" + self.margin) if self.margin else text

    @classmethod
    def of(cls, text: str, value: Mapping[str, Any]) -> JsonStyle:
        """Return the style in which the value is written as this text. Raises `ValueError` if there is none."""
        for style in _candidate_styles(text):
            if style(value) == text:
                return style
        raise ValueError(f"the arguments are written in no known style: {text!r:.80}")


def _candidate_styles(text: str) -> Iterator[JsonStyle]:
    """Yield the styles that a text may have, the most likely first."""
    lines = text.split("\n")
    indent, margin, delimiters = None, "", list(_DELIMITERS)
    if len(lines) > 2:
        first, last = (line[: len(line) - len(line.lstrip(" "))] for line in (lines[1], lines[-1]))
        indent, margin = max(0, min(len(first) - len(last), _MOST_INDENT)), last[:64]
        delimiters = [(",", ": "), (",", ":"), (",", " : "), (", ", ": ")]
    for ascii in (False, True):
        for sort_keys in (False, True):
            for comma, colon in delimiters:
                yield JsonStyle(comma, colon, indent, margin, sort_keys, ascii)
    for sort_keys in (False, True):
        yield JsonStyle(sort_keys=sort_keys, python=True)


AS_DUMPED = JsonStyle()
"""Values as Python's `json.dumps` writes them by default, except that characters beyond ASCII are not escaped."""
