"""Pipes and devices that a user names instead of a file: `<(command)`, a named pipe, /dev/null, /dev/stdout.

`input.py` opens them to read, `report_outputs.py` to write. Opening a named pipe blocks until its other end is open.
For reading, this module waits for some time, for writing not at all.
"""

from __future__ import annotations

import os
import stat
from contextlib import suppress
from threading import Thread
from typing import BinaryIO

from toolfmt.errors import ToolfmtError

_SECONDS = 10.0
"""Seconds to wait for the writer of a pipe that is read as a whole."""


def opened_pipe(file: str) -> BinaryIO | None:
    """Open a pipe of this name for reading. Return None for anything else.

    Raises `ToolfmtError` if no process opens it for writing, and `OSError`.
    """
    if not stat.S_ISFIFO(os.stat(file).st_mode):
        return None
    found: list[BinaryIO | OSError] = []
    opening = Thread(target=lambda: found.append(_open(file)), daemon=True)
    opening.start()
    opening.join(_SECONDS)
    if opening.is_alive():
        with suppress(OSError):  # lets the thread end
            os.close(os.open(file, os.O_WRONLY | os.O_NONBLOCK))
        raise ToolfmtError(f"{file}: no process writes to this pipe; start the writer first, or pass a file")
    if isinstance(found[0], OSError):
        raise found[0]
    return found[0]


def _open(file: str) -> BinaryIO | OSError:
    try:
        return open(file, "rb")
    except OSError as error:
        return error


def write_special(file: str, data: bytes) -> bool:
    """Write the data if the name is that of a pipe or a device. Return False, and write nothing, if it is not.

    Raises `ToolfmtError` for a pipe without a reader and for a disk, and `OSError`.
    """
    try:
        mode = os.stat(file).st_mode
    except OSError:
        return False
    if stat.S_ISREG(mode) or stat.S_ISDIR(mode):
        return False
    if stat.S_ISBLK(mode):
        raise ToolfmtError(f"{file}: a disk, which would be overwritten; name a file")
    try:
        descriptor = os.open(file, os.O_WRONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOCTTY", 0))
    except OSError:
        if stat.S_ISFIFO(mode):
            raise ToolfmtError(f"{file}: no process reads this pipe; start the reader first, or pass a file") from None
        raise
    with os.fdopen(descriptor, "wb") as special:
        os.set_blocking(descriptor, True)
        special.write(data)
    return True
