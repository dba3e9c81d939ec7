"""Templates run in a process that can be killed: a job goes to a worker, its answer or the limit it hit comes back.

`toolfmt.model` asks for inspections, `toolfmt render` for prompts. A `Worker` is one process, started when it is first
needed and again after it was killed, and runs one job at a time; any thread may ask. What comes back was written by a
process that ran untrusted code: nothing but toolfmt's own data classes is built from it, whatever it says.

Memory and processor time are limited by the operating system (`RLIMIT_AS`, `RLIMIT_CPU`): Linux keeps both limits,
macOS none on memory, Windows neither; the wall time ends a job everywhere.
"""

from __future__ import annotations

import atexit
import io
import os
import pickle
import signal
import struct
import subprocess
import sys
import threading
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import IO, Any, Literal, TypeAlias

from toolfmt import errors
from toolfmt.errors import LimitHit, ToolfmtError

Job: TypeAlias = Literal["inspect", "render"]

_LENGTH = struct.Struct("!Q")
_DATA = {
    "toolfmt.inspect.report": None,
    "toolfmt.inspect.conversations": {"Shape"},
    "toolfmt.prompt": {"Prompt"},
}
"""The modules whose classes an answer may be built from, and which of them; None for all."""


@dataclass(frozen=True)
class Limits:
    """What one job may take: seconds on the wall, seconds of processor time, bytes of memory beyond what the worker has
    when it is idle, bytes of its answer. An inspection of a real template takes some tenths of a second.
    """

    wall_seconds: float = 30.0
    processor_seconds: int = 10
    memory: int = 1 << 30
    answer: int = 64 << 20


class TooLong(Exception):
    """A message longer than it may be."""


class Worker:
    """A process that runs jobs within limits."""

    def __init__(self, limits: Limits = Limits()) -> None:
        self.limits = limits
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start the process, so that it is ready when the first job comes."""
        with self._lock:
            self._running()

    def run(self, job: Job, *given: Any) -> Any:
        """What the job returns for these arguments.

        Raises the `ToolfmtError` that the job raised, `LimitHit` where it took more than it may, and `ToolfmtError`
        where no process can be started.
        """
        request = pickle.dumps((job, given), pickle.HIGHEST_PROTOCOL)
        with self._lock:
            process = self._running()
            ended = threading.Event()
            timer = threading.Timer(self.limits.wall_seconds, _kill, (process, ended))
            timer.start()
            try:
                answer = _exchange(process, request, self.limits.answer)
            except TooLong:
                self._end()
                raise LimitHit(f"the report is longer than {self.limits.answer:,} bytes", "output") from None
            except BaseException:
                self._end()
                raise
            finally:
                timer.cancel()
            if answer is None:
                raise self._death(process, killed=ended.is_set())
            kind, value = _loaded(answer)
            if kind == "limit":
                self._end()  # what is left of its memory belongs to the template
                raise LimitHit(*value)
            if kind == "error":
                raise _error(*value)
            return value

    def close(self) -> None:
        """End the process; a later job starts another."""
        with self._lock:
            self._end()

    def _running(self) -> subprocess.Popen[bytes]:
        if self._process is None or self._process.poll() is not None:
            self._process = _started(self.limits)
        return self._process

    def _end(self) -> None:
        process, self._process = self._process, None
        if process is not None:
            process.kill()
            process.wait()
            for stream in (process.stdin, process.stdout):
                if stream is not None:
                    stream.close()

    def _death(self, process: subprocess.Popen[bytes], *, killed: bool) -> LimitHit:
        """Which limit a process hit that ended without an answer."""
        status = process.wait()
        self._end()
        if killed:
            return LimitHit(f"the template ran for {self.limits.wall_seconds:g} seconds", "wall time")
        if status == -getattr(signal, "SIGXCPU", 0):
            took = f"the template took {self.limits.processor_seconds} seconds of processor time"
            return LimitHit(took, "processor time")
        return LimitHit(f"the process ended with status {status}, which memory running out can do", "crash")


def shared_worker() -> Worker:
    """The worker that this process shares."""
    return _worker_of(os.getpid())


@cache
def _worker_of(process: int) -> Worker:
    """The worker of this process: a forked one gets its own."""
    worker = Worker()
    atexit.register(worker.close)
    return worker


def _started(limits: Limits) -> subprocess.Popen[bytes]:
    # -P: a directory full of a model's files is no place to import modules from.
    command = [sys.executable, "-P", "-m", "toolfmt.worker", str(limits.memory), str(limits.processor_seconds)]
    here = str(Path(__file__).parent.parent)
    paths = os.pathsep.join([here, *filter(None, [os.environ.get("PYTHONPATH")])])
    given = os.environ | {"PYTHONPATH": paths, "TOKENIZERS_PARALLELISM": "false"}
    try:
        return subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=given
        )
    except OSError as error:
        why = error.strerror or error
        raise ToolfmtError(
            f"no process can be started for templates that are not trusted ({why}); "
            "trust the template (--trusted, trusted=True) to run it in this one"
        ) from None


def _kill(process: subprocess.Popen[bytes], ended: threading.Event) -> None:
    ended.set()
    process.kill()


def _exchange(process: subprocess.Popen[bytes], request: bytes, longest: int) -> bytes | None:
    """The answer of the process; None where it died. Raises `TooLong`."""
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        send(process.stdin, request)
        return receive(process.stdout, longest)
    except (BrokenPipeError, EOFError):
        return None


def send(stream: IO[bytes], data: bytes) -> None:
    """Write one message."""
    stream.write(_LENGTH.pack(len(data)) + data)
    stream.flush()


def receive(stream: IO[bytes], longest: int | None = None) -> bytes:
    """Read one message; raises `EOFError` where there is none, `TooLong` where it is longer than `longest` bytes."""
    header = stream.read(_LENGTH.size)
    if len(header) < _LENGTH.size:
        raise EOFError
    (length,) = _LENGTH.unpack(header)
    if longest is not None and length > longest:
        raise TooLong
    data = stream.read(length)
    if len(data) < length:
        raise EOFError
    return data


class _Data(pickle.Unpickler):
    """Builds toolfmt's data classes and nothing else."""

    def find_class(self, module: str, name: str) -> Any:
        if module in _DATA and ((allowed := _DATA[module]) is None or name in allowed):
            found = super().find_class(module, name)
            if isinstance(found, type) and found.__module__ == module:
                return found
        raise pickle.UnpicklingError(f"{module}.{name} is no data of a report")


def _loaded(answer: bytes) -> tuple[str, Any]:
    try:
        kind, value = _Data(io.BytesIO(answer)).load()
    except Exception as error:  # noqa: BLE001 - written by a process that ran untrusted code
        raise LimitHit(f"what the worker answered cannot be read ({type(error).__name__})", "crash") from None
    return kind, value


def _error(name: str, message: str, line: int | None) -> ToolfmtError:
    kind = getattr(errors, name, ToolfmtError)
    return kind(message, line) if kind is errors.TemplateError else kind(message)
