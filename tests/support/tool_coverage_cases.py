"""Tools for templates that show some tools only."""

from __future__ import annotations

from typing import Any

from lying_templates import HONEST


def tool(name: str, description: str, **parameters: str) -> dict[str, Any]:
    properties = {key: {"type": "string", "description": text} for key, text in parameters.items()}
    schema = {"type": "object", "properties": properties}
    return {"type": "function", "function": {"name": name, "description": description, "parameters": schema}}


GET, DELETE = tool("get", "Gets it.", path="Where it is."), tool("delete_file", "Deletes a file.", path="Which one.")


def changed(old: str, new: str) -> str:
    assert HONEST.count(old) == 1
    return HONEST.replace(old, new)
