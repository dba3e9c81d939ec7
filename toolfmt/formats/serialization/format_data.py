"""Convert a format to data and back, for files and for other processes. Data never contains code.

A format and its parts are dataclasses. `format_to_dict` writes the fields that differ from their defaults. `decoder.py`
reads them by their annotations. The tables in `schema.py` list what a field may contain. A format that cannot be
stored, and data that is not a format, raise a `BadFormat` that names the member.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import MISSING, Field, fields
from typing import Any, NoReturn

from toolfmt.errors import BadFormat, json_fault
from toolfmt.formats.format import ToolCallFormat
from toolfmt.formats.serialization.decoder import LONGEST_TEXT, VERSION, VERSION_MEMBER, read_format
from toolfmt.formats.serialization.schema import CONSTANTS, KIND_OF

_UNNAMED = "the format"
"""What the data is called in errors if the caller does not name it."""
_LINE, _STEP = 110, "  "


def format_to_dict(format: ToolCallFormat) -> dict[str, Any]:
    """Return a format as JSON data, which `toolfmt.format_from_file` reads from a file.

    Args:
        format: The format. Members that have their default value are left out.

    Raises:
        BadFormat: Only code can express the format.
    """
    return {VERSION_MEMBER: VERSION, **_members(format, f"the format {format.name}", "")}


def from_data(data: object, source: str = _UNNAMED) -> ToolCallFormat:
    """Return the format that the data describes, as `format_to_dict` returns it. Missing members have their defaults.

    The format and each of its variants have written a call and parsed it.

    Args:
        data: The data, as `json.loads` returns it.
        source: What the data is called in errors, such as a file name.

    Raises:
        BadFormat: The data is not a valid format. The message begins with `source` and names the member.
    """
    return read_format(data, source)


def to_text(format: ToolCallFormat) -> str:
    """Return a format as the text of a JSON file, with one member per line and unprintable characters escaped.

    Raises `BadFormat` as `format_to_dict` does.
    """
    text = _indented(format_to_dict(format), "")
    return "".join(char if char.isprintable() or char == "\n" else json.dumps(char)[1:-1] for char in text) + "\n"


def _indented(value: Any, margin: str) -> str:
    """Return JSON with one member per line. A list that fits into a line is one line."""
    line = json.dumps(value, ensure_ascii=False)
    if not isinstance(value, (dict, list)) or not value:
        return line
    if isinstance(value, list) and len(margin) + len(line) <= _LINE:
        return line
    if isinstance(value, dict):
        inside = [f"{json.dumps(key)}: {_indented(item, margin + _STEP)}" for key, item in value.items()]
    else:
        inside = [_indented(item, margin + _STEP) for item in value]
    start, end = "{}" if isinstance(value, dict) else "[]"
    lines = f",\n{margin}{_STEP}".join(inside)
    return f"{start}\n{margin}{_STEP}{lines}\n{margin}{end}"


def from_text(text: str, source: str = _UNNAMED) -> ToolCallFormat:
    """Return the format that a JSON text describes, as `to_text` returns it. Raises `BadFormat` as `from_data` does."""
    if not isinstance(text, str):
        raise BadFormat(f"{source}: a format must be a string, not {type(text).__name__}")
    if len(text) > LONGEST_TEXT:
        raise BadFormat(f"{source}: longer than {LONGEST_TEXT:,} characters, the maximum for a format")
    try:
        data = json.loads(text, object_pairs_hook=_without_duplicates, parse_constant=_no_constant)
    except (ValueError, RecursionError) as error:
        raise BadFormat(f"{source}: not JSON: {json_fault(error)}") from None
    return from_data(data, source)


def check_stored(format: ToolCallFormat) -> str:
    """Return the text of a format, from which `from_text` returns an equal format.

    Raises `BadFormat` if it cannot be stored or is not equal after that.
    """
    text = to_text(format)
    if from_text(text, f"the format {format.name}") != format:
        raise BadFormat(f"the format {format.name} cannot be stored as data: reading it back gives a different format")
    return text


def _without_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return the members of a JSON object. Raises `ValueError` if a name appears twice."""
    members = dict(pairs)
    if len(members) < len(pairs):
        names = [name for name, _ in pairs]
        raise ValueError(f"the member {next(name for name in names if names.count(name) > 1)[:60]!r} appears twice")
    return members


def _no_constant(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is not a JSON value")


# --- writing


def _members(record: Any, source: str, path: str) -> dict[str, Any]:
    """Return the fields of a dataclass that differ from their defaults. Errors name `source` and `path`."""
    members = {}
    for field in fields(record):
        value = getattr(record, field.name)
        if not _is_default(field, value):
            members[field.name] = _encoded(value, source, f"{path}.{field.name}".lstrip("."))
    return members


def _is_default(field: Field[Any], value: object) -> bool:
    if field.default_factory is not MISSING:
        return bool(value == field.default_factory())
    return bool(value == field.default)


def _encoded(value: Any, source: str, path: str) -> Any:
    if value is None or type(value) in (str, int, bool):
        return value
    if isinstance(value, tuple):
        return [_encoded(item, source, f"{path}[{at}]") for at, item in enumerate(value)]
    if isinstance(value, Mapping):
        return {key: _encoded(item, source, f"{path}[{key!r}]") for key, item in value.items()}
    for name, constant in CONSTANTS:
        if value is constant or (type(value) is type(constant) and value == constant):
            return name
    kind = KIND_OF.get(type(value))
    if kind is None:
        raise BadFormat(
            f"{source} cannot be stored as data: {path} is {_qualified_name(value)}, which is code; "
            "only objects of toolfmt itself can be stored"
        )
    return ({"kind": kind} if kind else {}) | _members(value, source, path)


def _qualified_name(value: object) -> str:
    """Return the module and name of an object or of its class, so that the user can find it."""
    named = value if hasattr(value, "__qualname__") else type(value)
    return f"{getattr(named, '__module__', '')}.{getattr(named, '__qualname__', '')}".strip(".")[:120]
