"""smolagents: a model whose answers are read in its own format, where smolagents takes what stands between braces.

    agent = ToolCallingAgent(tools, reads(model, "glm4", tools))

Contract: smolagents 1.26, `Model.parse_tool_calls`, which a `ToolCallingAgent` calls for an answer that has no calls;
the agent tells its model what is raised there.
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
    """The same model, which now reads the calls in its answers itself.

    Takes a model of smolagents, a format or its name, the agent's tools (smolagents' own, or what `Parser` takes;
    `final_answer` is always among them) and other options of `Parser`. An answer without a whole call raises
    `ValueError`, with the reason where one was rejected, and is not searched for anything else; where there are calls,
    the text of a rejected one stays in the content. Raises what `Parser` raises.
    """
    declared = None if tools is None else [_definition(tool) for tool in tools]
    if declared is not None and "final_answer" not in {tool["name"] for tool in counting_tools(declared) or ()}:
        declared.append(get_tool_json_schema(FinalAnswerTool()))
    parser = partial(Parser, format, tools=counting_tools(declared), **options)
    parser()  # so that bad input is told here
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
    """Puts the calls of the message's text where smolagents has calls."""
    parts = [message.content or ""] if isinstance(message.content or "", str) else message.content
    text = "".join(part if isinstance(part, str) else part.get("text") or "" for part in parts)
    # In the order of their ids smolagents tells the results: as many digits for each.
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
        return "the answer holds no tool call"
    bad = read.rejected[0]
    return f"the tool call is rejected ({bad.reason}): {bad.raw[:_MOST_SHOWN]}"
