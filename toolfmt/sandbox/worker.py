"""The process that templates run in: `python -m toolfmt.sandbox.worker MEMORY SECONDS [MODULE …]`, started by
`toolfmt.sandbox.pool`; the modules are imported first.

Jobs come in on standard input and answers go out on standard output, one message each. An answer is one byte and then,
packed (`toolfmt.typed_json`), the value, `(class, message, line, kind, own words)` of an error, or `(message, limit,
line, own words)` of a limit. Whatever else happens ends the process.
"""

from __future__ import annotations

import math
import os
import pickle
import random
import sys
from importlib import import_module

from toolfmt.errors import LimitHit, TemplateError, ToolfmtError
from toolfmt.sandbox.pool import DONE, ERROR, LIMIT, receive, send
from toolfmt.typed_json import packed


def main() -> None:
    memory, seconds = map(int, sys.argv[1:3])
    for module in sys.argv[3:]:
        import_module(module)
    requests, answers = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    nowhere = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1):  # what a library prints is no answer
        os.dup2(nowhere, stream)
    _limit_memory(memory)
    while True:
        try:
            request = receive(requests)
        except EOFError:
            return
        _limit_processor(seconds)
        random.seed(0)  # what a template draws by lot (`random`, `lipsum`) is drawn alike in every run
        send(answers, _answer(request))


def _answer(request: bytes) -> bytes:
    function, given = pickle.loads(request)  # from the process that started this one
    try:
        return DONE + packed(function(*given))
    except LimitHit as hit:
        return LIMIT + packed((str(hit), hit.limit, hit.line, hit.own_words))
    except ToolfmtError as error:
        failed = error if isinstance(error, TemplateError) else TemplateError("")
        told = (type(error).__name__, str(error), failed.line, failed.kind, failed.own_words)
        return ERROR + packed(told)
    except MemoryError:
        return LIMIT + packed(("memory ran out", "memory", None, "memory ran out"))


def _limit_memory(beyond: int) -> None:
    """Let the address space grow by so many bytes; where the system has no such limit, there is none."""
    try:
        import resource

        with open("/proc/self/statm", encoding="ascii") as sizes:
            now = int(sizes.read().split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (now + beyond, now + beyond))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    except (ImportError, OSError, ValueError):
        return


def _limit_processor(seconds: int) -> None:
    """Let the processor run for so many seconds more, and up to one second beyond, as the system counts in whole ones;
    then the system ends the process."""
    try:
        import resource

        spent = resource.getrusage(resource.RUSAGE_SELF)
        hard = resource.getrlimit(resource.RLIMIT_CPU)[1]
        resource.setrlimit(resource.RLIMIT_CPU, (math.ceil(spent.ru_utime + spent.ru_stime) + seconds, hard))
    except (ImportError, OSError, ValueError):
        return


if __name__ == "__main__":
    main()
