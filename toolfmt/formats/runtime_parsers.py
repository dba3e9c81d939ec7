"""What a runtime calls its parser for a format; a fact about the runtime that the format's record carries."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class RuntimeParser:
    """A parser by its usual `name`; in print with what else there is to say in brackets behind it."""

    name: str
    others: Mapping[str, str] = field(default_factory=dict)
    """Further names under which the runtime has one for the format, by when they are meant: `GLM-4.7 and later`."""
    remark: str = ""
    """What the parser lacks, or where it comes from."""

    @property
    def names(self) -> tuple[str, ...]:
        """Every name, the usual one first."""
        return (self.name, *self.others.values())

    @property
    def aside(self) -> str:
        """When other names are meant, and the remark, as a person reads it; empty where there is nothing to say."""
        return "; ".join(
            filter(None, (", ".join(f"{when}: {name}" for when, name in self.others.items()), self.remark))
        )

    def __str__(self) -> str:
        return f"{self.name} ({self.aside})" if self.aside else self.name
