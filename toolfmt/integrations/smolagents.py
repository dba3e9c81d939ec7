"""smolagents: a model whose output is parsed in its own format. smolagents itself parses the text between braces.

    agent = ToolCallingAgent(tools, reads(model, "glm4", tools))

Contract: smolagents 1.26, `Model.parse_tool_calls`, which a `ToolCallingAgent` calls for a response without calls. The
agent passes its error messages to the model.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from functools import partial
from typing import Any, TypeVar
from uuid import uuid4

try:
    from smolagents import FinalAnswerTool
    from smolagents.models import ChatMessageToolCall, ChatMessageToolCallFunction, get_tool_json_schema
except ModuleNotFoundError as error:
    raise ImportError(f"toolfmt.integrations.smolagents needs smolagents: pip install smolagents ({error})") from error

from toolfmt.formats import Parser, ToolCallFormat
from toolfmt.messages.message import Message
from toolfmt.messages.tools import counting_tools

__all__ = ["reads"]

SomeModel = TypeVar("SomeModel")
_MOST_SHOWN = 400


def reads(
    model: SomeModel, format: str | ToolCallFormat, tools: Iterable[Any] | None = None, **options: Any
) -> SomeModel:
    """Return the same model, which now parses the calls in its output itself.

    An output without a complete call raises `ValueError`, with the reason if a call was rejected. If there are complete
    calls, the text of a rejected one stays in the content.

    Args:
        model: A model of smolagents.
        format: A format or its name.
        tools: The agent's tools: smolagents' own, or what `Parser` takes. `final_answer` is always included.
        **options: Other options of `Parser`.

    Raises:
        UnknownFormat: There is no format of this name.
        BadTools: The tools are not valid.
    """
    declared = None if tools is None else [_definition(tool) for tool in tools]
    if declared is not None and "final_answer" not in {tool["name"] for tool in counting_tools(declared) or ()}:
        declared.append(get_tool_json_schema(FinalAnswerTool()))
    parser = partial(Parser, format, tools=counting_tools(declared), **options)
    parser()  # so that invalid input raises here
    plain = model.parse_tool_calls  # type: ignore[attr-defined]  # a model of smolagents

    def parse_tool_calls(message: Any) -> Any:
        if not message.tool_calls:
            _read(message, parser())
        return plain(message)

    model.parse_tool_calls = parse_tool_calls  # type: ignore[attr-defined]  # as above
    return model


def _definition(tool: Any) -> Any:
    return get_tool_json_schema(tool) if hasattr(tool, "inputs") else tool


def _read(message: Any, parser: Parser) -> None:
    """Move the calls in the message's text to smolagents' tool calls."""
    parts = [message.content or ""] if isinstance(message.content or "", str) else message.content
    text = "".join(part if isinstance(part, str) else part.get("text") or "" for part in parts)
    # smolagents sorts results by id, so all ids have the same number of digits.
    form = f"call_{uuid4().hex[:24]}_{{number:04}}"
    read = Message.from_events([*parser.feed(text), *parser.finish()], call_id=form)
    if not read.tool_calls:
        raise ValueError(_why(read))
    message.content = "".join([read.content or "", *(bad.raw for bad in read.rejected)]) or None
    message.tool_calls = [
        ChatMessageToolCall(
            id=call.id,
            type="function",
            function=ChatMessageToolCallFunction(name=call.name, arguments=json.loads(call.arguments)),
        )
        for call in read.tool_calls
    ]


def _why(read: Message) -> str:
    if not read.rejected:
        return "the output contains no tool call"
    bad = read.rejected[0]
    return f"{bad.message} The call is: {bad.raw[:_MOST_SHOWN]}"
