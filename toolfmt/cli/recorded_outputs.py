"""Read recorded outputs: a file with one JSON object per line, for `toolfmt parse --jsonl`.

A line without an output is reported and skipped. If the key is wrong, this applies to every line. Therefore only the
first ones are reported and the others are counted.
"""

from __future__ import annotations

import json
import os
import stat
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any

from toolfmt._util.text_lists import listed_first
from toolfmt.cli.input import counted, lines, naming, shown
from toolfmt.cli.output import compact, is_terminal, print_text
from toolfmt.errors import ToolfmtError, json_fault
from toolfmt.formats.format import ToolCallFormat
from toolfmt.formats.parse import ParseJob, parse_each
from toolfmt.formats.tolerances import Tolerate

_MOST_REPORTED = 20
"""Maximum number of lines without an output that are reported one by one."""
_MOST_KEYS = 5
_LONGEST_KEY = 40


class _NoAnswer(ToolfmtError):
    """The line has no string under the key of the output."""


class Recorded:
    """The outputs of a file with their tools, one by one. Empty lines are ignored.

    `text_key` is the key of the output in a line. `tools_key` is the key of its own tools, as a list or as JSON text;
    without them, `tools` are used. Problems of a line, and at the end those of the keys, are reported in one line.
    `skipped` counts the skipped lines.
    """

    def __init__(
        self, file: str, text_key: str, tools_key: str | None, tools: Any, warn: Callable[[str], object]
    ) -> None:
        self._file = file
        self._text_key = text_key
        self._tools_key = tools_key
        self._tools = tools
        self._warn = warn
        self.skipped = 0

    def answers(self, progress: Callable[[int], object]) -> Iterator[ParseJob]:
        """Yield the outputs. `progress` gets the number of bytes read."""
        read = without = 0
        has_keys = has_tools_key = False
        for number, data in enumerate(lines(self._file), 1):
            progress(read := read + len(data))
            if not data.strip():
                continue
            where = f"{shown(self._file)}:{number}"
            try:
                record = _json_of(data)
                if not isinstance(record, dict):
                    raise ToolfmtError("not a JSON object")
                has_keys, has_tools_key = True, has_tools_key or self._tools_key in record
                output = self._text(record), self._own_tools(record, where)
            except ToolfmtError as error:
                self.skipped += 1
                without += isinstance(error, _NoAnswer)
                if not isinstance(error, _NoAnswer) or without <= _MOST_REPORTED:
                    self._warn(f"{where}: {error}; the line is skipped")
                continue
            yield output
        if without > _MOST_REPORTED:
            more = f"{without - _MOST_REPORTED:,} more without a string in {self._text_key!r}"
            self._warn(f"{shown(self._file)}: {more}; they are skipped, too")
        if has_keys and self._tools_key is not None and not has_tools_key:
            self._warn(f"{shown(self._file)}: no line has {self._tools_key!r}; --tools-key names the key of its tools")

    def size(self) -> int | None:
        """The size of the file in bytes, or None if it is unknown before the end."""
        with suppress(OSError):
            about = os.stat(self._file)
            if stat.S_ISREG(about.st_mode):
                return about.st_size
        return None

    def _text(self, record: dict[str, Any]) -> str:
        text = record.get(self._text_key)
        if isinstance(text, str):
            return text
        what = f"the value of {self._text_key!r} is not a string"
        if self._text_key not in record:
            what = f"no key {self._text_key!r}" + (f", only {_some(list(record))}" if record else "")
        raise _NoAnswer(f"{what}; --text-key names the key that has the output")

    def _own_tools(self, record: dict[str, Any], where: str) -> Any:
        tools = record.get(self._tools_key) if self._tools_key is not None else None
        place = f"tools under {self._tools_key!r}"
        with naming(place, ToolfmtError):
            if isinstance(tools, str):  # as in tables of recorded outputs, which store lists as text
                tools = _json_of(tools.encode("utf-8", "surrogatepass"))
            return self._tools if tools is None else counted(tools, f"{where}: {place}", self._warn)


def _some(keys: list[str]) -> str:
    return listed_first(
        [repr(key if len(key) <= _LONGEST_KEY else key[:_LONGEST_KEY] + "…") for key in keys], _MOST_KEYS
    )


def _json_of(data: bytes) -> Any:
    try:
        return json.loads(data.decode("utf-8-sig", "surrogatepass"))
    except UnicodeDecodeError as error:
        raise ToolfmtError(f"not UTF-8 text (offset {error.start})") from None
    except json.JSONDecodeError as error:
        raise ToolfmtError(f"not JSON ({error.msg}, column {error.colno})") from None
    except (ValueError, RecursionError) as error:
        raise ToolfmtError(f"JSON that cannot be read ({json_fault(error)})") from None


def print_messages(recorded: Recorded, format: ToolCallFormat, prefix: str, tolerate: Tolerate, processes: int) -> int:
    """Print one message per line for each output, and return the exit status: 2 if lines were skipped."""
    from toolfmt.cli.printing.progress import Progress

    watched = sys.stderr is not None and sys.stderr.isatty() and not is_terminal()
    with Progress("parsing", recorded.size(), watched) as progress:
        outputs = recorded.answers(progress.update)
        for message in parse_each(outputs, format, prefix=prefix, tolerate=tolerate, processes=processes):
            print_text(compact(message.to_dict()) + "\n")
    return 2 if recorded.skipped else 0
