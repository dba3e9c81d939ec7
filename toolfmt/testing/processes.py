"""Processes for external code, each with its own session, so that it can be ended with all its children.

A thread reads the output of such a process, and is not waited for after the process has ended, because a child that
left the session may keep the pipe open. The amount of kept output is limited.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from queue import Empty, Queue
from threading import Event, Thread
from typing import IO

from toolfmt._util.cpu_time import ends_in_time

MOST_PRINTED = 10_000_000
"""Maximum bytes of output for one model output."""
_KEPT_OF_ERRORS = 10_000
_AT_ONCE = 65_536
_LAST_WORDS = 1.0
"""Seconds to read the rest of the pipe of a process that has ended."""


@dataclass(frozen=True, slots=True)
class Done:
    """How a process ended. `status` is None if it reached its time limit. `too_much` is whether it printed too much."""

    status: int | None
    printed: bytes
    errors: bytes
    too_much: bool = False


def end(process: subprocess.Popen[bytes]) -> int:
    """End a process and its children. Return its status, which is its own if it had already ended."""
    status = process.poll()
    if sys.platform == "win32":
        process.kill()
    else:
        # Children outlive their parent, so the group is ended whether or not its leader lives.
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
    return process.wait() if status is None else status


def run(words: Sequence[str], given: bytes, timeout: float, environment: Mapping[str, str]) -> Done:
    """Run a command with this standard input.

    `timeout`: maximum seconds of CPU time, and maximum seconds without any. Raises `OSError` if it cannot be started.
    """
    pipe = subprocess.PIPE
    process = subprocess.Popen(
        list(words), stdin=pipe, stdout=pipe, stderr=pipe, env=environment, start_new_session=True
    )
    assert process.stdin is not None and process.stdout is not None and process.stderr is not None
    printed, errors = _Reader(process.stdout, process), _Reader(process.stderr)
    Thread(target=_give, args=(process.stdin, given), daemon=True).start()

    def ended(seconds: float) -> bool:
        with suppress(subprocess.TimeoutExpired):
            process.wait(seconds)
        return process.returncode is not None

    try:
        status = process.returncode if ends_in_time(process.pid, ended, timeout, timeout) else None
    finally:
        end(process)
    for reader in (printed, errors):
        reader.ended.wait(_LAST_WORDS)
    return Done(status, bytes(printed.kept), bytes(errors.kept), printed.too_much)


class _Reader:
    """Reads a pipe: all of it, ending `process` if it is too much, or only the last part without a process."""

    def __init__(self, pipe: IO[bytes], process: subprocess.Popen[bytes] | None = None) -> None:
        self.kept = bytearray()
        self.too_much = False
        self.ended = Event()
        self._pipe, self._process = pipe, process
        Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        with suppress(OSError), self._pipe:
            while some := os.read(self._pipe.fileno(), _AT_ONCE):
                self.kept += some
                if self._process is None:
                    del self.kept[:-_KEPT_OF_ERRORS]
                elif len(self.kept) > MOST_PRINTED:
                    self.too_much = True
                    end(self._process)
                    break
        self.ended.set()


def _give(pipe: IO[bytes], given: bytes) -> None:
    """Write to the standard input of a process as much as it accepts."""
    with suppress(OSError), pipe:
        pipe.write(given)


class Lines:
    """The lines that a process writes to a pipe, as they arrive."""

    def __init__(self, pipe: IO[bytes], process: subprocess.Popen[bytes]) -> None:
        self.too_much = False
        self._pipe, self._process = pipe, process
        self._most = MOST_PRINTED
        self._lines: Queue[bytes | None] = Queue()
        Thread(target=self._read, daemon=True).start()

    def next(self, timeout: float, most: int = MOST_PRINTED) -> bytes | None:
        """Return the next line, or None if the process has ended. A line of more than `most` bytes ends it.

        `timeout`: maximum seconds of CPU time, and maximum seconds without any. Raises `TimeoutError`.
        """
        self._most = most
        line: bytes | None = None

        def came(seconds: float) -> bool:
            nonlocal line
            # A child may hold the pipe of a process that has ended, so the end of the pipe alone shows nothing.
            lives = self._process.poll() is None
            try:
                line = self._lines.get(timeout=seconds)
            except Empty:
                return not lives
            return True

        if not ends_in_time(self._process.pid, came, timeout, timeout):
            raise TimeoutError
        return line

    def _read(self) -> None:
        partial = bytearray()
        with suppress(OSError), self._pipe:
            while some := os.read(self._pipe.fileno(), _AT_ONCE):
                *ended, rest = some.split(b"\n")
                for line in ended:
                    self._lines.put(bytes(partial + line))
                    partial.clear()
                partial += rest
                if len(partial) > self._most:
                    self.too_much = True
                    end(self._process)
                    break
        self._lines.put(None)
