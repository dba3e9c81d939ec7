"""Read recorded outputs: a file with one JSON object per line, for `toolfmt parse --jsonl`."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from typing import Any

from toolfmt._util.text_lists import listed_first
from toolfmt.cli.input import JsonLines, counted, json_of, naming
from toolfmt.cli.output import compact, is_terminal, print_text
from toolfmt.errors import ToolfmtError
from toolfmt.formats.format import ToolCallFormat
from toolfmt.formats.parse import ParseJob, parse_each
from toolfmt.formats.tolerances import Tolerate

_MOST_KEYS = 5
_LONGEST_KEY = 40


class Recorded(JsonLines):
    """The outputs of a file with their tools, one by one.

    `text_key` is the key of the output in a line. `tools_key` is the key of its own tools, as a list or as JSON text;
    without them, `tools` are used. Problems of a line, and at the end those of the keys, are reported in one line.
    """

    def __init__(
        self, file: str, text_key: str, tools_key: str | None, tools: Any, warn: Callable[[str], object]
    ) -> None:
        super().__init__(file, warn)
        self._text_key = text_key
        self._tools_key = tools_key
        self._tools = tools

    def answers(self, progress: Callable[[int], object]) -> Iterator[ParseJob]:
        """Yield the outputs. `progress` gets the number of bytes read."""
        has_keys = has_tools_key = False
        for number, record in self.objects(progress):
            has_keys, has_tools_key = True, has_tools_key or self._tools_key in record
            try:
                output = self._text(record), self._own_tools(record, f"{self.name}:{number}")
            except ToolfmtError as error:
                self.skip(number, error)
                continue
            yield output
        self.report_rest()
        if has_keys and self._tools_key is not None and not has_tools_key:
            self._warn(f"{self.name}: no line has {self._tools_key!r}; --tools-key names the key of its tools")

    def _text(self, record: dict[str, Any]) -> str:
        text = record.get(self._text_key)
        if isinstance(text, str):
            return text
        what = f"the value of {self._text_key!r} is not a string"
        if self._text_key not in record:
            what = f"no key {self._text_key!r}" + (f", only {_some(list(record))}" if record else "")
        raise ToolfmtError(f"{what}; --text-key names the key that has the output")

    def _own_tools(self, record: dict[str, Any], where: str) -> Any:
        tools = record.get(self._tools_key) if self._tools_key is not None else None
        place = f"tools under {self._tools_key!r}"
        with naming(place, ToolfmtError):
            if isinstance(tools, str):  # as in tables of recorded outputs, which store lists as text
                tools = json_of(tools.encode("utf-8", "surrogatepass"))
            return self._tools if tools is None else counted(tools, f"{where}: {place}", self._warn)


def _some(keys: list[str]) -> str:
    return listed_first(
        [repr(key if len(key) <= _LONGEST_KEY else key[:_LONGEST_KEY] + "…") for key in keys], _MOST_KEYS
    )


def print_messages(recorded: Recorded, format: ToolCallFormat, prefix: str, tolerate: Tolerate, processes: int) -> int:
    """Print one message per line for each output, and return the exit status: 2 if lines were skipped."""
    from toolfmt.cli.printing.progress import Progress

    watched = sys.stderr is not None and sys.stderr.isatty() and not is_terminal()
    with Progress("parsing", recorded.size(), watched) as progress:
        outputs = recorded.answers(progress.update)
        for message in parse_each(outputs, format, prefix=prefix, tolerate=tolerate, processes=processes):
            print_text(compact(message.to_dict()) + "\n")
    return 2 if recorded.skipped else 0
