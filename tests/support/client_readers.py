"""What the client libraries of the four protocols make of a format's payloads: each reads them with its own code."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

from pydantic import TypeAdapter

from toolfmt.integrations.protocols import Chat, Messages, Ollama, Payload, Responses, StreamEncoder


@dataclass
class Answer:
    """A response as a client has it: what a program would show, and the calls that it would execute."""

    content: str = ""
    reasoning: str = ""
    calls: list[tuple[str, Any]] = field(default_factory=list)
    ending: str | None = None
    ids: list[str] = field(default_factory=list, compare=False)


def chat(payloads: Iterable[Payload]) -> Answer:
    """openai-python's accumulator of Chat Completions."""
    from openai.lib.streaming.chat import ChatCompletionStreamState
    from openai.types.chat import ChatCompletionChunk

    state = ChatCompletionStreamState()
    for payload in payloads:
        state.handle_chunk(ChatCompletionChunk.model_validate(payload))
    return chat_whole(state.current_completion_snapshot.model_dump())


def chat_whole(completion: Payload) -> Answer:
    from openai.types.chat import ChatCompletion

    (choice,) = ChatCompletion.model_validate(completion).choices
    message = choice.message
    calls = [call for call in message.tool_calls or [] if call.type == "function"]
    return Answer(
        message.content or "",
        getattr(message, "reasoning_content", None) or "",
        [(call.function.name, json.loads(call.function.arguments)) for call in calls],
        choice.finish_reason,
        [call.id for call in calls],
    )


def messages(payloads: Iterable[Payload]) -> Answer:
    """anthropic-sdk-python's accumulator of Messages."""
    from anthropic.lib.streaming._messages import accumulate_event
    from anthropic.types import RawMessageStreamEvent

    event: TypeAdapter[Any] = TypeAdapter(RawMessageStreamEvent)
    message: Any = None
    buffers: dict[int, bytes] = {}
    for payload in payloads:
        read = event.validate_python(payload)
        message = accumulate_event(event=read, current_snapshot=message, json_bufs=buffers)
    return messages_whole(message.model_dump())


def messages_whole(message: Payload) -> Answer:
    from anthropic.types import Message

    read = Message.model_validate(message)
    calls = [block for block in read.content if block.type == "tool_use"]
    return Answer(
        "".join(block.text for block in read.content if block.type == "text"),
        "".join(block.thinking for block in read.content if block.type == "thinking"),
        [(block.name, block.input) for block in calls],
        read.stop_reason,
        [block.id for block in calls],
    )


def responses(payloads: Iterable[Payload]) -> Answer:
    """openai-python's accumulator of Responses; of its last snapshot."""
    from openai import omit
    from openai._models import construct_type_unchecked
    from openai.lib.streaming.responses._responses import ResponseStreamState
    from openai.types.responses import ResponseStreamEvent

    state: Any = ResponseStreamState(input_tools=[], text_format=omit)
    last: Any = None
    for payload in payloads:
        read: Any = construct_type_unchecked(type_=ResponseStreamEvent, value=payload)  # type: ignore[arg-type]  # a union
        last = state.handle_event(read)[-1]
    return responses_whole(last.response.model_dump())


def responses_whole(response: Payload) -> Answer:
    from openai.types.responses import Response

    read = Response.model_validate(response)
    calls = [item for item in read.output if item.type == "function_call" and item.status == "completed"]
    return Answer(
        read.output_text,
        "".join(part.text for item in read.output if item.type == "reasoning" for part in item.summary),
        [(item.name, json.loads(item.arguments)) for item in calls],
        read.incomplete_details.reason if read.incomplete_details else read.status,
        [item.call_id for item in calls],
    )


def ollama(payloads: Iterable[Payload]) -> Answer:
    """ollama-python's model of each line; its users join them."""
    from ollama import ChatResponse

    answer = Answer()
    for payload in payloads:
        line = ChatResponse.model_validate(payload)
        answer.content += line.message.content or ""
        answer.reasoning += line.message.thinking or ""
        answer.calls += [(call.function.name, call.function.arguments) for call in line.message.tool_calls or []]
        answer.ending = line.done_reason or answer.ending
    return answer


def ollama_whole(answer: Payload) -> Answer:
    return ollama([answer])


Reader = Callable[[Iterable[Payload]], Answer]
READERS: dict[type[StreamEncoder], tuple[Reader, Callable[[Payload], Answer]]] = {
    Chat: (chat, chat_whole),
    Messages: (messages, messages_whole),
    Responses: (responses, responses_whole),
    Ollama: (ollama, ollama_whole),
}
"""For each protocol, the reader of its stream, and the reader of its whole response."""
ENDINGS: dict[type[StreamEncoder], dict[str, str]] = {
    Chat: {"stop": "stop", "calls": "tool_calls", "cut": "length"},
    Messages: {"stop": "end_turn", "calls": "tool_use", "cut": "max_tokens"},
    Responses: {"stop": "completed", "calls": "completed", "cut": "max_output_tokens"},
    Ollama: {"stop": "stop", "calls": "stop", "cut": "length"},
}
"""The stop reasons of each protocol, by its own reference: for text only, with calls, and truncated."""
