"""What comes in: the text of a file or of standard input as it arrives, recorded answers line by line, and the JSON of
messages and tools.

The command line calls it; `-` names standard input. Whatever cannot be read is a `ToolfmtError` of one line that names
the file and the way out.
"""

from __future__ import annotations

import codecs
import json
import os
import stat
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any, BinaryIO

from toolfmt.errors import ToolfmtError

_READ_AT_MOST = 1 << 16
_LONGEST_JSON = 200_000_000
"""Bytes of messages or tools; a device such as /dev/zero never ends."""


def pieces(file: str) -> Iterator[str]:
    """The text of a file as it arrives; bytes that are no UTF-8 become U+FFFD, as model output is never refused."""
    decoder = codecs.getincrementaldecoder("utf-8")(errors="replace")
    with _opened(file) as source:
        while data := _next_bytes(source, file):
            if text := decoder.decode(data):
                yield text
    if text := decoder.decode(b"", final=True):
        yield text


def recut(pieces: Iterable[str], size: int | None) -> Iterator[str]:
    """The same text in pieces of `size` characters; as it comes without one."""
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


@dataclass(frozen=True, slots=True)
class Line:
    """A line of a file of recorded answers. `where` names it, `read` is how many bytes of the file end with it."""

    source: Recorded
    number: int
    data: bytes
    read: int

    @property
    def where(self) -> str:
        return f"{shown(self.source.file)}:{self.number}"

    def answer(self) -> tuple[str, Any]:
        """The text, and its tools: the line's own, where it has some. Raises `ToolfmtError` with what is wrong."""
        key, tools_key = self.source.text_key, self.source.tools_key
        record = _json_of(self.data)
        if not isinstance(record, dict):
            raise ToolfmtError(f"not a JSON object with the answer under {key!r}")
        text = record.get(key)
        if not isinstance(text, str):
            what = "no" if key not in record else "no text under"
            raise ToolfmtError(f"{what} {key!r}; --text-key names the key that has the answer")
        tools = record.get(tools_key) if tools_key is not None else None
        if isinstance(tools, str):  # as tables of recorded answers keep lists
            tools = _json_of(tools.encode("utf-8", "surrogatepass"))
        return text, self.source.tools if tools is None else tools


@dataclass(frozen=True, slots=True)
class Recorded:
    """A file of recorded answers, a JSON object a line; empty lines say nothing.

    `text_key` is where a line has the answer, `tools_key` where it may have its own tools; else it has `tools`.
    """

    file: str
    text_key: str
    tools_key: str | None
    tools: Any

    def lines(self) -> Iterator[Line]:
        number = read = 0
        with _opened(self.file) as source:
            while data := _next_line(source, self.file):
                number, read = number + 1, read + len(data)
                if data.strip():
                    yield Line(self, number, data, read)

    def size(self) -> int | None:
        """The bytes of the file; None where that is not known before its end."""
        with suppress(OSError):
            about = os.stat(self.file)
            if stat.S_ISREG(about.st_mode):
                return about.st_size
        return None


def _next_line(source: BinaryIO, file: str) -> bytes:
    try:
        return source.readline(_LONGEST_JSON)
    except (OSError, ValueError) as error:
        raise _unreadable(file, error) from None


def _json_of(data: bytes) -> Any:
    try:
        return json.loads(data.decode("utf-8-sig", "surrogatepass"))
    except UnicodeDecodeError as error:
        raise ToolfmtError(f"not UTF-8 text (offset {error.start})") from None
    except json.JSONDecodeError as error:
        raise ToolfmtError(f"not JSON ({error.msg}, column {error.colno})") from None
    except (ValueError, RecursionError) as error:  # a number of thousands of digits, brackets nested by the thousand
        raise ToolfmtError(f"JSON that cannot be read ({error})") from None


def read_json(file: str) -> Any:
    """The JSON in a file; raises `ToolfmtError` where it cannot be read or is none."""
    name = shown(file)
    with _opened(file) as source:
        parts, size = [], 0
        while piece := _next_bytes(source, file):
            parts.append(piece)
            size += len(piece)
            if size > _LONGEST_JSON:
                raise ToolfmtError(f"{name}: more than {_LONGEST_JSON:,} bytes; give a JSON list")
    data = b"".join(parts)
    try:
        return json.loads(data.decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        raise ToolfmtError(f"{name}: not UTF-8 text (offset {error.start}); save it as UTF-8") from None
    except json.JSONDecodeError as error:
        what = "empty" if not data.strip() else f"not JSON ({error.msg}, line {error.lineno}, column {error.colno})"
        raise ToolfmtError(f"{name}: {what}; give a JSON list") from None
    except (ValueError, RecursionError) as error:  # a number of thousands of digits, brackets nested by the thousand
        raise ToolfmtError(f"{name}: JSON that cannot be read ({error}); give a JSON list") from None


@contextmanager
def _opened(file: str) -> Iterator[BinaryIO]:
    if file == "-":
        if sys.stdin is None:
            raise ToolfmtError("standard input is closed; give the name of a file instead of -")
        yield sys.stdin.buffer
        return
    try:
        source = open(file, "rb")  # noqa: SIM115 - closed below; only opening is to be answered here
    except OSError as error:
        raise ToolfmtError(f"{file}: cannot be read ({error.strerror}); give a file, or - for standard input") from None
    with source:
        yield source


def _next_bytes(source: BinaryIO, file: str) -> bytes:
    """What has arrived by now, at least a byte; empty at the end."""
    try:
        return source.read1(_READ_AT_MOST)  # type: ignore[attr-defined, no-any-return]  # buffered
    except (OSError, ValueError) as error:
        raise _unreadable(file, error) from None


def _unreadable(file: str, error: OSError | ValueError) -> ToolfmtError:
    why = error.strerror if isinstance(error, OSError) else error
    return ToolfmtError(f"{shown(file)}: cannot be read ({why}); give a file, or - for standard input")


def shown(file: str) -> str:
    """What messages call the file."""
    return "standard input" if file == "-" else file


@contextmanager
def naming(file: str, kind: type[ToolfmtError]) -> Iterator[None]:
    """Errors about the content of a file name it."""
    try:
        yield
    except kind as error:
        raise kind(f"{shown(file)}: {error}") from None
