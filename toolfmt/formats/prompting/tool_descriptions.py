"""Tools described in prose, for a model whose template does not describe them.

The form of a call comes first, with an example that looks like a real one; then the tools, a line for each and for each
of their parameters; then when not to call, and how results come. A model of three billion parameters follows this.
"""

from __future__ import annotations

from typing import Any

from toolfmt.errors import CannotWrite
from toolfmt.formats.format import ToolCallFormat
from toolfmt.formats.prompting.samples import sample, wanted
from toolfmt.formats.prompting.tool_lines import tool_lines
from toolfmt.formats.registry import resolved
from toolfmt.formats.writing import write
from toolfmt.messages.tools import canonical_tools

HEADING = "# Tools"
RESULT_HEADING = "Result of"
"""What a tool's result begins with where it is told in words (`result_heading`). A model that goes on with it invents
one: it is a stop string of a prompt with tools in prose."""

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
    """What stands above a tool's result that is told in words."""
    return f"{RESULT_HEADING} {name}:"


def _example(format: ToolCallFormat, tools: list[dict[str, Any]]) -> str:
    """A call of the first tool with parameters whose name and arguments the format can carry, by its own writer."""
    functions = [tool["function"] for tool in tools]
    for function in sorted(functions, key=lambda function: not wanted(_parameters(function))):
        try:
            return f" For example:\n\n{write(format, [_call(function)], tools)}"
        except CannotWrite:
            continue
    return ""


def _call(function: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    """A call of the tool with a realistic value for each required parameter."""
    schema = _parameters(function)
    return function["name"], {name: sample(schema, name) for name in wanted(schema)}


def _parameters(function: dict[str, Any]) -> dict[str, Any]:
    return function.get("parameters") or {}
