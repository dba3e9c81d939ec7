"""All formats, by name, alias and model type. The one list that names them is in `toolfmt.formats.known`."""

from __future__ import annotations

import difflib
from functools import cache

from toolfmt.errors import UnknownFormat
from toolfmt.formats.format import ToolCallFormat

_LONGEST = 60
"""Characters of an unknown name that are told; what is longer resembles no name."""


@cache
def formats() -> tuple[ToolCallFormat, ...]:
    """Every format, in order of name."""
    from toolfmt.formats.known import KNOWN

    return tuple(sorted(KNOWN, key=lambda format: format.name))


@cache
def _by_name() -> dict[str, ToolCallFormat]:
    names: dict[str, ToolCallFormat] = {}
    for format in formats():
        for name in (format.name, *format.aliases):
            assert names.setdefault(_plain(name), format) is format, f"{name} names two formats"
    return names


def _plain(name: str) -> str:
    """A name without case and without the signs that runtimes write or leave out: `GLM-4.7` is `glm47`."""
    return name.lower().translate({ord(sign): None for sign in "-_. "})


def default_format() -> ToolCallFormat:
    """The format for a model of which nothing is known."""
    from toolfmt.formats.known import DEFAULT

    return DEFAULT


def names() -> tuple[str, ...]:
    """Every name that `get` knows, aliases included."""
    return tuple(sorted(name.lower() for format in formats() for name in (format.name, *format.aliases)))


def get(name: str) -> ToolCallFormat:
    """The format with this name or alias, in any case, with or without `-`, `_` and `.`.

    Raises `UnknownFormat` with the nearest names, and `TypeError` for what is no name.
    """
    if not isinstance(name, str):
        raise TypeError(f"a format is given by its name, not as {type(name).__name__}")
    found = _by_name().get(_plain(name))
    if found is None:
        shown = repr(name) if len(name) <= _LONGEST else f"{name[:_LONGEST]!r}… ({len(name):,} characters)"
        raise UnknownFormat(f"no tool-call format is called {shown}; {_hint(name)}`toolfmt formats` lists them")
    return found


def has_variant(name: str, variant: str) -> bool:
    """Whether there is a format of exactly this name, with this variant ("" for none)."""
    return any(format.name == name and variant in ("", *format.variants) for format in formats())


def resolved(format: str | ToolCallFormat) -> ToolCallFormat:
    """A format, given as itself or by name; raises as `get` does."""
    return format if isinstance(format, ToolCallFormat) else get(format)


def _hint(name: str) -> str:
    """What was meant by an unknown name: a name that is nearly it, or an answer where the format is to stand."""
    near = difflib.get_close_matches(name.lower(), names(), n=3) if len(name) <= _LONGEST else []
    if "<" in name or "\n" in name or (" " in name and not near):
        return "if that is an answer, the text comes first: parse(text, format); "
    return f"did you mean {' or '.join(near)}? " if near else ""


def for_model_type(model_type: str) -> ToolCallFormat | None:
    """The format that models of this type speak when nothing better is known."""
    return next((format for format in formats() if model_type in format.model_types), None)
