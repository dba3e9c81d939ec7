"""Tool definitions, and what a template shows of them."""

from __future__ import annotations

from typing import Any


def tool(
    parameters: dict[str, Any] | None = None,
    description: str | None = "Does it.",
    required: list[str] | None = None,
    defs: dict[str, Any] | None = None,
) -> dict[str, Any]:
    function: dict[str, Any] = {"name": "create_ticket"}
    function |= {} if description is None else {"description": description}
    if parameters is not None:
        more = {"required": required, "$defs": defs}
        function["parameters"] = {"type": "object", "properties": parameters}
        function["parameters"] |= {key: value for key, value in more.items() if value}
    return {"type": "function", "function": function}


def text(description: str = "", **more: Any) -> dict[str, Any]:
    return {"type": "string", **({"description": description} if description else {}), **more}
