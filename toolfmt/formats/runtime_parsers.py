"""The parsers of runtimes for a format: each is a `RuntimeParser` in the format's record."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

DERIVED = "auto"
"""The name of a parser that the runtime derives from the chat template."""


@dataclass(frozen=True)
class RuntimeParser:
    """The parser of a runtime for a format. As a string, it is all names, each with its model types, and the rest.

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
        usual = [f"or {name}" for name, types in self.others.items() if not types]
        return "; ".join(filter(None, (", ".join(usual), *self._rest)))

    @property
    def _rest(self) -> tuple[str, ...]:
        """What to know besides the names without model types."""
        others = [f"for {' and '.join(types)}: {name}" for name, types in self.others.items() if types]
        return tuple(filter(None, (*others, self.only_in, self.remark)))

    def __str__(self) -> str:
        names = " or ".join(name for name in self.names if not self.others.get(name))
        return f"{names} ({'; '.join(self._rest)})" if self._rest else names


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
