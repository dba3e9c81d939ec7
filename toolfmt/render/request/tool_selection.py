"""Narrow the tools of a conversation to those that a function of the caller chose for one turn.

Rendering calls `narrowed` with the function's result. The parser still knows all tools.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from toolfmt.errors import BadTools
from toolfmt.messages.tools import canonical_tools, kind_of
from toolfmt.render.request.messages import Message


def narrowed(tools: Sequence[Message], chosen: object) -> list[Message]:
    """Return the chosen tools, in the order of `tools`.

    `tools` are canonical definitions. `chosen` is a list of names or definitions in any supported form, and may be
    empty. Raises `BadTools` for anything else, and for a chosen tool that is not in `tools` or has another definition
    there.
    """
    if isinstance(chosen, (str, bytes, Mapping)) or not isinstance(chosen, Iterable):
        raise BadTools(f"narrow must return a list of tools, not {kind_of(chosen)}; return [] for none")
    offered = {tool["function"]["name"]: tool for tool in tools}
    names = {_name(entry, f"narrow returned, at {position}", offered) for position, entry in enumerate(chosen)}
    return [tool for name, tool in offered.items() if name in names]


def _name(entry: object, where: str, offered: Mapping[str, Message]) -> str:
    name, definition = entry, None
    if not isinstance(entry, str):
        try:
            (definition,) = canonical_tools([entry])
        except BadTools as error:
            raise BadTools(f"{where}, no tool: {str(error).partition(': ')[2]}") from None
        name = definition["function"]["name"]
    if not isinstance(name, str) or name not in offered:
        raise BadTools(f"{where}, the tool {name!r}, which is not among the tools; it chooses among those it is given")
    if definition is not None and definition != offered[name]:
        raise BadTools(f"{where}, another definition of the tool {name!r}; return the one it was given, or its name")
    return name
