"""Run jobs in a worker process that can be killed, and return the result or the limit that was hit.

A `Worker` is one process. It starts on first use and restarts after it was killed. It runs one job at a time, and any
thread may use it. The jobs are defined elsewhere (`toolfmt.model.jobs` has toolfmt's). The process ran untrusted code,
so its response is not trusted: only the job's own data classes and toolfmt's errors are built from it. Each request has
a random number that the response must repeat. An earlier job that left data in the pipe, or writes there later, does
not know the next number.

The operating system limits memory and CPU time (`RLIMIT_AS`, `RLIMIT_CPU`): Linux has both limits, macOS does not limit
memory, Windows has neither. A template that exceeds one of these limits raises `LimitHit`. A worker that cannot start,
that another process or the system kills, or that uses no CPU time for `Limits.time_limit` seconds depends on the
machine. It raises `WorkerUnavailable`, which never becomes a verdict.

The process gets only the environment variables that Python needs, opens nothing after startup, and ends with this
process. `confinement.py` documents how, on which systems, and what this does not prevent.
"""

from __future__ import annotations

import builtins
import os
import pickle
import re
import select
import signal
import site
import struct
import subprocess
import sys
import threading
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, BinaryIO, Generic, TypeVar
from weakref import WeakSet

from toolfmt import errors
from toolfmt._util.cpu_time import cpu_seconds, ends_in_time
from toolfmt._util.typed_json import UnreadableJson, unpacked
from toolfmt.errors import FailedInProcess, FailureKind, LimitHit, TemplateError, ToolfmtError, WorkerUnavailable

_T = TypeVar("_T")

_NONCE = 16
"""Size in bytes of the number that a request and its response share."""
STARTED = bytes(_NONCE)
"""The number of the message that a process sends once, after startup."""
_HEADER = struct.Struct(f"!{_NONCE}sQ")
_TOOK = "rendering the template and reading what it renders took"
"""Includes the time that toolfmt itself needs for the job, because it cannot be separated here."""
_LESS_BUSY = "try again when the machine is less busy, or raise the time limit (toolfmt inspect --time-limit SECONDS)"
_FOR_THE_END = 1.0
"""Seconds after the end of a process until its pipe counts as empty."""
_FOR_THE_STATUS = 60.0
"""Seconds until a process that closed its pipe is killed. Ending a process takes time on a busy machine."""
_CRASHES = {"SIGABRT", "SIGBUS", "SIGFPE", "SIGILL", "SIGSEGV", "SIGSYS", "SIGTRAP"}
"""Signals caused by the process itself. Any other signal comes from the system or from another process."""
LOW_MEMORY_LIMIT = 75
"""The exit status of a worker that inherited a memory limit below its own. Its lack of memory must not look like the
template's.
"""
_STATUSES = 256
"""Number of exit statuses that a process sets itself. On Windows, a higher status shows what ended it."""
_NEEDED = (
    *("DYLD_LIBRARY_PATH", "LD_LIBRARY_PATH", "NIX_PYTHONPATH"),
    *("HOME", "LOCALAPPDATA", "XDG_CACHE_HOME"),  # which lead to the cache of compiled template engines
    "PYTHONDONTWRITEBYTECODE",
    "PYTHONHOME",
    "PYTHONPLATLIBDIR",
    "PYTHONPYCACHEPREFIX",
    "SYSTEMROOT",
)
"""The environment variables that the worker gets from this process."""
DONE, ERROR, LIMIT, BUG = b"d", b"e", b"l", b"f"
"""The first byte of a response: a value, an error, a limit that was hit, or a bug in toolfmt."""
_PLACE = re.compile(r"toolfmt((?:/[a-z0-9_]{1,60}){1,6}\.py):[0-9]{1,6} [\w<>]{1,100}", re.ASCII)
"""The form of a code location in a response. Nothing else of what the process writes there is shown."""


@dataclass(frozen=True)
class Limits:
    """Limits of one job: seconds without any CPU time, seconds of CPU time, bytes of memory beyond those of an idle
    worker, and bytes of the result. Inspecting a real template takes some tenths of a second.

    toolfmt reads the CPU time of a worker on Linux only. On other systems, `time_limit` counts from the job's start.
    """

    time_limit: float = 600.0
    processor_seconds: int = 10
    memory: int = 1 << 30
    answer: int = 64 << 20


@dataclass(frozen=True)
class Job(Generic[_T]):
    """A job to run within limits: a top-level function of a module, the data class that it returns, and a check.

    The check raises `UnreadableJson` for a value that the job never produces.
    """

    function: Callable[..., _T]
    result: type[_T]
    check: Callable[[_T], None]


class MessageTooLong(Exception):
    """A message is longer than allowed."""


class UnexpectedResponse(Exception):
    """A message does not have the number of the request that was sent."""


class Worker:
    """A process that runs jobs within limits.

    At startup, before the limits apply, the process imports the modules of these jobs and those of `modules` that are
    installed. After that it cannot import anything, because it cannot open files. It can also run other jobs of the
    same modules. A process that writes anything but the response to its request is ended, and a new one runs the job.
    """

    def __init__(self, jobs: Iterable[Job[Any]] = (), limits: Limits = Limits(), modules: Iterable[str] = ()) -> None:
        self.limits = limits
        self._modules = [*sorted({job.function.__module__ for job in jobs}), *modules]
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._lifeline: BinaryIO | None = None
        self._exchange: _Exchange | None = None
        self._ready = False
        """Whether the process has started, which it reports with one empty message. If it ends earlier, the machine is
        the cause."""
        self._stopped = False

    def start(self) -> None:
        """Start the process, so that it is ready for the first job."""
        with self._lock:
            self._running()

    def run(self, job: Job[_T], *given: Any) -> _T:
        """Run the job with these arguments and return its result.

        Raises the error of `toolfmt.errors` that the job raised (an error class defined elsewhere in toolfmt becomes
        `ToolfmtError`), `LimitHit` if it exceeded a limit, and `WorkerUnavailable` if the machine cannot run it. Raises
        `ToolfmtError` if the arguments cannot be passed to a process, or if toolfmt itself failed in it.
        """
        request = _request(job.function, given)
        with self._lock:
            try:
                answer = self._answer(request)
            except UnexpectedResponse:  # an earlier job may have left that in the pipe
                self._end()
                answer = self._answer_of_new(request)
            try:
                return _result(job, answer)
            except (LimitHit, FailedInProcess):
                self._end()  # the template used up its memory
                raise

    def _answer_of_new(self, request: bytes) -> bytes:
        """Return the response of a process that has not run anything else."""
        try:
            return self._answer(request)
        except UnexpectedResponse:
            self._end()
            raise LimitHit(
                "the process that ran the template wrote something that is not a response", "crash"
            ) from None

    def _answer(self, request: bytes) -> bytes:
        """Return the response of the process. Raises what `run` raises, and `UnexpectedResponse` for a wrong number."""
        process = self._running()
        try:
            exchange = self._exchange = _Exchange(process, request, self.limits.answer, wait_for_start=not self._ready)
            in_time = ends_in_time(process.pid, exchange.ended, self.limits.time_limit)
        except RuntimeError as error:  # the system cannot start another thread
            self._end()
            raise _cannot_start(str(error)) from None
        except BaseException:
            self._end()
            raise
        self._ready = exchange.ready
        if not in_time:
            seconds = f"{self.limits.time_limit:g} seconds"
            shows_cpu_time = cpu_seconds(process.pid) is not None
            self._end()
            raise WorkerUnavailable(
                f"the worker process used no CPU time for {seconds}; {_LESS_BUSY}"
                if shows_cpu_time
                else f"the job did not finish within {seconds}; {_LESS_BUSY}"
            )
        if exchange.too_long:
            self._end()
            raise LimitHit(f"the response is longer than {self.limits.answer:,} bytes", "output")
        if exchange.unexpected:
            raise UnexpectedResponse
        if exchange.answer is None:
            raise self._death(process)
        return exchange.answer

    def close(self) -> None:
        """End the process. A later job starts a new one."""
        with self._lock:
            self._end()

    def stop(self) -> None:
        """End the process permanently. A running job raises `WorkerUnavailable`, a later job `ToolfmtError`."""
        self._stopped = True
        if (process := self._process) is not None:
            process.kill()
        self.close()

    def _running(self) -> subprocess.Popen[bytes]:
        if self._stopped:
            raise ToolfmtError("the process for templates was stopped; start again")
        process = self._process
        if process is None or process.poll() is not None or (self._ready and _has_written(process)):
            self._end()
            self._process, self._lifeline = _started(self.limits, self._modules)
            self._ready = False
        assert self._process is not None
        return self._process

    def _end(self) -> None:
        process, self._process = self._process, None
        lifeline, self._lifeline = self._lifeline, None
        if lifeline is not None:
            lifeline.close()
        if process is None:
            return
        process.kill()
        process.wait()
        if self._exchange is not None:
            self._exchange.join(_FOR_THE_END)
            if self._exchange.is_alive():  # the exchange still uses the pipe; closing it here would wait for it
                return
        for stream in (process.stdin, process.stdout):
            if stream is not None:
                with suppress(OSError):  # unsent data
                    stream.close()

    def _death(self, process: subprocess.Popen[bytes]) -> ToolfmtError:
        """Return the error for a process that ended without a result: `LimitHit` only if the template caused it."""
        try:
            status = process.wait(_FOR_THE_STATUS)
        except subprocess.TimeoutExpired:  # it only closed its end of the pipe
            process.kill()
            status = process.wait()
        self._end()
        if not self._ready and status == LOW_MEMORY_LIMIT:
            return WorkerUnavailable(
                f"the memory limit of this process (ulimit -v) is too low for the worker process, which may use "
                f"{self.limits.memory >> 20} MiB; raise it"
            )
        if not self._ready:
            return _cannot_start(f"exit status {status}" if status >= 0 else _signal_name(-status))
        if status == -getattr(signal, "SIGXCPU", 0):
            return LimitHit(f"{_TOOK} {self.limits.processor_seconds} seconds of CPU time", "CPU time")
        if 0 <= status < _STATUSES:
            return ToolfmtError(
                f"toolfmt's process for templates failed with status {status}, at no limit: a bug in toolfmt; "
                "please report it, with what `toolfmt report-bug` prints; --trusted (trusted=True) shows the error"
            )
        if status < 0 and (name := _signal_name(-status)) not in _CRASHES:
            hint = "try again"
            if name == "SIGKILL":
                hint = "the system does this when memory runs out; try again when the machine has more free memory"
            return WorkerUnavailable(f"the worker process was killed by {name}; {hint}")
        how = f"by signal {-status}" if status < 0 else f"with {status:#x}"
        return LimitHit(f"the process that ran the template ended {how}, which memory running out can do", "crash")


class _Exchange(threading.Thread):
    """One request and its response, on a separate thread.

    So the caller can stop waiting, whatever the process (or a process that it started) does with the pipes. After the
    end, `answer` is the response, or None if the process died. `too_long` means that the response was not read, and
    `unexpected` that it does not belong to this request. `ready` means that the process had started.
    """

    def __init__(
        self, process: subprocess.Popen[bytes], request: bytes, longest: int, *, wait_for_start: bool = False
    ) -> None:
        super().__init__(daemon=True)
        self.answer: bytes | None = None
        self.too_long = self.unexpected = False
        self.ready = not wait_for_start
        self._process, self._request, self._longest = process, request, longest
        self.start()

    def ended(self, seconds: float) -> bool:
        """Wait for at most `seconds`. Return whether the exchange has ended."""
        self.join(seconds)
        return not self.is_alive()

    def run(self) -> None:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        try:
            if not self.ready:
                receive(self._process.stdout, STARTED, 0)
                self.ready = True
            nonce = os.urandom(_NONCE)
            send(self._process.stdin, nonce, self._request)
            _, self.answer = receive(self._process.stdout, nonce, self._longest)
        except MessageTooLong:
            self.too_long = True
        except UnexpectedResponse:
            self.unexpected = True
        except (OSError, EOFError, ValueError, MemoryError):  # it died, or the pipes were closed in the meantime
            return


def _started(limits: Limits, modules: Sequence[str]) -> tuple[subprocess.Popen[bytes], BinaryIO | None]:
    """Start a process. Return it, and the pipe whose closing ends it, if the system can pass one on."""
    lifeline: BinaryIO | None = None
    ends: tuple[int, ...] = ()
    if sys.platform != "win32":
        try:
            end, other = map(_above_standard_files, os.pipe())
        except OSError as error:
            raise _cannot_start(error.strerror or str(error)) from None
        ends, lifeline = (end,), os.fdopen(other, "wb", buffering=0)
        _lifelines.add(lifeline)
    # -P: do not import modules from a directory that may contain a model's files.
    worker = [sys.executable, "-P", "-m", "toolfmt.model.sandbox.worker", str((*ends, -1)[0])]
    command = [*worker, str(limits.memory), str(limits.processor_seconds), *modules]
    pipe = subprocess.PIPE
    try:
        process = subprocess.Popen(
            command, bufsize=0, stdin=pipe, stdout=pipe, stderr=subprocess.DEVNULL, env=_environment(), pass_fds=ends
        )
        return process, lifeline
    except OSError as error:
        if lifeline is not None:
            lifeline.close()
        raise _cannot_start(error.strerror or str(error)) from None
    finally:
        for end in ends:
            os.close(end)


def _cannot_start(why: str) -> WorkerUnavailable:
    return WorkerUnavailable(
        f"the worker process for templates cannot start ({why}); "
        "close other programs and try again, or run the template in this process (--trusted, trusted=True)"
    )


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


_lifelines: WeakSet[BinaryIO] = WeakSet()


def _let_go() -> None:
    """Close the lifelines in a forked process, so that workers end with the process that started them."""
    for lifeline in list(_lifelines):
        lifeline.close()


if hasattr(os, "register_at_fork"):  # not on Windows, which cannot fork
    os.register_at_fork(after_in_child=_let_go)


def _above_standard_files(descriptor: int) -> int:
    """Return the same file under a descriptor above 2.

    If a standard file of this process is closed, the system reuses its number, and in the child that number is the
    standard file.
    """
    if descriptor > 2 or sys.platform == "win32":
        return descriptor
    import fcntl

    try:
        return fcntl.fcntl(descriptor, fcntl.F_DUPFD_CLOEXEC, 3)
    finally:
        os.close(descriptor)


def _environment() -> dict[str, str]:
    """Return the environment variables that Python needs to start and to find the same modules, and no others."""
    here = str(Path(__file__).parents[3])
    paths = os.pathsep.join([here, *filter(None, [os.environ.get("PYTHONPATH")])])
    user = {"PYTHONUSERBASE": site.getuserbase()} if site.ENABLE_USER_SITE else {}
    kept = {name: os.environ[name] for name in _NEEDED if name in os.environ}
    return {**kept, **user, "PYTHONPATH": paths, "TOKENIZERS_PARALLELISM": "false"}


def _request(function: Callable[..., Any], given: Any) -> bytes:
    try:
        return pickle.dumps((function, given), pickle.HIGHEST_PROTOCOL)
    except RecursionError:
        raise ToolfmtError(
            "something in the model's files, or in what was given, is nested too deep for any use; leave it out"
        ) from None
    except Exception as error:  # noqa: BLE001 - pickling an object of the caller may raise anything
        why = " ".join(f"{type(error).__name__}: {error}".split())
        raise ToolfmtError(
            f"this cannot be handed to the process for templates that are not trusted ({why[:200]}); "
            "give plain JSON types"
        ) from None


def _has_written(process: subprocess.Popen[bytes]) -> bool:
    """Return whether the pipe contains unrequested data.

    On Windows this is unknown; there, the number of the next request detects it.
    """
    assert process.stdout is not None
    if sys.platform == "win32":
        return False
    pipe = select.poll()
    pipe.register(process.stdout, select.POLLIN)
    return bool(pipe.poll(0))


def send(stream: IO[bytes], nonce: bytes, data: bytes) -> None:
    """Write one message: a request, or the response with the same number."""
    left = memoryview(_HEADER.pack(nonce, len(data)) + data)
    while left:
        left = left[stream.write(left) :]
    stream.flush()


def receive(stream: IO[bytes], expected: bytes | None = None, longest: int | None = None) -> tuple[bytes, bytes]:
    """Read one message. Return its number and its content.

    Raises `EOFError` if there is none, `UnexpectedResponse` if it does not have the `expected` number, and
    `MessageTooLong` if it is longer than `longest` bytes. After the last two, nothing more is read.
    """
    nonce, length = _HEADER.unpack(_exactly(stream, _HEADER.size))
    if expected is not None and nonce != expected:
        raise UnexpectedResponse
    if longest is not None and length > longest:
        raise MessageTooLong
    return nonce, _exactly(stream, length)


def _exactly(stream: IO[bytes], length: int) -> bytes:
    data = bytearray()
    while len(data) < length:
        piece = stream.read(min(length - len(data), 1 << 20))
        if not piece:
            raise EOFError
        data += piece
    return bytes(data)


def _result(job: Job[_T], answer: bytes) -> _T:
    """Return what the job returned, or raise what it raised. Raises `LimitHit` for an invalid response."""
    kind, message = answer[:1], answer[1:]
    try:
        if kind == DONE:
            returned = unpacked(message, job.result)
            job.check(returned)
            return returned
        if kind == LIMIT:
            raise LimitHit(*unpacked(message, tuple[str, str, int | None, str]))
        if kind == ERROR:
            raise _error(*unpacked(message, tuple[str, str, int | None, FailureKind, str]))
        if kind == BUG:
            raise _failed(*unpacked(message, tuple[str, tuple[str, ...]]))
        raise UnreadableJson("not a kind of response")
    except UnreadableJson as unreadable:
        raise LimitHit(f"what the worker answered cannot be read ({unreadable})", "crash") from None


def _failed(name: str, places: tuple[str, ...]) -> FailedInProcess:
    """Return the failure that a process reports, limited to exceptions and code locations that exist."""
    kind = getattr(builtins, name, None)
    known = isinstance(kind, type) and issubclass(kind, Exception)
    own = Path(__file__).parents[2]
    there = [place for place in places if (found := _PLACE.fullmatch(place)) and (own / found[1][1:]).is_file()]
    return FailedInProcess(name if known else "", tuple(there))


def _error(name: str, message: str, line: int | None, kind: FailureKind, engine_message: str) -> ToolfmtError:
    error = getattr(errors, name, None)
    if error is TemplateError:
        return TemplateError(message, line, kind, engine_message)
    if isinstance(error, type) and issubclass(error, ToolfmtError) and not issubclass(error, TemplateError):
        return error(message)
    return ToolfmtError(message)
