"""What a runtime calls its parser for a format; a fact about the runtime that the format's record carries."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class RuntimeParser:
    """A parser by its usual `name`; in print with what else there is to say in brackets behind it."""

    name: str
    others: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Further names under which the runtime has one for the format, each with the model types that it is meant for;
    none where the calls that a template renders decide."""
    remark: str = ""
    """What the parser lacks."""
    only_in: str = ""
    """Where it comes from if the runtime itself does not have it: a fork, a plug-in."""

    @property
    def names(self) -> tuple[str, ...]:
        """Every name, the usual one first."""
        return (self.name, *self.others)

    @property
    def aside(self) -> str:
        """When other names are meant, and what else there is to know, as a person reads it; empty for nothing."""
        others = [f"{name} for {', '.join(types)}" if types else f"or {name}" for name, types in self.others.items()]
        return "; ".join(filter(None, (", ".join(others), self.only_in, self.remark)))

    def __str__(self) -> str:
        return f"{self.name} ({self.aside})" if self.aside else self.name
