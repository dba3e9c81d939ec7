"""Write output: text as UTF-8 without delay, JSON, and the results of `toolfmt parse` in three forms.

The command line uses it. Text without a UTF-8 form (half a surrogate pair) is written as an escape.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
import time
from collections.abc import Iterable
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from toolfmt.cli.printing.control_characters import is_unseen
from toolfmt.errors import ToolfmtError

if TYPE_CHECKING:
    from toolfmt.formats import Parser
    from toolfmt.messages.events import Event

_ESCAPE = json.JSONEncoder()
STANDARD_OUTPUT = ("/dev/stdout", "/dev/fd/1", "/proc/self/fd/1")
"""Names of standard output. Opening them would overwrite a file that it is redirected to."""
_unprinted: list[str] = []
_LONGEST_UNPRINTED = 200
PIPE_WIDTH = 100
"""Columns of a text report that is not printed to a terminal."""
_NARROWEST, _WIDEST = 60, 140


def print_json(value: Any) -> None:
    """Print the value as JSON."""
    print_text(json_text(value))


def json_text(value: Any) -> str:
    """Return the value as indented JSON.

    Control, format and private-use characters, which could affect a terminal, are written as JSON escapes.
    """
    return _harmless(json.dumps(value, ensure_ascii=False, indent=2)) + "\n"


def json_line(value: Any) -> str:
    """Return the value as one line of JSON with a newline, escaped like `json_text`."""
    return compact(value) + "\n"


def compact(value: Any) -> str:
    """Return the value as JSON in one line, with the escapes of `json_text`, because a model may write anything."""
    return _harmless(json.dumps(value, ensure_ascii=False))


def _harmless(text: str) -> str:
    if text.isascii() and "\x7f" not in text:  # JSON itself escapes the other invisible ASCII characters
        return text
    unseen = {ord(char): _ESCAPE.encode(char)[1:-1] for char in set(text) if char != "\n" and is_unseen(char)}
    return text.translate(unseen) if unseen else text


def print_to_stderr(line: str) -> None:
    """Print a line to standard error.

    If that fails, the exit status becomes 2 (`printing_failed`), unless the reader has closed it.
    """
    if sys.stderr is None:
        return
    try:
        sys.stderr.write(line + "\n")
        sys.stderr.flush()
    except OSError as error:
        if not isinstance(error, BrokenPipeError):
            _unprinted.append(line[:_LONGEST_UNPRINTED])
        with suppress(OSError, ValueError):  # later output, and the interpreter's last flush, is discarded
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stderr.fileno())


def terminal(widest: int = _WIDEST) -> tuple[int, bool]:
    """Return the width for text output, at most `widest` columns, and whether it may be colored."""
    width = shutil.get_terminal_size((PIPE_WIDTH, 24)).columns
    colour = is_terminal() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
    return min(max(width, _NARROWEST), widest), colour


def is_terminal() -> bool:
    """Return whether standard output is a terminal."""
    return sys.stdout is not None and sys.stdout.isatty()


def complain(message: str) -> int:
    """Print an error with the name of its command to standard error. Return the exit status for invalid input."""
    from toolfmt.cli.printing.control_characters import visible

    print_to_stderr("toolfmt: " + visible(" ".join(message.split())))
    return 2


def printing_failed() -> bool:
    """Return whether printing a line has failed since the last call."""
    some = bool(_unprinted)
    _unprinted.clear()
    return some


def check_printable() -> None:
    """Raise `ToolfmtError` if standard output is closed."""
    if sys.stdout is None:
        raise ToolfmtError("standard output is closed; leave it open, or send it to a file")


def print_text(text: str) -> None:
    """Print the text as UTF-8 without delay. Half a surrogate pair becomes `\\ud800`, as in JSON.

    Raises `ToolfmtError` if standard output is closed.
    """
    if not text:
        return
    check_printable()
    sys.stdout.buffer.write(text.encode("utf-8", "backslashreplace"))
    sys.stdout.buffer.flush()


class EventLines:
    """Prints every event as a line of JSON when it occurs."""

    def __init__(self, parser: Parser, model: str) -> None:
        """`model` is the model's name in a chunk."""

    def print(self, events: Iterable[Event]) -> None:
        print_text("".join(compact(event.to_dict()) + "\n" for event in events))

    def finish(self) -> None:
        """Print what comes after the last event."""


class OneMessage(EventLines):
    """Prints the whole output as one message, at its end."""

    def __init__(self, parser: Parser, model: str) -> None:
        self._parser = parser
        self._events: list[Event] = []

    def print(self, events: Iterable[Event]) -> None:
        self._events.extend(events)

    def finish(self) -> None:
        from toolfmt.messages.message import Message

        events = [*self._parser.continued, *self._events]
        print_json(Message.from_events(events, call_id=self._parser.format.call_id).to_dict())


class OpenAIStream(EventLines):
    """Prints the output as a chat completion stream, chunk by chunk."""

    def __init__(self, parser: Parser, model: str) -> None:
        from toolfmt.integrations.protocols import Chat

        created = int(time.time())
        id, form = f"chatcmpl-{created}", parser.format.call_id
        self._shape = Chat(id, model, created, call_id=form, whole_calls=False)

    def print(self, events: Iterable[Event]) -> None:
        self._data(self._shape.push(events))

    def finish(self) -> None:
        self._data(self._shape.finish())
        print_text(self._shape.end)

    def _data(self, chunks: Iterable[dict[str, Any]]) -> None:
        print_text("".join(f"data: {compact(chunk)}\n\n" for chunk in chunks))
