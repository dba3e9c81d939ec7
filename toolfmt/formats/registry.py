"""All formats by name, alias and model type: built-in formats, those of plug-ins, and those that a program registered.

The list of built-in formats is in `toolfmt.formats.known`. Plug-ins are loaded when all formats are listed for the
first time, or when a name is not that of a built-in format. `serialization/registration.py` registers formats, because
it sends them to other processes as data.
"""

from __future__ import annotations

import copyreg
import difflib
import threading
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, fields
from functools import cache, partial
from typing import Any

from toolfmt.errors import UnknownFormat
from toolfmt.formats.format import DERIVED, ToolCallFormat

_LONGEST = 60
"""Maximum length of an unknown name that is shown in full and compared with known names."""


@dataclass
class _OtherFormats:
    """The formats that are not built in, with a counter of their changes."""

    known: tuple[ToolCallFormat, ...] = ()
    plugins: tuple[ToolCallFormat, ...] | None = None
    """The formats of plug-ins. None until they are loaded."""
    received: tuple[tuple[str, str], ...] | None = None
    """The formats last received from another process (`other_formats_as_text`). None if there were none."""
    changes: int = 0
    lock: threading.RLock = field(default_factory=threading.RLock)

    def replace(self, *formats: ToolCallFormat) -> None:
        self.known = formats
        self.changes += 1


OTHERS = _OtherFormats()


@cache
def _own() -> tuple[ToolCallFormat, ...]:
    from toolfmt.formats.known import KNOWN

    return tuple(sorted(KNOWN, key=lambda format: format.name))


def formats() -> tuple[ToolCallFormat, ...]:
    """Return every format that is known now, in the order of names."""
    others = known_others()
    return tuple(sorted((*_own(), *others), key=lambda format: format.name)) if others else _own()


def changes() -> int:
    """Return a number that changes with the known formats, to invalidate caches of results that depend on them."""
    known_others()
    return OTHERS.changes


def known_others() -> tuple[ToolCallFormat, ...]:
    """Return the formats that are not built in. The first call loads the plug-ins."""
    with OTHERS.lock:
        if OTHERS.plugins is None:
            # Imported here, because a program that uses only built-in formats does not need it.
            from toolfmt.formats.plugins import plugin_formats

            OTHERS.plugins = ()  # a plug-in may list the formats while it is loaded
            for format in plugin_formats(name_clash):
                if format not in OTHERS.known:
                    OTHERS.replace(*OTHERS.known, format)
            OTHERS.plugins = OTHERS.known
        return OTHERS.known


def name_clash(format: ToolCallFormat) -> str:
    """Return which known format has one of this format's names, as an error message. Empty if none has."""
    taken = _names((*_own(), *OTHERS.known))
    for name in (format.name, *format.aliases):
        other = taken.get(_plain(name))
        if other is not None and other != format:
            called = "" if name == format.name else f" (alias {name!r})"
            return f"the format {format.name!r}{called} uses a name of the format {other.name!r}"
    return ""


def _forget(name: str) -> None:
    """Remove a registered format. Only tests use this."""
    OTHERS.replace(*(format for format in OTHERS.known if format.name != name))


def _names(formats: Iterable[ToolCallFormat]) -> dict[str, ToolCallFormat]:
    names: dict[str, ToolCallFormat] = {}
    for format in formats:
        for name in (format.name, *format.aliases):
            assert names.setdefault(_plain(name), format) is format, f"{name} names two formats"
    return names


@cache
def _own_names() -> dict[str, ToolCallFormat]:
    return _names(_own())


def _plain(name: str) -> str:
    """Return a name in lower case without the separators that runtimes write or omit: `GLM-4.7` becomes `glm47`."""
    return name.lower().translate({ord(character): None for character in "-_. "})


def default_format() -> ToolCallFormat:
    """Return the format for a model about which nothing is known."""
    from toolfmt.formats.known import DEFAULT

    return DEFAULT


def names() -> tuple[str, ...]:
    """Return every name that `get` knows, including aliases."""
    return tuple(sorted(name.lower() for format in formats() for name in (format.name, *format.aliases)))


def get(name: str) -> ToolCallFormat:
    """Return the format with this name or alias, in any case, with or without `-`, `_` and `.`.

    Args:
        name: The name of a format.

    Raises:
        UnknownFormat: There is no format of this name. The message lists the nearest names.
        TypeError: `name` is not a string.
    """
    if not isinstance(name, str):
        raise TypeError(f"the name of a format must be a str, not {type(name).__name__}")
    found = _own_names().get(_plain(name)) or _names(known_others()).get(_plain(name))
    if found is None:
        shown = repr(name) if len(name) <= _LONGEST else f"{name[:_LONGEST]!r}… ({len(name):,} characters)"
        raise UnknownFormat(f"no tool-call format is named {shown}; {_hint(name)}`toolfmt formats` lists them")
    return found


def _reduce(format: ToolCallFormat) -> tuple[Callable[..., ToolCallFormat], tuple[Any, ...]]:
    """Return how to pickle a format (`copyreg`): a built-in format by its name, any other by its fields.

    So the process that loads the format does not have to register it first.
    """
    if any(format is own for own in _own()):
        return get, (format.name,)
    return partial(ToolCallFormat, **{part.name: getattr(format, part.name) for part in fields(format)}), ()


copyreg.pickle(ToolCallFormat, _reduce)


def has_variant(name: str, variant: str) -> bool:
    """Return whether there is a format of exactly this name, with this variant. An empty variant is always there."""
    return any(format.name == name and variant in ("", *format.variants) for format in formats())


def resolved(format: str | ToolCallFormat) -> ToolCallFormat:
    """Return a format that is passed as such or by name. Raises what `get` raises."""
    return format if isinstance(format, ToolCallFormat) else get(format)


def _hint(name: str) -> str:
    """Return a hint for an unknown name: similar names, or that an output was passed as a format. It can be empty."""
    if name == DERIVED:
        return "a derived format is not registered: pass the format itself, or a file from `toolfmt dev derive`; "
    near = difflib.get_close_matches(name.lower(), names(), n=3) if len(name) <= _LONGEST else []
    if "<" in name or "\n" in name or (" " in name and not near):
        return "if that is model output, pass it first: parse(text, format); "
    return f"did you mean {' or '.join(near)}? " if near else ""


def for_model_type(model_type: str) -> ToolCallFormat | None:
    """Return the format of models of this type if nothing better is known. None if the type is unknown.

    Args:
        model_type: The `model_type` in config.json.
    """
    return next((format for format in formats() if model_type in format.model_types), None)
