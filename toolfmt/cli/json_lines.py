"""Read a file with one JSON object per line, for `toolfmt parse --jsonl` and `toolfmt training`.

A line that cannot be used is reported and skipped. A wrong key affects every line. Therefore only the first ones are
reported and the others are counted.
"""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any

from toolfmt.cli.input import lines, shown
from toolfmt.errors import ToolfmtError, json_fault

_MOST_REPORTED = 20
"""Maximum number of skipped lines that are reported one by one."""


class JsonLines:
    """The JSON objects of a file, one by one. Empty lines are ignored.

    `warn` prints a line. `skipped` counts the skipped lines.
    """

    def __init__(self, file: str, warn: Callable[[str], object]) -> None:
        self.name = shown(file)
        self.skipped = 0
        self._file = file
        self._warn = warn

    def objects(self, progress: Callable[[int], object]) -> Iterator[tuple[int, dict[str, Any]]]:
        """Yield the number of each line and its object. `progress` gets the number of bytes read."""
        read = 0
        for number, data in enumerate(lines(self._file), 1):
            progress(read := read + len(data))
            if not data.strip():
                continue
            try:
                record = json_of(data)
                if not isinstance(record, dict):
                    raise ToolfmtError("not a JSON object")
            except ToolfmtError as error:
                self.skip(number, error)
                continue
            yield number, record

    def skip(self, number: int, why: object) -> None:
        """Count a line as skipped, and report it if it is one of the first."""
        self.skipped += 1
        if self.skipped <= _MOST_REPORTED:
            self._warn(f"{self.name}:{number}: {why}; the line is skipped")

    def report_rest(self) -> None:
        """Print how many skipped lines were not reported, if there are any."""
        if (more := self.skipped - _MOST_REPORTED) > 0:
            self._warn(f"{self.name}: {more:,} more line{'s are' if more > 1 else ' is'} skipped")

    def size(self) -> int | None:
        """The size of the file in bytes, or None if it is unknown before the end."""
        with suppress(OSError):
            about = os.stat(self._file)
            if stat.S_ISREG(about.st_mode):
                return about.st_size
        return None


def json_of(data: bytes) -> Any:
    """Return the JSON value of a line. Raises `ToolfmtError`."""
    try:
        return json.loads(data.decode("utf-8-sig", "surrogatepass"))
    except UnicodeDecodeError as error:
        raise ToolfmtError(f"not UTF-8 text (offset {error.start})") from None
    except json.JSONDecodeError as error:
        raise ToolfmtError(f"not JSON ({error.msg}, column {error.colno})") from None
    except (ValueError, RecursionError) as error:
        raise ToolfmtError(f"JSON that cannot be read ({json_fault(error)})") from None
