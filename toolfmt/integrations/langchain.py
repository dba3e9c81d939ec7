"""LangChain: a `Runnable` that parses calls in the text output of any model.

    chain = model | read_calls("glm4", tools)

Contract: langchain-core 1.7, `AIMessage.tool_calls` and `invalid_tool_calls`. When chunks are added, an
`AIMessageChunk` recomputes both from its `tool_call_chunks` and completes arguments that were cut.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from functools import partial
from typing import Any
from uuid import uuid4

try:
    from langchain_core.messages import AIMessage, AIMessageChunk, message_chunk_to_message
    from langchain_core.runnables import RunnableGenerator, RunnableLambda
    from langchain_core.tools import BaseTool
    from langchain_core.utils.function_calling import convert_to_openai_tool
except ModuleNotFoundError as error:
    raise ImportError(
        f"toolfmt.integrations.langchain needs langchain-core: pip install langchain-core ({error})"
    ) from error

from toolfmt.formats import Parser, ToolCallFormat, WholeCalls
from toolfmt.messages.events import Event
from toolfmt.messages.message import Message
from toolfmt.messages.tools import counting_tools

__all__ = ["read_calls"]


def read_calls(format: str | ToolCallFormat, tools: Iterable[Any] | None = None, **options: Any) -> RunnableLambda:
    """Return a `Runnable` that takes a response and returns an `AIMessage` with the calls in its text.

    The response is an `AIMessage`, or the text of a model without messages. Calls that the message already has are
    kept.

    A call that was cut or rejected is in `invalid_tool_calls`, with its text as `args` and the rejection's `message` as
    `error`. When streaming, content is passed on immediately and a call once it is complete. Adding chunks parses
    `args` again and drops `error`. Therefore a rejected call's `args` are then its text as a JSON string, and the
    reason and the message are in `additional_kwargs["rejected"]`.

    Args:
        format: A format or its name.
        tools: The tools: LangChain's own, or what `Parser` takes.
        **options: Other options of `Parser`.

    Raises:
        UnknownFormat: There is no format of this name.
        BadTools: The tools are not valid.
        TypeError: An option has the wrong type. The `Runnable` raises it if its input is not a response.
    """
    given = None if tools is None else [convert_to_openai_tool(t) if isinstance(t, BaseTool) else t for t in tools]
    parser = partial(Parser, format, tools=counting_tools(given), **options)
    parser()  # so that invalid input raises here
    return _CallReader(parser)


class _CallReader(RunnableLambda):  # type: ignore[misc]  # langchain-core may not be installed
    def __init__(self, parser: Callable[[], Parser]) -> None:
        super().__init__(self._invoked, name="read_calls")
        self._parser = parser

    def _invoked(self, given: Any) -> Any:
        message = message_chunk_to_message(_message(given))
        parser = self._parser()
        read = _folded([*parser.feed(_text(message)), *parser.finish()], _ids(message))
        return _with(message, read, {"tool_calls": _calls(read), "invalid_tool_calls": _rejected(read)})

    def transform(self, input: Iterator[Any], config: Any = None, **options: Any) -> Iterator[Any]:
        """Transform a stream of responses."""
        return RunnableGenerator(self._streamed, name="read_calls").transform(input, config, **options)  # type: ignore[no-any-return]  # as above

    def atransform(self, input: AsyncIterator[Any], config: Any = None, **options: Any) -> AsyncIterator[Any]:
        """As `transform`."""
        return RunnableGenerator(self._streamed_async, name="read_calls").atransform(input, config, **options)  # type: ignore[no-any-return]  # as above

    def _streamed(self, input: Iterator[Any]) -> Iterator[Any]:
        stream = _Stream(self._parser())
        for given in input:
            yield stream.chunk(given)
        yield stream.last()

    async def _streamed_async(self, input: AsyncIterator[Any]) -> AsyncIterator[Any]:
        stream = _Stream(self._parser())
        async for given in input:
            yield stream.chunk(given)
        yield stream.last()


class _Stream:
    """One response in chunks, each with what is certain so far."""

    def __init__(self, parser: Parser) -> None:
        self._parser, self._whole = parser, WholeCalls()
        self._taken: list[str] = []

    def chunk(self, given: Any) -> Any:
        message = _message(given)
        if not isinstance(message, AIMessageChunk):
            message = AIMessageChunk(**message.__dict__ | {"type": "AIMessageChunk"})
        return self._with_events(message.model_copy(update={"chunk_position": None}), self._parser.feed(_text(message)))

    def last(self) -> Any:
        return self._with_events(AIMessageChunk(content="", chunk_position="last"), self._parser.finish())

    def _with_events(self, message: Any, events: Iterable[Event]) -> Any:
        self._taken += _ids(message)
        read = _folded(self._whole.events(events), self._taken)
        self._taken += [call.id for call in read.tool_calls]
        rejected = [bad | {"args": json.dumps(bad["args"])} for bad in _rejected(read)]
        parts = [(call.name, call.arguments, call.id) for call in read.tool_calls]
        parts += [(bad["name"], bad["args"], bad["id"]) for bad in rejected]
        chunks = [{"name": name, "args": args, "id": id, "index": None} for name, args, id in parts]
        lists = {"tool_calls": _calls(read), "invalid_tool_calls": rejected, "tool_call_chunks": chunks}
        reasons = [{"reason": one.reason, "message": one.message, "raw": one.raw} for one in read.rejected]
        return _with(message, read, lists, **({"rejected": reasons} if reasons else {}))


def _message(given: Any) -> Any:
    if not isinstance(given, (str, AIMessage)):
        raise TypeError(f"read_calls takes an AIMessage or text, not {type(given).__name__}")
    return AIMessage(content=given) if isinstance(given, str) else given


def _is_text(part: Any) -> bool:
    return isinstance(part, str) or (part.get("type") == "text" and isinstance(part.get("text"), str))


def _text(message: Any) -> str:
    if isinstance(message.content, str):
        return message.content
    return "".join(part if isinstance(part, str) else part["text"] for part in message.content if _is_text(part))


def _ids(message: Any) -> list[str]:
    return [call["id"] for call in message.tool_calls if call["id"]]


def _folded(events: Iterable[Event], taken: list[str]) -> Message:
    """Ids have the form of LangChain's integrations, because the conversation is not known here."""
    return Message.from_events(events, taken, f"call_{uuid4().hex[:24]}_{{number}}")


def _calls(read: Message) -> list[dict[str, Any]]:
    return [
        {"name": call.name, "args": json.loads(call.arguments), "id": call.id, "type": "tool_call"}
        for call in read.tool_calls
    ]


def _rejected(read: Message) -> list[dict[str, Any]]:
    return [
        {"name": bad.name, "args": bad.raw, "id": None, "error": bad.message, "type": "invalid_tool_call"}
        for bad in read.rejected
    ]


def _with(message: Any, read: Message, lists: dict[str, list[Any]], **more: Any) -> Any:
    """Return a copy of the message with the parsed content instead of its text, and with more in its lists."""
    content: Any = read.content or ""
    if isinstance(message.content, list):
        others = [part for part in message.content if not _is_text(part)]
        like = next((part for part in message.content if isinstance(part, dict) and _is_text(part)), {"type": "text"})
        content = [*others, *([{**like, "text": content}] if content else [])]
    if read.reasoning:
        more["reasoning_content"] = (message.additional_kwargs.get("reasoning_content") or "") + read.reasoning
    extended = {name: [*getattr(message, name), *added] for name, added in lists.items()}
    return message.model_copy(
        update={"content": content, "additional_kwargs": message.additional_kwargs | more, **extended}
    )
