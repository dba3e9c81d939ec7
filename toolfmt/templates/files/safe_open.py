"""Open files from untrusted sources: only regular files, without blocking, and only inside the expected directory.

The loaders, the readers of GGUF files and tokenizers, and the hub cache open files only through this module. It opens
nothing that could block (a pipe, a device). It does not follow links out of the model's own directory, because a report
would print the content. All checks use the open file, so that it cannot be replaced after the check.
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
"""macOS: the `fcntl` command that returns the path of an open file (`fcntl.h`)."""


class NoFile(BadModelDirectory):
    """A directory, pipe, device or socket where a file is expected."""


def opened(path: Path, within: Path | None = None, *, endings: tuple[str, ...] = ()) -> BinaryIO:
    """Open the regular file at a path for reading, unbuffered.

    `within` is the directory that the file belongs to. A link is followed inside of it, and from a snapshot of the hub
    cache to the blobs of the same repository. With `endings`, only the name of the linked file counts, not its
    location. Without `within`, a link may lead anywhere.

    Raises `NoFile` if it is not a regular file, `BadModelDirectory` for a link that leads elsewhere, and `OSError` if
    the file cannot be opened.
    """
    if not stat.S_ISREG(os.stat(path).st_mode):  # opening a device can already have side effects
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
    """Return at most this many bytes from the start of a file. Raises `OSError` if there is no data yet."""
    parts, left = [], bound
    while left > 0:
        # Not `file.read`, which treats missing data as the end of the file.
        part = os.read(file.fileno(), min(left, 1 << 20))
        if not part:
            break
        parts.append(part)
        left -= len(part)
    return b"".join(parts)


def _check_place(descriptor: int, path: Path, within: Path, endings: tuple[str, ...]) -> None:
    """Raise if the open file is neither in the directory nor in the blobs of the same repository."""
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
    """Return a directory's real location in the same form as `_place`.

    On macOS, this has the letter case of the disk, which may differ from what the user typed.
    """
    if sys.platform == "darwin":
        with suppress(OSError):
            descriptor = os.open(within, os.O_RDONLY)
            try:
                return _place(descriptor, within) or Path(os.path.realpath(within))
            finally:
                os.close(descriptor)
    return Path(os.path.realpath(within))


def _place(descriptor: int, path: Path) -> Path | None:
    """Return where an open file is after following all links, or None if unknown."""
    with suppress(OSError):
        return Path(os.readlink(f"/proc/self/fd/{descriptor}"))
    if sys.platform == "darwin":
        from fcntl import fcntl

        with suppress(OSError):
            return Path(os.fsdecode(fcntl(descriptor, _F_GETPATH, bytes(_LONGEST_PATH)).rstrip(b"\0")))
    real = os.path.realpath(path)
    return Path(real) if os.path.samestat(os.stat(real), os.fstat(descriptor)) else None


def _blobs(home: Path) -> Path | None:
    """Return the hub cache blobs that a snapshot's files link to. None for any other directory.

    huggingface_hub's layout: `models--ORG--NAME/snapshots/COMMIT/FILE` is a link to `models--ORG--NAME/blobs/HASH`.
    """
    for directory in (home, *home.parents):
        repository = directory.parent.parent
        if directory.parent.name == "snapshots" and repository.name.startswith("models--"):
            return repository / "blobs"
    return None
