"""The result of an exporter: a grammar, and in which ways it allows less than the nodes do."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Exported:
    """A grammar's text, and the names of its limits: those of its rules, and those of the engine's format."""

    text: str
    narrower: tuple[str, ...] = ()
