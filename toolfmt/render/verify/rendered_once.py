"""Verify that a finished prompt contains the tools in one way only: through the template or in the system prompt.

`toolfmt.render.attempts` calls it with the prompt and with the same prompt rendered without the tools.
`ToolsRenderedTwice` is an internal error. It means that the renderer, or a template variable of the caller, adds the
tools twice.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from typing import Any

from toolfmt.errors import ToolsRenderedTwice


def check_prose(prompt: str, without: str, prose: str, copies: int, tools: Iterable[Mapping[str, Any]]) -> None:
    """Raise if the descriptions do not appear exactly `copies` times, or if something else defines a tool.

    `without` is the prompt with a placeholder instead of the descriptions. `copies` is how often the placeholder
    appears, usually once.
    """
    if prompt.count(prose) != without.count(prose) + copies:
        raise ToolsRenderedTwice(
            f"never both: the description of the tools appears {prompt.count(prose)} times in the prompt, "
            f"not {without.count(prose) + copies}"
        )
    rest = prompt.replace(prose, "", copies)
    for tool in tools:
        if _definitions(rest, tool) > _definitions(without, tool):
            raise ToolsRenderedTwice(
                f"never both: {_name(tool)} is described in the system prompt and again by the template"
            )


def check_template(prompt: str, without: str, instructions: str) -> None:
    """Raise if the prompt contains descriptions in the system prompt that the prompt without tools does not contain."""
    if instructions and prompt.count(instructions) > without.count(instructions):
        raise ToolsRenderedTwice("never both: the template renders the tools, and the prompt also describes them")


def dropped(prompt: str, without: str, tools: Iterable[Mapping[str, Any]]) -> list[str]:
    """Return the names of the tools that the template did not put into the prompt."""
    return [name for name in map(_name, tools) if _words(prompt, name) <= _words(without, name)]


def _definitions(text: str, tool: Mapping[str, Any]) -> int:
    """Count how often a string defines the tool: its name with its description or with all its parameters."""
    function = tool["function"]
    description = function.get("description")
    if description:
        escaped = json.dumps(description, ensure_ascii=False)[1:-1]
        return min(_words(text, _name(tool)), max(text.count(description), text.count(escaped)))
    parameters = function.get("parameters") or {}
    properties = parameters.get("properties")
    names = properties if isinstance(properties, Mapping) else {}
    return min(_words(text, word) for word in (_name(tool), *names))


def _words(text: str, word: str) -> int:
    """Count the word in the text as a whole word; a tool called `a` is not in every sentence."""
    return len(re.findall(rf"(?<!\w){re.escape(word)}(?!\w)", text))


def _name(tool: Mapping[str, Any]) -> str:
    name: str = tool["function"]["name"]
    return name
