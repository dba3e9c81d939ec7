"""Read a call in any of the formats in which programs hold calls.

Sources, as of November 2026: the packages openai 3.54 (a chat message's call, wrapped in `function`; the Responses
API's `ResponseFunctionToolCall`, whose `id` is the item's and whose `call_id` a result names), anthropic
(`ToolUseBlock`: `input`), ollama (`Message.ToolCall`, without an id) and langchain-core (`ToolCall`: `args`).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from toolfmt.messages.arguments import read_object
from toolfmt.messages.message import ToolCall
from toolfmt.render.request.client_parts import as_mapping, function_of

_MOST_SHOWN = 100
_ARGUMENTS = ("arguments", "input", "args")
_IDS = ("call_id", "id")


def parts_of_call(call: Any) -> tuple[str, str, object]:
    """Return the id ("" without one), the name and the arguments of a call. Raises `TypeError` if it is not a call."""
    if isinstance(call, ToolCall):
        return call.id, call.name, call.arguments
    mapping = as_mapping(call)
    function = as_mapping(function_of(mapping)) if isinstance(mapping, Mapping) else {}
    if not isinstance(function.get("name"), str):
        shown = repr(call)
        shown = shown if len(shown) <= _MOST_SHOWN else shown[:_MOST_SHOWN] + "…"
        raise TypeError(f"not a call: {shown}; give a toolfmt.ToolCall, or one as a client's package holds it")
    ids = (mapping.get(key) for key in _IDS)
    arguments = (function[key] for key in _ARGUMENTS if function.get(key) is not None)
    return next((id for id in ids if isinstance(id, str)), ""), function["name"], next(arguments, None)


def read_arguments(arguments: object) -> tuple[dict[str, Any], str]:
    """Return the arguments as an object, or why they are not one."""
    if isinstance(arguments, Mapping):
        return dict(arguments), ""
    if not isinstance(arguments, str):
        return {}, "they are missing" if arguments is None else f"they are a {type(arguments).__name__}"
    return read_object(arguments)
