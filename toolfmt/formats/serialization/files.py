"""A format read from a file, as `toolfmt dev derive` writes one, or a person."""

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
"""A character has four bytes in UTF-8 at most; a device such as /dev/zero never ends."""
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
    except (OSError, ValueError) as error:  # a name that holds NUL is a ValueError
        why = getattr(error, "strerror", None) or error
        raise BadFormat(f"{_shown(file)}: cannot read the format ({why}); pass a JSON file") from None
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        if len(data) <= _MOST_BYTES:
            raise BadFormat(f"{_shown(file)}: not UTF-8 text (offset {error.start}); save it as UTF-8") from None
        text = " " * (LONGEST_TEXT + 1)
    return from_text(text, _shown(file))


def is_file_name(given: str) -> bool:
    """Whether what is given for a format means a file: it ends with `.json`, or has a separator of paths. An answer
    that was put there by mistake has one too, in its tags."""
    separators = {os.sep, os.altsep or os.sep}
    return given.endswith(SUFFIX) or (
        any(separator in given for separator in separators) and not any(sign in given for sign in "<\n")
    )


def given_format(given: str) -> ToolCallFormat:
    """The format that a person names: by its name, or by its file. Raises `BadFormat` and `UnknownFormat`."""
    return format_from_file(given) if is_file_name(given) else get(given)


def known_format(given: str) -> ToolCallFormat:
    """The same, made known by its name, for what knows formats by that. Raises `BadFormat` too where another format has
    the name."""
    format = given_format(given)
    try:
        if format not in formats():
            register(format)
    except BadFormat:
        raise
    except ValueError as clash:
        raise BadFormat(f"{given}: {clash}") from None
    return format


def _shown(file: Path) -> str:
    """The file's name as it can be printed in one line."""
    return "".join(sign if sign.isprintable() else "\N{REPLACEMENT CHARACTER}" for sign in str(file))[:200]
