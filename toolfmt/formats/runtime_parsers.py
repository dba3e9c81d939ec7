"""The parsers of runtimes for a format: each is a `RuntimeParser` in the format's record."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

DERIVED = "auto"
"""The name of a parser that the runtime derives from the chat template."""


@dataclass(frozen=True)
class RuntimeParser:
    """The parser of a runtime for a format. As a string, it is the name, with `aside` in parentheses.

    Attributes:
        name: The usual name.
        others: Further names of parsers for the format, each with the model types that it is for. A name has no model
            types if the calls that a template renders decide.
        remark: What the parser does not support.
        only_in: Where it comes from if the runtime itself does not include it: a fork, a plug-in.
    """

    name: str
    others: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    remark: str = ""
    only_in: str = ""

    @property
    def names(self) -> tuple[str, ...]:
        """Every name, the usual one first."""
        return (self.name, *self.others)

    @property
    def aside(self) -> str:
        """When to use the other names, and what else to know, for display. Empty if there is nothing."""
        others = [f"{name} for {', '.join(types)}" if types else f"or {name}" for name, types in self.others.items()]
        return "; ".join(filter(None, (", ".join(others), self.only_in, self.remark)))

    def __str__(self) -> str:
        return f"{self.name} ({self.aside})" if self.aside else self.name


class HasRuntimeParsers(Protocol):
    """The part of a format that these functions need."""

    def runtime_parser(self, runtime: str) -> RuntimeParser | None: ...


def parser_names(format: HasRuntimeParsers, runtime: str) -> tuple[str, ...]:
    """Return every name of the runtime's parser for the format, the usual one first. Empty if it has none."""
    parser = format.runtime_parser(runtime)
    return () if parser is None else parser.names


def parser_name(format: HasRuntimeParsers, runtime: str) -> str | None:
    """Return the usual name of the runtime's parser for the format, or None if it has none."""
    return next(iter(parser_names(format, runtime)), None)
