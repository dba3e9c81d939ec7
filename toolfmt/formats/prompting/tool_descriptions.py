"""Describe tools in a system prompt, for a model whose template does not render tools.

The description starts with the syntax of a call and a realistic example. One line for each tool and each parameter
follows, then when not to call a tool, and how results arrive. Models with three billion parameters can follow it.
"""

from __future__ import annotations

from typing import Any

from toolfmt.errors import CannotWrite
from toolfmt.formats.format import ToolCallFormat
from toolfmt.formats.prompting.samples import sample, sampled_properties
from toolfmt.formats.prompting.tool_lines import tool_lines
from toolfmt.formats.registry import resolved
from toolfmt.formats.writing import write
from toolfmt.messages.tools import canonical_tools

HEADING = "# Tools"
RESULT_HEADING = "Result of"
"""The start of a tool result that is passed as text (`result_heading`). A model that writes it invents a result, so it
is a stop string of a prompt with the `prompt` strategy."""

_WHEN_TO_CALL = (
    "Call a tool only if it helps and you know the values it requires. If no tool fits, or a required value is not "
    "known, answer in words."
)
_NEVER_INVENT = "wait for it, and never write a result yourself."


def prose(
    format: str | ToolCallFormat,
    tools: object,
    *,
    sort_tools: bool = False,
    sort_properties: bool = False,
    results_in_words: bool = True,
) -> str:
    """Return a system prompt that describes how to call tools in this format, shows one call, and lists the tools.

    The text is the same for the same tools, and empty without tools. The format's own writer writes the example, for
    the first tool that has parameters and that the format can represent.

    Args:
        format: A format or its name.
        tools: Tool definitions in any form.
        sort_tools: Sort the tools. The default is the caller's order.
        sort_properties: Sort the parameters. The default is the caller's order.
        results_in_words: Results are under a heading in a message, `Result of NAME:`. Pass False if the template has a
            form of its own for results.

    Raises:
        UnknownFormat: There is no format of this name.
        BadTools: The tool definitions are not valid.
    """
    known = resolved(format)
    listed = canonical_tools(tools, sort_tools=sort_tools, sort_properties=sort_properties)
    if not listed:
        return ""
    lines = "\n".join(line for tool in listed for line in tool_lines(tool))
    headed = f" as `{result_heading('NAME')}`" if results_in_words else ""
    return (
        f"{HEADING}\n\n{known.instructions}{_example(known, listed)}\n\nThese are the tools:\n\n{lines}\n\n"
        f"{_WHEN_TO_CALL} The result comes in the next message{headed}: {_NEVER_INVENT}"
    )


def result_heading(name: str) -> str:
    """Return the heading above a tool result that is passed as text."""
    return f"{RESULT_HEADING} {name}:"


def _example(format: ToolCallFormat, tools: list[dict[str, Any]]) -> str:
    """Return an example call as text, or an empty string if the format cannot represent a call of any of the tools.

    Tools with parameters are tried first.
    """
    functions = [tool["function"] for tool in tools]
    for function in sorted(functions, key=lambda function: not sampled_properties(_parameters(function))):
        try:
            return f" For example:\n\n{write(format, [_call(function)], tools)}"
        except CannotWrite:
            continue
    return ""


def _call(function: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    """Return a call of a tool with realistic values for its required parameters, or for the first one."""
    schema = _parameters(function)
    return function["name"], {name: sample(schema, name) for name in sampled_properties(schema)}


def _parameters(function: dict[str, Any]) -> dict[str, Any]:
    return function.get("parameters") or {}
