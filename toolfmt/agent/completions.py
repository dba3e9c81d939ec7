"""Models for `run` behind a chat endpoint: what a server tells as a call, taken for one only where it is.

Source: OpenAI API reference, "Create chat completion" (November 2026); the keys for reasoning are those of vLLM and
SGLang.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from toolfmt.agent.argument_checks import check_function, check_waited_for
from toolfmt.agent.call_shapes import parts_of_call, read_arguments
from toolfmt.agent.protocol import AskModel, ModelResponse, was_cut
from toolfmt.agent.results import sendable
from toolfmt.errors import ToolfmtError
from toolfmt.messages.events import (
    Content,
    Event,
    Reasoning,
    RejectionReason,
    ToolCallArguments,
    ToolCallEnd,
    ToolCallRejected,
    ToolCallStart,
)
from toolfmt.messages.tools import kind_of, tool_schemas
from toolfmt.render.request.client_parts import as_mapping, sorted_parts

_REASONING_KEYS = ("reasoning_content", "reasoning")
_NO_SPAN = (0, 0)
"""Where a call stood in what the model wrote, a server does not say."""
_NO_ARGUMENTS: tuple[object, ...] = (None, "", {})
_MOST_SHOWN = 200
_KINDS: dict[str, tuple[type, ...]] = {
    "content": (str, list),
    "refusal": (str,),
    "tool_calls": (list, tuple),
    "function_call": (Mapping,),
}


def from_openai(client: Any, model: str, **options: Any) -> AskModel:
    """A model behind a chat endpoint, asked by an `openai.OpenAI`, or what has the same methods.

    `options` go with every request (`temperature`, `extra_body`, …), but for `stream`. As `from_completions`.
    Raises `TypeError` for what is no client; an `openai.AsyncOpenAI` the model refuses.
    """
    if not hasattr(client, "chat"):
        raise TypeError(f"from_openai takes an openai.OpenAI or what has its methods, not {kind_of(client)}")
    return from_completions(client.chat.completions.create, model=model, **options)


def from_completions(create: Callable[..., Any], **options: Any) -> AskModel:
    """A model that a function asks: given `messages`, `tools` where there are any, and `options`, it returns a chat
    completion of OpenAI's API, an object or a mapping (as `Llama.create_chat_completion` of llama-cpp-python does).

    What a server tells as a call is one only where its arguments are a JSON object, else it is rejected; so is the last
    call of an answer that was cut (a `finish_reason` such as "length" or "content_filter"), whose arguments some
    servers complete. The older `function_call` is a call too. What a server leaves in the content, a text or a list of
    parts, is content: a call that it could not read ends a run as an answer. Reasoning is sent back under the key that
    the server told it under. Raises `ValueError` for the option `stream`, `TypeError` for what is no function. The
    model raises what `create` raises, `ToolfmtError` for what is no completion, and `TypeError` for a `create` that is
    async.
    """
    check_function(create, "create")
    if options.get("stream"):
        raise ValueError("run asks for whole answers; leave stream out")

    def ask(messages: list[Any], tools: list[dict[str, Any]]) -> ModelResponse:
        completion = create(**{"messages": messages, **({"tools": tools} if tools else {}), **options})
        check_waited_for(completion, "the client")
        told, cut = _message_of(completion)
        answer = ModelResponse.told(_events_of(told, cut, tools), messages, cut)
        key = _reasoning_key(told)
        if answer.said and key:
            answer.said[key] = answer.said.pop(_REASONING_KEYS[0])
        return answer

    return ask


def _message_of(completion: Any) -> tuple[Mapping[str, Any], bool]:
    """The message of a completion's first choice, and whether it was cut."""
    told = as_mapping(completion)
    try:
        choice = as_mapping(as_mapping(told["choices"])[0])
        message = as_mapping(choice["message"])
    except (KeyError, IndexError, TypeError):
        message = None
    if not isinstance(message, Mapping):
        shown = repr(told)[:_MOST_SHOWN]
        raise ToolfmtError(f"what was asked returned no chat completion with a choice: {shown}") from None
    for key, kinds in _KINDS.items():
        if not isinstance(message.get(key), (*kinds, type(None))):
            raise ToolfmtError(f"the message that was returned has the {key} {message[key]!r}"[:_MOST_SHOWN])
    return message, was_cut(choice.get("finish_reason"))


def _reasoning_key(told: Mapping[str, Any]) -> str:
    return next((key for key in _REASONING_KEYS if isinstance(told.get(key), str) and told[key]), "")


def _events_of(told: Mapping[str, Any], cut: bool, tools: list[dict[str, Any]]) -> Iterator[Event]:
    """What a server tells as a message, as events; what it tells as calls only where they are. What no request can hold
    (half of a character) stays out."""
    if key := _reasoning_key(told):
        yield Reasoning(sendable(told[key]))
    content = told.get("content") or told.get("refusal") or ""
    parts = sorted_parts(content if isinstance(content, list) else [content], "assistant", "content")
    yield from (Reasoning(sendable(text)) for text in parts.reasoning)
    yield from (Content(sendable(_text_of(part))) for part in parts.kept if _text_of(part))
    calls = [*(told.get("tool_calls") or ()), *parts.calls]
    if not calls and told.get("function_call"):
        calls = [told["function_call"]]
    schemas = tool_schemas(tools)
    for index, call in enumerate(map(as_mapping, calls)):
        try:
            id, name, given = parts_of_call(call)
        except TypeError:
            yield ToolCallRejected(index, "missing_tool_name", _NO_SPAN, json.dumps(call, default=str))
            continue
        arguments = given if isinstance(given, str) else json.dumps(given, default=str)
        if given in _NO_ARGUMENTS and name in schemas and not schemas[name].get("properties"):
            arguments = "{}"
        wrong = _wrong(arguments, cut and index == len(calls) - 1)
        yield ToolCallStart(index, sendable(name), sendable(id))
        yield ToolCallArguments(index, sendable(arguments))
        yield ToolCallRejected(index, wrong, _NO_SPAN, sendable(arguments)) if wrong else ToolCallEnd(index, _NO_SPAN)


def _text_of(part: Mapping[str, Any]) -> str:
    """The text of a part of the content; what is none (an image) as the JSON that it is."""
    text = part.get("text") if part.get("type") == "text" else None
    return text if isinstance(text, str) else json.dumps(part, default=str)


def _wrong(arguments: str, cut: bool) -> RejectionReason | None:
    """Why a call that a server tells is none."""
    if cut:
        return "incomplete_output"
    return "invalid_arguments" if read_arguments(arguments)[1] else None
