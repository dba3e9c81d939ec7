"""Read a format from a JSON file, which `toolfmt dev derive` or a person wrote."""

from __future__ import annotations

import os
from pathlib import Path

from toolfmt.errors import BadFormat
from toolfmt.formats.format import ToolCallFormat
from toolfmt.formats.registry import formats, get
from toolfmt.formats.serialization.decoder import LONGEST_TEXT
from toolfmt.formats.serialization.format_data import from_text
from toolfmt.formats.serialization.registration import register

_MOST_BYTES = 4 * LONGEST_TEXT
"""A character has at most four bytes in UTF-8. The limit matters for a device such as /dev/zero, which never ends."""
SUFFIX = ".json"


def format_from_file(path: str | os.PathLike[str]) -> ToolCallFormat:
    """Return the format that a JSON file describes. Nothing in the file is executed.

    The format is not registered. Pass it wherever a format is accepted.

    Args:
        path: The path of the file, as `toolfmt dev derive` writes it.

    Raises:
        BadFormat: The file cannot be read or does not describe a format. The message names the file, the member and
            what is expected there.
    """
    file = Path(path)
    try:
        with file.open("rb") as opened:
            data = opened.read(_MOST_BYTES + 1)
    except (OSError, ValueError) as error:  # a name that contains NUL raises ValueError
        why = getattr(error, "strerror", None) or error
        raise BadFormat(f"{_shown(file)}: cannot read the format ({why}); pass a JSON file") from None
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        if len(data) <= _MOST_BYTES:
            raise BadFormat(f"{_shown(file)}: not UTF-8 text (offset {error.start}); save it as UTF-8") from None
        text = " " * (LONGEST_TEXT + 1)
    return from_text(text, _shown(file))


def is_file_name(name: str) -> bool:
    """Whether the name of a format means a file: it ends with `.json` or contains a path separator.

    A string with `<` or a line break is not a file name: it is probably an output that was passed by mistake.
    """
    separators = {os.sep, os.altsep or os.sep}
    return name.endswith(SUFFIX) or (
        any(separator in name for separator in separators) and not any(char in name for char in "<\n")
    )


def named_format(name: str) -> ToolCallFormat:
    """Return the format with this name, or from the file with this name.

    Raises:
        BadFormat: The file is not a valid format.
        UnknownFormat: There is no format with this name.
    """
    return format_from_file(name) if is_file_name(name) else get(name)


def registered_format(name: str) -> ToolCallFormat:
    """Return the same format as `named_format` after registering it, for code that looks formats up by name.

    Raises:
        BadFormat: As in `named_format`, or another format has one of its names.
        UnknownFormat: There is no format with this name.
    """
    format = named_format(name)
    try:
        if format not in formats():
            register(format)
    except BadFormat:
        raise
    except ValueError as error:
        raise BadFormat(f"{name}: {error}") from None
    return format


def _shown(file: Path) -> str:
    """Return the file name, shortened and without unprintable characters, for a message of one line."""
    return "".join(char if char.isprintable() else "\N{REPLACEMENT CHARACTER}" for char in str(file))[:200]
