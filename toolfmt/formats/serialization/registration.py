"""Register formats, in this process and in those that toolfmt starts for it.

The other process gets the result of `others_as_text` and passes it to `know_others`. Formats are read and written as
data only then: `format_data` is imported in functions, because it loads every engine.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache

from toolfmt.errors import BadFormat
from toolfmt.formats.format import DERIVED, ToolCallFormat
from toolfmt.formats.registry import OTHERS, changes, formats, known_others, name_clash

_BY_PLUG_IN = "a format that is code needs a package with an entry point in the group toolfmt.formats"


def register(format: ToolCallFormat) -> None:
    """Make a format known to `get`, `formats`, inspection, inference, and the runtimes loaded afterwards.

    This applies to this process and to those that toolfmt starts for it, which get the format as data. Registering an
    equal format again does nothing. A package can provide a format that only code can express with an entry point
    (group `toolfmt.formats`).

    Args:
        format: The format.

    Raises:
        ValueError: Another format has one of its names (the message names both), or it has the name of derived formats.
        TypeError: It is not a format.
        BadFormat: It cannot be expressed as data, or it does not parse what it writes.
    """
    from toolfmt.formats.serialization.format_data import check_stored

    if not isinstance(format, ToolCallFormat):
        raise TypeError(f"register() takes a ToolCallFormat, not a value of type {type(format).__name__}")
    if format.name == DERIVED:
        raise ValueError(
            f"{DERIVED!r} is the name of every derived format; give this one its own name: "
            'dataclasses.replace(format, name="…")'
        )
    with OTHERS.lock:
        if format in formats():
            return
        if fault := name_clash(format):
            raise ValueError(f"{fault}; give it another name")
        try:
            check_stored(format)
        except BadFormat as unstored:
            raise BadFormat(f"{unstored}; {_BY_PLUG_IN}") from None
        OTHERS.replace(*OTHERS.known, format)


def others_as_text() -> tuple[tuple[str, str], ...]:
    """What is known here beside toolfmt's own formats, for another process: names, each with the format as text, which
    is empty where only code can say it: the other process may have such a one of the same plug-in."""
    return _texts(changes())


@lru_cache(maxsize=1)
def _texts(_: int) -> tuple[tuple[str, str], ...]:
    return tuple((format.name, _text(format)) for format in OTHERS.known)


def _text(format: ToolCallFormat) -> str:
    from toolfmt.formats.serialization.format_data import check_stored

    try:
        return check_stored(format)
    except BadFormat:
        return ""


def know_others(handed: Iterable[tuple[str, str]]) -> None:
    """Know exactly what another process knows, which has said so by `others_as_text`."""
    handed = tuple(handed)
    with OTHERS.lock:
        known_others()
        if handed == OTHERS.received:
            return
        here = {format.name: format for format in OTHERS.plugins or ()}
        taken = [_read(name, text) if text else here.get(name) for name, text in handed]
        OTHERS.replace(*(format for format in taken if format is not None))
        OTHERS.received = handed


def _read(name: str, text: str) -> ToolCallFormat:
    from toolfmt.formats.serialization.format_data import from_text

    return from_text(text, name)
