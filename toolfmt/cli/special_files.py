"""Pipes and devices that a user names where a file could be: `<(command)`, a named pipe, /dev/null, /dev/stdout.

`input.py` opens them to read, `report_outputs.py` writes into them. Opening a named pipe blocks
until its other end is open: for reading, this module waits for a while, for writing not at all.
"""

from __future__ import annotations

import os
import stat
from contextlib import suppress
from threading import Thread
from typing import BinaryIO

from toolfmt.errors import ToolfmtError

_SECONDS = 10.0
"""How long a pipe that is to be read as a whole may be without anybody who writes to it."""


def opened_pipe(file: str) -> BinaryIO | None:
    """The pipe of this name, open for reading; None for anything else. Raises `ToolfmtError` where nobody begins to
    write to it, and `OSError`.
    """
    if not stat.S_ISFIFO(os.stat(file).st_mode):
        return None
    found: list[BinaryIO | OSError] = []
    opening = Thread(target=lambda: found.append(_open(file)), daemon=True)
    opening.start()
    opening.join(_SECONDS)
    if opening.is_alive():
        with suppress(OSError):  # which lets the thread end
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
    """Write the data where the name is that of a pipe or a device; False where it is not, and nothing is written.

    Raises `ToolfmtError` for a pipe that nobody reads and for a disk, and `OSError`.
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
