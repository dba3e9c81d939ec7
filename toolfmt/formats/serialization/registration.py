"""Register formats, in this process and in those that toolfmt starts for it.

The other process gets the result of `other_formats_as_text` and passes it to `set_other_formats`. Only then are formats
encoded and decoded. Functions import `format_data` because it loads every engine.
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
        if clash := name_clash(format):
            raise ValueError(f"{clash}; give it another name")
        try:
            check_stored(format)
        except BadFormat as error:
            raise BadFormat(f"{error}; {_BY_PLUG_IN}") from None
        OTHERS.replace(*OTHERS.known, format)


def other_formats_as_text() -> tuple[tuple[str, str], ...]:
    """Return the names and texts of all formats except toolfmt's own, for another process.

    The text is empty if only code can express the format. The other process may have loaded it from the same plug-in.
    """
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


def set_other_formats(texts: Iterable[tuple[str, str]]) -> None:
    """Replace the formats of this process, except toolfmt's own, by those of another process.

    `texts` is the result of `other_formats_as_text` in that process.
    """
    texts = tuple(texts)
    with OTHERS.lock:
        known_others()
        if texts == OTHERS.received:
            return
        of_plug_ins = {format.name: format for format in OTHERS.plugins or ()}
        decoded = [_decoded(name, text) if text else of_plug_ins.get(name) for name, text in texts]
        OTHERS.replace(*(format for format in decoded if format is not None))
        OTHERS.received = texts


def _decoded(name: str, text: str) -> ToolCallFormat:
    from toolfmt.formats.serialization.format_data import from_text

    return from_text(text, name)
