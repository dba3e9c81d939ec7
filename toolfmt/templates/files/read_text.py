"""Read one file of a model: text, a JSON object, or a string in it.

Files are opened by `safe_open.py`, which never blocks and does not follow links out of the file's directory. Anything
unreadable raises a `BadModelDirectory` with a one-line message.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from toolfmt.errors import BadModelDirectory, json_fault
from toolfmt.messages.tools import kind_of
from toolfmt.templates.files.safe_open import opened, read_at_most

LONGEST_TEMPLATE = 4_000_000
"""Maximum size in bytes of a template file. `ChatTemplate` has its own limit."""

LONGEST_NAME, LONGEST_TOKEN = 200, 1_000
"""Maximum length of a template's name, a model type, or a token's text. Longer ones are made to fill reports."""

LONGEST_JSON = 50_000_000
"""Maximum size in bytes of a configuration file. The largest current tokenizer_config.json has about 2 MB."""

MOST_VALUES = 1_000_000
"""Maximum number of values in a configuration file. Two bytes can become an object of 64, so a file size does not limit
memory.
"""


def read_object(path: Path, within: Path | None = None) -> dict[str, Any]:
    """Return the JSON object in a file, `{}` if the file does not exist."""
    if not os.path.lexists(path):
        return {}
    text = read_text(path, LONGEST_JSON, "configuration", within)
    if (values := sum(map(text.count, ",[{"))) > MOST_VALUES:
        raise BadModelDirectory(
            f"{path}: some {values:,} values, more than a configuration has ({MOST_VALUES:,}); "
            "put the model's own configuration there"
        )
    try:
        value = json.loads(text)
    except json.JSONDecodeError as error:
        where = f"{path}, line {error.lineno}, column {error.colno}"
        raise BadModelDirectory(f"{where}: not JSON ({error.msg}); fix the file or download it again") from None
    except (ValueError, RecursionError) as error:
        raise BadModelDirectory(f"{path}: JSON that cannot be read ({json_fault(error)}); fix the file") from None
    if not isinstance(value, dict):
        raise BadModelDirectory(f"{path}: {kind_of(value)}, where a JSON object is expected; fix the file")
    return value


def read_template(path: Path, within: Path | None = None, *, endings: tuple[str, ...] = ()) -> str:
    """Return the text of a template file. Raises if it is too large for one."""
    return read_text(path, LONGEST_TEMPLATE, "chat template", within, endings)


def read_text(path: Path, at_most: int, what: str, within: Path | None = None, endings: tuple[str, ...] = ()) -> str:
    """Return the text of a file of limited size in bytes.

    `what` is what it contains, for errors. `within` and `endings` are those of `opened`.
    """
    try:
        with opened(path, within, endings=endings) as file:
            size = os.fstat(file.fileno()).st_size
            data = b"" if size > at_most else read_at_most(file, at_most + 1)
        if max(size, len(data)) > at_most:
            raise BadModelDirectory(
                f"{path}: {max(size, len(data)):,} bytes, more than a {what} has ({at_most:,}); "
                f"put the model's own {what.split()[-1]} there"
            )
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        byte = f"byte 0x{error.object[error.start]:02x} at offset {error.start}"
        raise BadModelDirectory(f"{path}: not UTF-8 text ({byte}); save it as UTF-8") from None
    except OSError as error:
        raise BadModelDirectory(
            f"{path}: cannot be read ({error.strerror}); check that the file is there and readable"
        ) from None


def string(values: dict[str, Any], key: str, origin: str, problems: list[str]) -> str | None:
    """Return the name under a key. Return None if it is missing, and add a problem if it is something else."""
    value = values.get(key)
    if value is None or (isinstance(value, str) and len(value) <= LONGEST_NAME):
        return value
    what = too_long(value, "name") if isinstance(value, str) else f"{kind_of(value)}, not a string"
    problems.append(f"{origin}: {key} is {what}; it is ignored")
    return None


def too_long(text: str, what: str) -> str:
    """Return the problem for a string that is longer than its kind allows."""
    return f"a string of {len(text):,} characters, too long for a {what}"
