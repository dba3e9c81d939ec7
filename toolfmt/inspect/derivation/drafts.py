"""What the modules of the engines hand over: an engine with its markers, before it is put into a format."""

from __future__ import annotations

from dataclasses import dataclass

from toolfmt.formats.format import Engine


@dataclass(frozen=True)
class Draft:
    """`kind` is what a person reads; `ignored` are marks around the calls that say nothing."""

    kind: str
    engine: Engine
    ignored: tuple[str, ...] = ()
