"""Tools described in prose, for a model whose template does not describe them."""

from __future__ import annotations

import json
from typing import Any

from toolfmt.errors import CannotWrite
from toolfmt.formats.format import ToolCallFormat
from toolfmt.formats.registry import resolved
from toolfmt.formats.typed import STRING, parameter_types
from toolfmt.formats.writing import write
from toolfmt.tools import canonical_tools, parameter_order

HEADING = "# Tools"


def prose(format: str | ToolCallFormat, tools: object) -> str:
    """A system text that lists the tools, tells how to call them in this format, and shows one call.

    Takes a format or its name and tool definitions in either shape. Returns the text, the same for the same tools
    however their keys are ordered; empty without tools. The example is written by the format's own writer, for the
    first tool that the format can carry. Raises `UnknownFormat` and `BadTools`.
    """
    known = resolved(format)
    listed = canonical_tools(tools)
    if not listed:
        return ""
    definitions = "\n".join(json.dumps(tool["function"], ensure_ascii=False) for tool in listed)
    return (
        f"{HEADING}\n\nYou may call these tools, described as JSON, one a line:\n\n{definitions}\n\n"
        f"{known.instructions}{_example(known, listed)}"
    )


def _example(format: ToolCallFormat, tools: list[dict[str, Any]]) -> str:
    """A call of the first tool whose name and parameters the format can carry, by its own writer."""
    for tool in tools:
        try:
            return f"\nFor example:\n\n{write(format, [_call(tool['function'])], tools)}"
        except CannotWrite:
            continue
    return ""


def _call(function: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    """A call of the tool with a value of the right type for each required parameter."""
    schema = function.get("parameters") or {}
    names, required = parameter_order(schema), schema.get("required")
    wanted = [name for name in names if isinstance(required, list) and name in required] or names[:1]
    return function["name"], {name: _sample(schema, name) for name in wanted}


def _sample(schema: dict[str, Any], name: str) -> Any:
    declared = schema["properties"][name]
    choices = declared.get("enum") if isinstance(declared, dict) else None
    if isinstance(choices, list) and choices:
        return choices[0]
    types = parameter_types(schema, name) or STRING
    samples: dict[str, Any] = {
        "string": "text",
        "integer": 1,
        "number": 1,
        "boolean": True,
        "array": [],
        "object": {},
        "null": None,
    }
    return next(value for kind, value in samples.items() if kind in types)
