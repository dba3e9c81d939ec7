"""What the tool definitions say about the open call."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from toolfmt.formats.scanner.scanner import Malformed
from toolfmt.formats.values.name_repair import NameRepair
from toolfmt.formats.values.schema_types import Types, parameter_types
from toolfmt.messages.tools import parameter_order

MOST_UNDECLARED = 400
"""Maximum number of characters of the arguments of an undeclared tool for the call to be rejected. A longer one becomes
content: it is prose, or a file that the user should see and not lose."""


class Undeclared(Exception):
    """What looked like a call of an undeclared tool is too long for one."""


class DeclaredTools:
    """The declared tools, as a part of `CallBuilder`."""

    _name = ""
    """The name of the open call, once it is known."""
    _name_repair: NameRepair | None = None
    _order: tuple[str, list[str]] | None = None
    """A tool, and its parameters in the order of its definition."""

    def __init__(self, schemas: Mapping[str, Mapping[str, Any]] | None) -> None:
        self._schemas = schemas
        self._types: dict[tuple[str, ...], Types] = {}

    def types(self, *path: str) -> Types:
        """Return the JSON Schema types that the tool declares for a parameter or part of it; None if there are none.

        Args:
            path: The name of the parameter and the keys that lead to the part; an empty key means list items.
        """
        if self._schemas is None:
            return None
        key = (self._name, *path)
        if key not in self._types:
            self._types[key] = parameter_types(self._schemas.get(self._name, {}), *path)
        return self._types[key]

    @property
    def declared(self) -> bool:
        """Whether tools were given."""
        return self._schemas is not None

    def is_declared(self, word: str) -> bool:
        """Whether a tool of exactly this name is declared."""
        return self._schemas is not None and word in self._schemas

    def is_known(self, name: str) -> bool | None:
        """Whether the name is that of a declared tool, or can be repaired to one; None if no tools were given."""
        return None if self._schemas is None else self.resolve_name(name) in self._schemas

    def resolve_name(self, name: str) -> str:
        """Return the declared tool that a wrong name must mean. If that is not exactly one tool, return the name."""
        if self._schemas is None or not name or name in self._schemas:
            return name
        if self._name_repair is None:
            self._name_repair = NameRepair(self._schemas)
        return self._name_repair.resolve(name)

    def declares(self, key: str, name: str | None = None) -> bool | None:
        """Whether the open call's tool, or the tool `name`, declares the parameter; None if its schema is unknown."""
        properties = self._properties(self._name if name is None else self.resolve_name(name))
        return None if properties is None else key in properties

    def any_declares(self, key: str) -> bool | None:
        """Whether any tool declares a parameter of this name; None if no tools were given."""
        return None if self._schemas is None else any(self.declares(key, name) for name in self._schemas)

    @property
    def spaced_names(self) -> tuple[str, ...]:
        """The names of declared tools that contain a space."""
        return tuple(name for name in self._schemas or () if " " in name)

    @property
    def parameters(self) -> tuple[str, ...] | None:
        """The parameters that the open call's tool declares; None if its schema is unknown."""
        properties = self._properties(self._name)
        return None if properties is None else tuple(map(str, properties))

    def _properties(self, name: str) -> Mapping[str, Any] | None:
        schema = None if self._schemas is None else self._schemas.get(name)
        properties = None if schema is None else schema.get("properties")
        return properties if isinstance(properties, (dict, Mapping)) else None

    @property
    def known(self) -> bool:
        """Whether the tool of the last call is declared."""
        return self.is_known(self._name) is True

    def accepts(self, keys: Collection[str]) -> bool:
        """Whether these may be all arguments of the call: all are declared, and no required one is missing."""
        schema = None if self._schemas is None else self._schemas.get(self._name)
        required = None if schema is None else schema.get("required")
        given = not isinstance(required, list) or all(key in keys for key in required)
        return given and all(self.declares(key) is not False for key in keys)

    def positional(self, position: int) -> str:
        """Return the name of the parameter at a position, in the order of the tool definition."""
        if self._order is None or self._order[0] != self._name:
            schema = {} if self._schemas is None else self._schemas.get(self._name, {})
            self._order = self._name, parameter_order(schema)
        names = self._order[1]
        if position >= len(names):
            expected = f"at most {len(names)} arguments without keys" if names else "an argument with a key"
            raise Malformed("invalid_arguments", expected)
        return names[position]
