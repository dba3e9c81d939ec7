"""Write files as a whole or not at all, and never over a file that is not an earlier output."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from errno import EISDIR
from pathlib import Path
from typing import BinaryIO

from toolfmt.cli.special_files import write_special
from toolfmt.errors import ToolfmtError

_EARLIER = {
    "text": rb"[^\n]+\n\n  verdict  |model +(?:type +)?verdict ",
    "json": rb'\{\s*"(?:schema": "toolfmt\.|path": ")',
    "sarif": rb'\{\s*"\$schema": "[^"]+sarif[^"]+",\s*"version": "2\.1\.0",\s*"runs": \[\s*\{\s*"tool": \{\s*'
    rb'"driver": \{\s*"name": "toolfmt"',
    "html": rb"\s*<(?i:!doctype html|html)",
    "github": rb"::(?:error|warning|notice) ",
    "junit": rb'<\?xml [^>]*\?>\s*<testsuites name="toolfmt"',
}
"""The beginning of a file that an output of the format may replace. Outputs of other formats replace no file."""
_LONGEST_BEGINNING = 1000


def write_whole(file: str, text: str, format: str) -> None:
    """Write a file as a whole or not at all. Raises `ToolfmtError` if it cannot be written.

    Pipes and devices are written directly.
    """
    data = text.encode("utf-8", "backslashreplace")
    try:
        if write_special(file, data):
            return
    except (OSError, ValueError) as error:
        raise cannot_write(file, error) from None
    with replacing(file, format) as written:
        written.write(data)


@contextmanager
def replacing(file: str, format: str) -> Iterator[BinaryIO]:
    """Open a temporary file in the same directory that replaces `file` if the block does not raise.

    A link is followed. Raises `ToolfmtError`.
    """
    try:
        target = Path(os.path.realpath(file))
    except ValueError as error:
        raise cannot_write(file, error) from None
    part = target.with_name(f".{target.name[:100]}.{os.getpid()}.part")
    try:
        if target.is_dir():
            raise IsADirectoryError(EISDIR, os.strerror(EISDIR))
        _check_replaceable(file, format)
        try:
            with part.open("xb") as written:
                yield written
            if target.exists():
                shutil.copymode(target, part)
            part.replace(target)
        except BaseException:  # an interrupt leaves no partial file either
            with suppress(OSError):
                part.unlink()
            raise
    except OSError as error:
        raise cannot_write(file, error) from None


def check_file(file: str, format: str) -> None:
    """Raise `ToolfmtError` if it is already known that the file cannot be written."""
    check_place(file)
    try:
        _check_replaceable(file, format)
    except (OSError, ValueError) as error:
        raise cannot_write(file, error) from None


def check_place(file: str) -> None:
    """Raise `ToolfmtError` if the file is a directory, or is in a directory that does not exist."""
    path = Path(file)
    for wrong, why in ((path.is_dir(), "Is a directory"), (not path.parent.is_dir(), "No such file or directory")):
        if wrong:
            raise ToolfmtError(f"{file}: cannot be written ({why}); name a writable file in an existing directory")


def _check_replaceable(file: str, format: str) -> None:
    """Raise `ToolfmtError` unless the file is an earlier output of the format, so that a typo destroys nothing."""
    path = Path(file)
    if not path.is_file():
        return
    with path.open("rb") as there:
        beginning = there.read(_LONGEST_BEGINNING)
    if not beginning:
        return
    if format not in _EARLIER:
        raise ToolfmtError(f"{file}: exists; remove it or name another file")
    if not re.match(_EARLIER[format], beginning):
        kind = "a web page" if format == "html" else f"an earlier {format} output"
        raise ToolfmtError(f"{file}: exists and is not {kind}; remove it or name another file")


def cannot_write(file: str, error: OSError | ValueError) -> ToolfmtError:
    """Return the error for a file that cannot be written."""
    why = error.strerror if isinstance(error, OSError) else error
    return ToolfmtError(f"{file}: cannot be written ({why}); name a writable file in an existing directory")
