"""All formats, by name, alias and model type: toolfmt's own, those of plug-ins, those that a program registered.

The one list that names toolfmt's own is in `toolfmt.formats.known`. Plug-ins are asked for when a list of all formats
is first wanted, or a name that is none of toolfmt's own. `serialization/registration.py` adds formats, which it needs
as data for other processes.
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
"""Characters of an unknown name that are told; what is longer resembles no name."""


@dataclass
class _Others:
    """The formats that are not toolfmt's own, and how often they have changed."""

    known: tuple[ToolCallFormat, ...] = ()
    plugged: tuple[ToolCallFormat, ...] | None = None
    """Those of plug-ins; None before they were asked for."""
    handed: tuple[tuple[str, str], ...] | None = None
    """What another process said is known; None where nobody did."""
    changes: int = 0
    lock: threading.RLock = field(default_factory=threading.RLock)

    def know(self, *formats: ToolCallFormat) -> None:
        self.known = formats
        self.changes += 1


OTHERS = _Others()


@cache
def _own() -> tuple[ToolCallFormat, ...]:
    from toolfmt.formats.known import KNOWN

    return tuple(sorted(KNOWN, key=lambda format: format.name))


def formats() -> tuple[ToolCallFormat, ...]:
    """Return every format that is known now, in the order of names."""
    others = known_others()
    return tuple(sorted((*_own(), *others), key=lambda format: format.name)) if others else _own()


def changes() -> int:
    """A number that is another one when other formats are known: what is made of all of them is made anew then."""
    known_others()
    return OTHERS.changes


def known_others() -> tuple[ToolCallFormat, ...]:
    """The formats that are not toolfmt's own; plug-ins are asked the first time."""
    with OTHERS.lock:
        if OTHERS.plugged is None:
            # Imported here: who only reads one of toolfmt's own formats needs none of it.
            from toolfmt.formats.plugins import plugged_in

            OTHERS.plugged = ()  # a plug-in may ask for formats while it is loaded
            for format in plugged_in(name_clash):
                if format not in OTHERS.known:
                    OTHERS.know(*OTHERS.known, format)
            OTHERS.plugged = OTHERS.known
        return OTHERS.known


def name_clash(format: ToolCallFormat) -> str:
    """Why a format cannot be known beside those that are: another one has one of its names; "" where it can."""
    taken = _names((*_own(), *OTHERS.known))
    for name in (format.name, *format.aliases):
        other = taken.get(_plain(name))
        if other is not None and other != format:
            called = "" if name == format.name else f" (alias {name!r})"
            return f"the format {format.name!r}{called} uses a name of the format {other.name!r}"
    return ""


def _forget(name: str) -> None:
    """For tests: the registered format of this name is not known any more."""
    OTHERS.know(*(format for format in OTHERS.known if format.name != name))


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
    """A name without case and without the signs that runtimes write or leave out: `GLM-4.7` is `glm47`."""
    return name.lower().translate({ord(sign): None for sign in "-_. "})


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


def _reduced(format: ToolCallFormat) -> tuple[Callable[..., ToolCallFormat], tuple[Any, ...]]:
    """How a format is pickled: one of toolfmt's own by its name, any other by its members, so that it need not be
    registered in the process that loads it."""
    if any(format is own for own in _own()):
        return get, (format.name,)
    return partial(ToolCallFormat, **{part.name: getattr(format, part.name) for part in fields(format)}), ()


copyreg.pickle(ToolCallFormat, _reduced)


def has_variant(name: str, variant: str) -> bool:
    """Whether there is a format of exactly this name, with this variant ("" for none)."""
    return any(format.name == name and variant in ("", *format.variants) for format in formats())


def resolved(format: str | ToolCallFormat) -> ToolCallFormat:
    """A format, given as itself or by name; raises as `get` does."""
    return format if isinstance(format, ToolCallFormat) else get(format)


def _hint(name: str) -> str:
    """What was meant by an unknown name: a name that is nearly it, or an answer where the format is to stand."""
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
