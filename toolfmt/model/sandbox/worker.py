"""The worker process for templates: `python -m toolfmt.model.sandbox.worker LIFELINE MEMORY SECONDS [MODULE …]`.

`toolfmt.model.sandbox.pool` starts it. LIFELINE is the descriptor of a pipe that ends when the parent process ends (-1
if there is none). The installed ones of the modules are imported first; after that, nothing can be opened.

After startup, the process sends one empty message. It reads jobs from standard input and writes responses to standard
output, one message each. A response has the number of its request. It consists of one byte and packed data
(`toolfmt._util.typed_json`): the value, `(class, message, line, kind, own words)` of an error, `(message, limit, line,
own words)` of a limit, or `(class, places)` of an unexpected exception, which is a bug in toolfmt. Anything else ends
the process.
"""

from __future__ import annotations

import os
import pickle
import random
import sys
from contextlib import suppress
from importlib import import_module
from pathlib import Path

from toolfmt._util.typed_json import packed
from toolfmt.errors import LimitHit, TemplateError, ToolfmtError
from toolfmt.model.sandbox.confinement import (
    end_with_parent,
    leave_network,
    limit_memory,
    limit_processor,
    open_no_more,
)
from toolfmt.model.sandbox.pool import BUG, DONE, ERROR, LIMIT, LOW_MEMORY_LIMIT, STARTED, receive, send

_PACKAGE = str(Path(__file__).resolve().parents[2]) + os.sep
_MOST_PLACES = 30


def main() -> None:
    lifeline, memory, seconds = map(int, sys.argv[1:4])
    if lifeline >= 0:
        end_with_parent(lifeline)
    broken: ToolfmtError | None = None
    for module in sys.argv[4:]:
        try:
            import_module(module)
        except ImportError:
            pass
        except ToolfmtError as error:  # a broken format module; every job returns that error
            broken = error
    os.environ.clear()  # Python no longer needs them after startup
    requests, answers = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    nowhere = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1):  # output of a library must not look like a response
        os.dup2(nowhere, stream)
    leave_network()
    if not limit_memory(memory):
        sys.exit(LOW_MEMORY_LIMIT)
    open_no_more()
    send(answers, STARTED, b"")
    while True:
        try:
            nonce, request = receive(requests)
        except EOFError:
            return
        limit_processor(seconds)
        random.seed(0)  # makes random functions (`random`, `lipsum`) return the same in every run
        send(answers, nonce, _answer(request) if broken is None else _error(broken))


def _answer(request: bytes) -> bytes:
    with suppress(MemoryError):  # also if reporting an error fails; after it, the memory is free again
        return _answer_within_memory(request)
    return LIMIT + packed(("memory ran out", "memory", None, "memory ran out"))


def _answer_within_memory(request: bytes) -> bytes:
    function, given = pickle.loads(request)  # sent by the parent process
    try:
        return DONE + packed(function(*given))
    except LimitHit as hit:
        return LIMIT + packed((str(hit), hit.limit, hit.line, hit.engine_message))
    except ToolfmtError as error:
        return _error(error)
    except MemoryError:
        raise
    except Exception as error:  # noqa: BLE001 - a bug in toolfmt, which is reported with its location
        return BUG + packed((type(error).__name__, _places(error)))


def _error(error: ToolfmtError) -> bytes:
    failed = error if isinstance(error, TemplateError) else TemplateError("")
    return ERROR + packed((type(error).__name__, str(error), failed.line, failed.kind, failed.engine_message))


def _places(error: Exception) -> tuple[str, ...]:
    """Return where in toolfmt's code it was raised, the outermost call first. Of a long chain, return the innermost."""
    places, frame = [], error.__traceback__
    while frame is not None:
        code = frame.tb_frame.f_code
        if code.co_filename.startswith(_PACKAGE):
            file = code.co_filename.removeprefix(_PACKAGE).replace(os.sep, "/")
            places.append(f"toolfmt/{file}:{frame.tb_lineno} {code.co_name}")
        frame = frame.tb_next
    return tuple(places[-_MOST_PLACES:])


if __name__ == "__main__":
    main()
