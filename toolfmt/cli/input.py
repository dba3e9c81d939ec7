"""Read input: text of a file or of standard input as it arrives, its lines, and JSON of messages and tools.

The command line uses it. `-` is standard input. Unreadable input raises a `ToolfmtError` with a one-line message that
names the file and how to fix it.
"""

from __future__ import annotations

import codecs
import json
import os
import stat
import sys
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from typing import Any, BinaryIO

from toolfmt.cli.special_files import opened_pipe
from toolfmt.errors import BadTools, RepeatedTool, ToolfmtError, json_fault

_MOST_NAMED = 5
_MOST_REPORTED = 20
"""Maximum number of skipped lines that are reported one by one."""
_READ_AT_MOST = 1 << 16
_LONGEST_JSON = 200_000_000
"""Maximum size in bytes of messages or tools. A device such as /dev/zero never ends."""


def pieces(file: str, warn: Callable[[str], object]) -> Iterator[str]:
    """Yield the text of a file as it arrives. Invalid UTF-8 becomes U+FFFD, because model output is never rejected.

    `warn` gets one line about the first invalid bytes.
    """
    decoder = codecs.getincrementaldecoder("utf-8")(errors="strict")
    before = 0
    ended = False
    with _opened(file) as source:
        while not ended:
            data = _next_bytes(source, file)
            ended = not data
            try:
                text = decoder.decode(data, ended)
            except UnicodeDecodeError as error:  # the decoder's state did not change
                begin = before - len(decoder.getstate()[0]) + error.start
                warn(f"{shown(file)}: not UTF-8 text (offset {begin}); invalid bytes are replaced with U+FFFD")
                decoder.errors = "replace"
                text = decoder.decode(data, ended)
            before += len(data)
            if text:
                yield text


def lines(file: str) -> Iterator[bytes]:
    """Yield the lines of a file as they arrive."""
    with _opened(file) as source:
        while data := _next_line(source, file):
            yield data


def _next_line(source: BinaryIO, file: str) -> bytes:
    try:
        return source.readline(_LONGEST_JSON)
    except (OSError, ValueError) as error:
        raise _unreadable(file, error) from None


def recut(pieces: Iterable[str], size: int | None) -> Iterator[str]:
    """Yield the same text in pieces of `size` characters, or unchanged without a size."""
    if size is None:
        yield from pieces
        return
    waiting = ""
    for piece in pieces:
        waiting += piece
        whole = len(waiting) - len(waiting) % size
        for begin in range(0, whole, size):
            yield waiting[begin : begin + size]
        waiting = waiting[whole:]
    if waiting:
        yield waiting


def read_json(file: str, expected: str = "a JSON list") -> Any:
    """Return the JSON in a file. Raises `ToolfmtError` with what is `expected` if it cannot be read or is not JSON."""
    data = _data(file, expected)
    with _naming_errors(file, data, expected):
        return json.loads(data.decode("utf-8-sig"))


def read_json_values(file: str, expected: str) -> list[Any]:
    """Return the JSON values in a file, which has one value, or one per line. Raises what `read_json` raises."""
    data = _data(file, expected)
    with _naming_errors(file, data, expected):
        text = data.decode("utf-8-sig")
        try:
            return [json.loads(text)]
        except json.JSONDecodeError as error:
            if error.msg != "Extra data":
                raise
        return [json.loads(line) for line in text.splitlines() if line.strip()]


def _data(file: str, expected: str) -> bytes:
    with _opened(file, waiting=False) as source:
        parts, size = [], 0
        while piece := _next_bytes(source, file):
            parts.append(piece)
            size += len(piece)
            if size > _LONGEST_JSON:
                raise ToolfmtError(f"{shown(file)}: more than {_LONGEST_JSON:,} bytes; give {expected}")
    return b"".join(parts)


@contextmanager
def _naming_errors(file: str, data: bytes, expected: str) -> Iterator[None]:
    """Turn errors about the JSON in these bytes into one line, with what is wanted."""
    name = shown(file)
    try:
        yield
    except UnicodeDecodeError as error:
        raise ToolfmtError(f"{name}: not UTF-8 text (offset {error.start}); save it as UTF-8") from None
    except json.JSONDecodeError as error:
        what = "empty" if not data.strip() else f"not JSON ({error.msg}, line {error.lineno}, column {error.colno})"
        raise ToolfmtError(f"{name}: {what}; give {expected}") from None
    except (ValueError, RecursionError) as error:
        raise ToolfmtError(f"{name}: JSON that cannot be read ({json_fault(error)}); give {expected}") from None


def name_models_below(place: str, complain: Callable[[str], object]) -> None:
    """Print the models below the one that a command uses; the command ignores them."""
    from toolfmt._util.text_lists import listed_first
    from toolfmt.templates import model_place, model_places

    if not os.path.isdir(place):  # a file of a model directory selects only that model
        return
    home = model_place(place)
    if below := [str(path.relative_to(home)) for path in model_places(home) if path != home]:
        names = listed_first(below, _MOST_NAMED)
        complain(f"{place}: using the model in this directory; ignoring the models below it: {names}")


def counted(tools: object, where: str, warn: Callable[[str], object]) -> list[dict[str, Any]]:
    """Return the tools that count, as plain definitions. Raises `BadTools`.

    Of two tools with the same name, the first one counts; `warn` gets a line about it.
    """
    from toolfmt.messages.tools import counting_tools

    with warnings.catch_warnings(record=True, action="always", category=RepeatedTool) as caught:
        counting = counting_tools(tools)
    for warning in caught:
        warn(f"{where}: {warning.message}")
    if counting is None:
        raise BadTools("tools must be a list of tool definitions, not null")
    return counting


@contextmanager
def _opened(file: str, *, waiting: bool = True) -> Iterator[BinaryIO]:
    """Open the file for reading.

    A named pipe without a writer is waited for if `waiting`, like standard input, else only for some time.
    """
    if file == "-":
        if sys.stdin is None:
            raise ToolfmtError("standard input is closed; give the name of a file instead of -")
        yield sys.stdin.buffer
        return
    try:
        source = (None if waiting else opened_pipe(file)) or open(file, "rb")  # noqa: SIM115 - closed below; only opening is to be answered here
    except OSError as error:
        raise ToolfmtError(f"{file}: cannot be read ({error.strerror}); give a file, or - for standard input") from None
    with source:
        yield source


def _next_bytes(source: BinaryIO, file: str) -> bytes:
    """Return the bytes that have arrived, at least one. Empty at the end."""
    try:
        return source.read1(_READ_AT_MOST)  # type: ignore[attr-defined, no-any-return]  # buffered
    except (OSError, ValueError) as error:
        raise _unreadable(file, error) from None


def _unreadable(file: str, error: OSError | ValueError) -> ToolfmtError:
    why = error.strerror if isinstance(error, OSError) else error
    return ToolfmtError(f"{shown(file)}: cannot be read ({why}); give a file, or - for standard input")


def shown(file: str) -> str:
    """Return what messages call the file."""
    return "standard input" if file == "-" else file


@contextmanager
def naming(file: str, kind: type[ToolfmtError]) -> Iterator[None]:
    """Add the file's name to errors about its content."""
    try:
        yield
    except kind as error:
        raise kind(f"{shown(file)}: {error}") from None


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
