"""Describe tools in a system prompt, for a model whose template does not render tools.

The description starts with the syntax of a call, when not to call a tool, and how results arrive. The tools follow: one
line for each tool and each parameter, and a realistic call of the tool.

Measured on 2026-11-29 with SmolLM2-135M-Instruct and 60 questions (`benchmarks/lab/prompt_wordings.py`): if a grammar
requires a call, the model calls the right tool 32 times. With one example before the tools, which it copies, it does so
14 times; with an example of every tool after the list, 15 times. The wordings of a result that were compared differ too
little for 31 questions to choose another one than the heading; with tags around the result, the model writes tags.
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
_LIST = "These are the tools, each with an example of a call:"
_NEVER_INVENT = "wait for it, and never write a result yourself."


def prose(
    format: str | ToolCallFormat,
    tools: object,
    *,
    sort_tools: bool = False,
    sort_properties: bool = False,
    results_in_words: bool = True,
) -> str:
    """Return a system prompt that describes how to call tools in this format, and lists the tools, each with a call.

    The text is the same for the same tools, and empty without tools. The format's own writer writes the calls. A tool
    whose call the format cannot represent has none.

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
    headed = f" as `{result_heading('NAME')}`" if results_in_words else ""
    described = "\n\n".join(_with_example(known, tool, listed) for tool in listed)
    return (
        f"{HEADING}\n\n{known.instructions} {_WHEN_TO_CALL} "
        f"The result comes in the next message{headed}: {_NEVER_INVENT}\n\n{_LIST}\n\n{described}"
    )


def result_heading(name: str) -> str:
    """Return the heading above a tool result that is passed as text."""
    return f"{RESULT_HEADING} {name}:"


def _with_example(format: ToolCallFormat, tool: dict[str, Any], tools: list[dict[str, Any]]) -> str:
    """Return the lines of a tool and a call of it, with realistic values for its required parameters, or for the first
    one. The call is left out if the format cannot represent it."""
    lines, function = tool_lines(tool), tool["function"]
    schema = function.get("parameters") or {}
    try:
        call = write(
            format, [(function["name"], {name: sample(schema, name) for name in sampled_properties(schema)})], tools
        )
    except CannotWrite:
        return "\n".join(lines)
    return "\n".join([*lines, "  For example:", call])
