"""The targets of `toolfmt dev fuzz`: a format of toolfmt, a Python factory (`module:factory`), or a command.

Each parses an output in several ways (lists of chunks) and returns the result of each, or the violated invariant. A
factory or a format runs in a worker process (`worker.py`), a command in one process per output. If it hangs or crashes,
that is its bug, and its output does no harm.

A command gets the output on standard input, as UTF-8, and the name of a JSON file with the tools in TOOLFMT_TOOLS. It
prints calls: one JSON object per line or a list of them, each `{"name", "arguments"}`. Or it prints an assistant
message in OpenAI's format; then its text is checked too.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from types import MappingProxyType, TracebackType
from typing import Any, Protocol, Self, TypeAlias

from toolfmt._util.shell import words as words_of
from toolfmt.errors import ToolfmtError
from toolfmt.formats import names
from toolfmt.formats.serialization.files import SUFFIX, registered_format
from toolfmt.testing.broken import InvariantViolation
from toolfmt.testing.outcome import MakeParser, ParserOutcome, Tools, of_data, outcome_of_message, read
from toolfmt.testing.processes import MOST_PRINTED, Lines, end, run

Reading: TypeAlias = ParserOutcome | InvariantViolation
Way: TypeAlias = Sequence[str]

HANGS = ("in-time", "it hangs")
"""The invariant and the kind for a target that hangs."""
_START = 180.0
"""Maximum seconds to import a module: some import torch."""
_FACTORY = re.compile(r"[A-Za-z_][\w.]*:[A-Za-z_][\w.]*")
_MOST_WORDS = 300
_ERROR = re.compile(r"(?:^|[\s.:$])(\w*(?:Error|Exception))(?: \[\w+\])?(?=: |:?$)")
"""How Python, node, Java and Ruby print exceptions: `json.JSONDecodeError: …`, `TypeError [ERR_X]: …`."""


class Target(Protocol):
    """A parser to test."""

    name: str
    formats: tuple[str, ...]
    """The formats that it declares."""
    version: str

    @property
    def variants(self) -> Mapping[str, Sequence[str]]:
        """The variants of each format that it declares; the format's own if it declares none."""

    def read(self, ways: Sequence[Way], tools: Tools) -> list[Reading]:
        """Return its result for an output in each of these ways, or only the first one if it parses whole outputs."""

    def close(self) -> None:
        """End its process."""


class _Closing:
    def close(self) -> None:
        """Nothing runs."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


class Local(_Closing):
    """A factory in this process, without a time limit: for a coverage-guided fuzzer, and for tests."""

    def __init__(self, make_parser: MakeParser, name: str = "a parser") -> None:
        self.name = name
        self.formats = tuple(getattr(make_parser, "formats", ()))
        self.variants: Mapping[str, Sequence[str]] = dict(getattr(make_parser, "variants", {}))
        self.version = str(getattr(make_parser, "version", ""))
        self._make_parser = make_parser

    def read(self, ways: Sequence[Way], tools: Tools) -> list[Reading]:
        readings: list[Reading] = []
        for way in ways:
            try:
                readings.append(read(self._make_parser, way, tools))
            except InvariantViolation as broken:
                readings.append(broken)
            last = readings[-1]
            if isinstance(last, ParserOutcome) and not last.streams:
                break
        return readings


class InProcessTarget(_Closing):
    """A factory, or a format of toolfmt, in a worker process, which is restarted after a crash."""

    def __init__(self, spec: str, timeout: float = 10.0) -> None:
        self.name = spec
        self.timeout = timeout
        self._worker: subprocess.Popen[bytes] | None = None
        self._replies: Lines | None = None
        about = self._begin()
        self.is_toolfmt = _is_format(spec)
        self.formats = tuple(about["formats"])
        self.variants: Mapping[str, Sequence[str]] = about["variants"]
        if self.is_toolfmt:
            known = registered_format(spec)
            self.formats, self.variants = (known.name,), {known.name: ("", *known.variants)}
        self.version = about["version"]

    def read(self, ways: Sequence[Way], tools: Tools) -> list[Reading]:
        if self._worker is None:
            self._begin()
        assert self._worker is not None and self._worker.stdin is not None and self._replies is not None
        request = json.dumps({"tools": tools, "ways": [list(way) for way in ways]})
        try:
            self._worker.stdin.write(request.encode() + b"\n")
            self._worker.stdin.flush()
        except OSError:
            return [self._died()]
        try:
            line = self._replies.next(self.timeout, most=MOST_PRINTED * len(ways))
        except TimeoutError:
            self.close()
            return [_hangs(self.timeout)]
        if line is None:
            too_much = self._replies.too_much
            died = self._died()
            return [_prints_too_much() if too_much else died]
        return [InvariantViolation(**one) if "invariant" in one else of_data(one) for one in json.loads(line)]

    def close(self) -> None:
        worker, self._worker = self._worker, None
        if worker is not None:
            end(worker)
            assert worker.stdin is not None
            with suppress(OSError):
                worker.stdin.close()

    def _begin(self) -> dict[str, Any]:
        """Start the process. Return the factory's description. Raises `ToolfmtError` if the factory does not exist."""
        worker = subprocess.Popen(
            [sys.executable, "-m", "toolfmt.testing.worker", self.name],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(path or os.getcwd() for path in sys.path)},
            start_new_session=True,
        )
        assert worker.stdout is not None
        self._worker, self._replies = worker, Lines(worker.stdout, worker)
        try:
            line = self._replies.next(_START)
        except TimeoutError:
            self.close()
            raise ToolfmtError(f"{self.name}: not imported within {_START:.0f} seconds; import it alone") from None
        reply: dict[str, Any] = (
            {"failed": "the process ended", "way_out": "; import it alone"} if line is None else json.loads(line)
        )
        if "failed" in reply:
            self.close()
            raise ToolfmtError(f"{self.name}: cannot be loaded ({reply['failed']}){reply['way_out']}")
        return reply

    def _died(self) -> InvariantViolation:
        status = None if self._worker is None else end(self._worker)
        self.close()
        return _crashes(status)


class CommandTarget(_Closing):
    """A command that is run once per output and parses it whole."""

    version = ""
    formats: tuple[str, ...] = ()
    variants: Mapping[str, Sequence[str]] = MappingProxyType({})
    is_toolfmt = False

    def __init__(self, words: Sequence[str], timeout: float = 10.0) -> None:
        self.name = shlex.join(words)
        self.timeout = timeout
        self._words = list(words)
        self._folder = tempfile.TemporaryDirectory(prefix="toolfmt-fuzz-")
        self._tools = os.path.join(self._folder.name, "tools.json")

    def read(self, ways: Sequence[Way], tools: Tools) -> list[Reading]:
        try:
            return [self._outcome("".join(ways[0]), tools)]
        except InvariantViolation as broken:
            broken.unusable = True  # if it prints no calls, nothing can be judged
            return [broken]

    def _outcome(self, text: str, tools: Tools) -> ParserOutcome:
        """Return what it prints for an output. Raises `InvariantViolation`, and `ToolfmtError` if it cannot be run."""
        environment = {name: value for name, value in os.environ.items() if name != "TOOLFMT_TOOLS"}
        if tools is not None:
            with open(self._tools, "w", encoding="utf-8") as file:
                json.dump(tools, file)
            environment["TOOLFMT_TOOLS"] = self._tools
        try:
            done = run(self._words, text.encode("utf-8", "replace"), self.timeout, environment)
        except OSError as error:
            ways_out = "name the program that runs it too, as in 'python3 read.py'"
            raise ToolfmtError(f"{self.name}: cannot be run ({error.strerror}); {ways_out}") from None
        if done.too_much:
            raise _prints_too_much()
        if done.status is None:
            raise _hangs(self.timeout)
        if done.status < 0:
            raise _crashes(done.status)
        if done.status:
            raise _ends_badly(done.status, done.errors.decode("utf-8", "replace"))
        # Parsers such as JSON.parse make doubles of numbers before a command prints them.
        return replace(_printed(done.printed.decode("utf-8", "replace")), doubles=True)

    def close(self) -> None:
        self._folder.cleanup()


def _printed(output: str) -> ParserOutcome:
    """Return the result in a command's output. Raises `InvariantViolation`."""
    try:
        try:
            values = [json.loads(output)] if output.strip() else []
        except ValueError:
            values = [json.loads(line) for line in output.splitlines() if line.strip()]
    except (ValueError, RecursionError) as error:
        shown = output[:_MOST_WORDS]
        raise InvariantViolation("shape", "no JSON", f"the command prints no JSON ({error}): {shown!r}") from None
    if len(values) == 1 and isinstance(values[0], dict) and ("content" in values[0] or "tool_calls" in values[0]):
        return outcome_of_message(values[0])
    calls = values[0] if len(values) == 1 and isinstance(values[0], list) else values
    return outcome_of_message({"tool_calls": calls})


def _ends_badly(status: int, words: str) -> InvariantViolation:
    """Return a violation for a status other than 0, with the most informative line of standard error.

    That is the last line that names an error (node prints its version after it), else the last line. Errors of
    different names are different bugs.
    """
    lines = [line.strip() for line in words.splitlines() if line.strip()]
    named = [(line, found) for line in lines if (found := _ERROR.search(line))]
    line = named[-1][0] if named else lines[-1] if lines else "without output"
    kind = f"{named[-1][1][1]}, exit status {status}" if named else f"exit status {status}"
    return InvariantViolation("never-raises", kind, f"the command ends with status {status}: {line}"[:_MOST_WORDS])


def _hangs(seconds: float) -> InvariantViolation:
    return InvariantViolation(*HANGS, f"nothing came within {seconds:g} seconds")


def _prints_too_much() -> InvariantViolation:
    message = f"more than {MOST_PRINTED // 10**6} MB were printed for one output, and the process was ended"
    return InvariantViolation("shape", "too much is printed", message)


def _crashes(status: int | None) -> InvariantViolation:
    return InvariantViolation("in-time", "it dies", f"the process ended with status {status} while it read")


def _how_a_file_is_run(file: str) -> str:
    """Return how to run a file that a shell cannot run by this name."""
    if os.access(file, os.X_OK):
        return f"a command is looked for in PATH; give ./{file}"
    reason = "a file that is not executable; name the program that runs it, as in"
    module, ending = os.path.splitext(file)
    if ending != ".py":
        return f"{reason} 'node {file}', or make it executable"
    parts = os.path.normpath(module).split(os.sep)
    factory = f", or a factory in it, as in {'.'.join(parts)}:parser" if all(map(str.isidentifier, parts)) else ""
    return f"{reason} 'python3 {file}'{factory}"


def _is_format(given: str) -> bool:
    """Return whether a target is a format of toolfmt, by name or as a JSON file."""
    return given in names() or (given.endswith(SUFFIX) and len(given.split()) == 1)


def target(given: str, timeout: float = 10.0) -> InProcessTarget | CommandTarget:
    """Return the target: a parser to run outputs on.

    Args:
        given: A format's name or file, `module:factory`, or a command.
        timeout: The time limit of a run, in seconds.

    Raises:
        ToolfmtError: It is none of these, or the command cannot be run.
    """
    if _is_format(given) or _FACTORY.fullmatch(given):
        return InProcessTarget(given, timeout)
    try:
        words = words_of(given)
    except ValueError as error:
        raise ToolfmtError(f"{given}: no command ({error}); quote it as a shell takes it") from None
    if words and shutil.which(words[0]) is None and os.path.isfile(words[0]):
        raise ToolfmtError(f"{given}: {_how_a_file_is_run(words[0])}")
    if not words or shutil.which(words[0]) is None:
        ways = "a format (see toolfmt formats), module:factory, or a command that can be run"
        raise ToolfmtError(f"{given!r}: neither a format nor a command; give {ways}")
    return CommandTarget(words, timeout)
