"""A format as data, and back: what a file holds and another process is handed. Data, never code.

A format and what it is made of are dataclasses, whose fields are walked here: `format_to_dict` writes those that differ
from their defaults, `decoder.py` reads them by their annotations. What may stand in a field is told by the tables in
`schema.py`. Whatever cannot be stored, or is no format, is a `BadFormat` that names the member.
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
"""What is read, in errors, where nobody says."""
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
    """The format that `format_to_dict` made this of, or somebody by hand; members that are missing have their defaults.

    It has been tried: in each of its variants it reads back a call that it writes. Raises `BadFormat`, whose text
    begins with `source` and names the member.
    """
    return read_format(data, source)


def to_text(format: ToolCallFormat) -> str:
    """A format as the text of a file: JSON, a line a member, where signs that cannot be seen are escaped. Raises as
    `format_to_dict` does."""
    text = _laid_out(format_to_dict(format), "")
    return "".join(sign if sign.isprintable() or sign == "\n" else json.dumps(sign)[1:-1] for sign in text) + "\n"


def _laid_out(value: Any, margin: str) -> str:
    """JSON over several lines, but for lists that a line holds."""
    line = json.dumps(value, ensure_ascii=False)
    if not isinstance(value, (dict, list)) or not value:
        return line
    if isinstance(value, list) and len(margin) + len(line) <= _LINE:
        return line
    if isinstance(value, dict):
        inside = [f"{json.dumps(key)}: {_laid_out(one, margin + _STEP)}" for key, one in value.items()]
    else:
        inside = [_laid_out(one, margin + _STEP) for one in value]
    opener, closer = "{}" if isinstance(value, dict) else "[]"
    lines = f",\n{margin}{_STEP}".join(inside)
    return f"{opener}\n{margin}{_STEP}{lines}\n{margin}{closer}"


def from_text(text: str, source: str = _UNNAMED) -> ToolCallFormat:
    """The format that a text describes, which `to_text` made or somebody by hand. Raises as `from_data` does."""
    if not isinstance(text, str):
        raise BadFormat(f"{source}: a format must be a string, not {type(text).__name__}")
    if len(text) > LONGEST_TEXT:
        raise BadFormat(f"{source}: longer than {LONGEST_TEXT:,} characters, the maximum for a format")
    try:
        data = json.loads(text, object_pairs_hook=_once, parse_constant=_no_constant)
    except (ValueError, RecursionError) as error:
        raise BadFormat(f"{source}: not JSON: {json_fault(error)}") from None
    return from_data(data, source)


def check_stored(format: ToolCallFormat) -> str:
    """The text of a format, from which it comes back as it is. Raises `BadFormat` for one of which it does not."""
    text = to_text(format)
    if from_text(text, f"the format {format.name}") != format:
        raise BadFormat(f"the format {format.name} cannot be stored as data: reading it back gives a different format")
    return text


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) < len(pairs):
        names = [name for name, _ in pairs]
        raise ValueError(f"the member {next(name for name in names if names.count(name) > 1)[:60]!r} appears twice")
    return members


def _no_constant(word: str) -> NoReturn:
    raise ValueError(f"{word} is not a JSON value")


# --- writing


def _members(record: Any, who: str, path: str) -> dict[str, Any]:
    """The fields of a dataclass that differ from their defaults; `path` names it in errors."""
    members = {}
    for field in fields(record):
        value = getattr(record, field.name)
        if not _is_default(field, value):
            members[field.name] = _stored(value, who, f"{path}.{field.name}".lstrip("."))
    return members


def _is_default(field: Field[Any], value: object) -> bool:
    if field.default_factory is not MISSING:
        return bool(value == field.default_factory())
    return bool(value == field.default)


def _stored(value: Any, who: str, path: str) -> Any:
    if value is None or type(value) in (str, int, bool):
        return value
    if isinstance(value, tuple):
        return [_stored(item, who, f"{path}[{at}]") for at, item in enumerate(value)]
    if isinstance(value, Mapping):
        return {key: _stored(item, who, f"{path}[{key!r}]") for key, item in value.items()}
    for name, constant in CONSTANTS:
        if value is constant or (type(value) is type(constant) and value == constant):
            return name
    kind = KIND_OF.get(type(value))
    if kind is None:
        raise BadFormat(
            f"{who} cannot be stored as data: {path} is {_named(value)}, which is code; only objects of toolfmt itself "
            "can be stored"
        )
    return ({"kind": kind} if kind else {}) | _members(value, who, path)


def _named(value: object) -> str:
    """An object that is none of toolfmt's, as a person may find it."""
    named = value if hasattr(value, "__qualname__") else type(value)
    return f"{getattr(named, '__module__', '')}.{getattr(named, '__qualname__', '')}".strip(".")[:120]
