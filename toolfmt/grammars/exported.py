"""What an exporter gives back: the grammar in its dialect, and in which ways it allows less than the nodes do."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Exported:
    """A grammar's text, and the names of the limits it has: those of the rules it was written of, and the dialect's
    own."""

    text: str
    narrower: tuple[str, ...] = ()
