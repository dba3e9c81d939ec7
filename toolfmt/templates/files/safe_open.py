"""Opening a file that a stranger may have put there: a regular file, at once, and only where it belongs.

`reading.py`, the readers of GGUF files and of tokenizers, and the hub cache open files here and nowhere else. Nothing
is opened that could wait (a pipe, a device) and nothing is read by way of a link that leads out of the model's own
directory: a report would print it. All is asked of the open file, so that nobody can put another one instead.
"""

from __future__ import annotations

import os
import stat
import sys
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO

from toolfmt.errors import BadModelDirectory

_WITHOUT_WAITING = (
    os.O_RDONLY
    | getattr(os, "O_NONBLOCK", 0)
    | getattr(os, "O_NOCTTY", 0)
    | getattr(os, "O_CLOEXEC", 0)
    | getattr(os, "O_BINARY", 0)
)
_NO_FILE = "{}: not a file; move it away or put the file there"
_F_GETPATH, _LONGEST_PATH = 50, 1024
"""What macOS tells the path of an open file by (`fcntl.h`)."""


class NoFile(BadModelDirectory):
    """A directory, a pipe, a device or a socket where a file should be."""


def opened(path: Path, within: Path | None = None, *, endings: tuple[str, ...] = ()) -> BinaryIO:
    """The regular file at a path, open for reading, unbuffered.

    `within` is the directory that the file belongs to: a link is followed inside of it, and from a snapshot of the hub
    cache to the blobs of the same repository. With `endings` what counts instead is the name of the file that is linked
    to, wherever that lies. Without `within` a link may lead anywhere. Raises `NoFile` for what is no regular file,
    `BadModelDirectory` for a link that leads elsewhere, `OSError` where nothing can be opened.
    """
    if not stat.S_ISREG(os.stat(path).st_mode):  # to open a device can do something already
        raise NoFile(_NO_FILE.format(path))
    descriptor = os.open(path, _WITHOUT_WAITING)
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise NoFile(_NO_FILE.format(path))
        if within is not None:
            _check_place(descriptor, path, within, endings)
        return os.fdopen(descriptor, "rb", buffering=0)
    except BaseException:
        os.close(descriptor)
        raise


def read_at_most(file: BinaryIO, bound: int) -> bytes:
    """The first bytes of a file, so many at most; raises `OSError` where there are none now but may be later."""
    parts, left = [], bound
    while left > 0:
        # Not `file.read`, which takes what has nothing to say yet for the end.
        part = os.read(file.fileno(), min(left, 1 << 20))
        if not part:
            break
        parts.append(part)
        left -= len(part)
    return b"".join(parts)


def _check_place(descriptor: int, path: Path, within: Path, endings: tuple[str, ...]) -> None:
    """Raises where the open file lies neither in the directory nor in the blobs of the same repository."""
    place = _place(descriptor, path)
    home = _home(within)
    if place is not None and (place.name.lower().endswith(endings) if endings else place.is_relative_to(home)):
        return
    if place is not None and (blobs := _blobs(home)) is not None and place.is_relative_to(blobs):
        return
    raise BadModelDirectory(
        f"{path}: a link {'to no template' if endings else f'that leads out of {within}'}, which is not followed; "
        "put a copy of the file there"
    )


def _home(within: Path) -> Path:
    """Where a directory lies, named as `_place` names what is in it: macOS tells letters as the disk has them, and a
    person may have typed small ones for large ones."""
    if sys.platform == "darwin":
        with suppress(OSError):
            descriptor = os.open(within, os.O_RDONLY)
            try:
                return _place(descriptor, within) or Path(os.path.realpath(within))
            finally:
                os.close(descriptor)
    return Path(os.path.realpath(within))


def _place(descriptor: int, path: Path) -> Path | None:
    """Where an open file lies, all links followed; None where that cannot be told."""
    with suppress(OSError):
        return Path(os.readlink(f"/proc/self/fd/{descriptor}"))
    if sys.platform == "darwin":
        from fcntl import fcntl

        with suppress(OSError):
            return Path(os.fsdecode(fcntl(descriptor, _F_GETPATH, bytes(_LONGEST_PATH)).rstrip(b"\0")))
    real = os.path.realpath(path)
    return Path(real) if os.path.samestat(os.stat(real), os.fstat(descriptor)) else None


def _blobs(home: Path) -> Path | None:
    """The blobs of the hub cache that a snapshot's files are links to; None for any other directory.

    huggingface_hub's layout: `models--ORG--NAME/snapshots/COMMIT/FILE` is a link to `models--ORG--NAME/blobs/HASH`.
    """
    for directory in (home, *home.parents):
        repository = directory.parent.parent
        if directory.parent.name == "snapshots" and repository.name.startswith("models--"):
            return repository / "blobs"
    return None
