"""Models for `run` that use a chat endpoint. What a server returns as a call is checked before it counts as one.

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
from toolfmt.messages.arguments import READABLE, unfit
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
from toolfmt.messages.rejections import rejection_message
from toolfmt.messages.tools import kind_of, tool_schemas
from toolfmt.render.request.client_parts import as_mapping, sorted_parts

_REASONING_KEYS = ("reasoning_content", "reasoning")
_NO_SPAN = (0, 0)
"""A server does not report where a call was in the model's output."""
_NO_ARGUMENTS: tuple[object, ...] = (None, "", {})
_MOST_SHOWN = 200
_KINDS: dict[str, tuple[type, ...]] = {
    "content": (str, list),
    "refusal": (str,),
    "tool_calls": (list, tuple),
    "function_call": (Mapping,),
}


def from_openai(client: Any, model: str, **options: Any) -> AskModel:
    """Return a model that uses a chat endpoint through an OpenAI client. Otherwise like `from_completions`.

    Args:
        client: An `openai.OpenAI`, or an object with the same methods. The model rejects an `openai.AsyncOpenAI`.
        model: The name of the model.
        **options: Sent with every request (`temperature`, `extra_body`, …), except `stream`.

    Raises:
        TypeError: It is not a client.
    """
    if not hasattr(client, "chat"):
        raise TypeError(f"from_openai takes an openai.OpenAI or what has its methods, not {kind_of(client)}")
    return from_completions(client.chat.completions.create, model=model, **options)


def from_completions(create: Callable[..., Any], **options: Any) -> AskModel:
    """Return a model that uses a function.

    A call of the server is rejected if its arguments are not a JSON object. The last call of a cut response (a
    `finish_reason` such as "length" or "content_filter") is rejected too, because some servers complete its arguments.
    The older `function_call` is also a call. Content, a string or a list of parts, stays content, so a call that the
    server could not parse ends a run as an answer. Reasoning is sent back under the key under which the server returned
    it.

    The model raises what `create` raises, `ToolfmtError` for an invalid completion, and `TypeError` if `create` is
    async.

    Args:
        create: Takes `messages`, `tools` if there are any, and `options`. It returns a chat completion of OpenAI's API,
            an object or a mapping (like `Llama.create_chat_completion` of llama-cpp-python).
        **options: Passed with every call, except `stream`.

    Raises:
        ValueError: The option `stream` is set.
        TypeError: `create` is not a function.
    """
    check_function(create, "create")
    if options.get("stream"):
        raise ValueError("run needs whole responses; leave stream out")

    def ask(messages: list[Any], tools: list[dict[str, Any]]) -> ModelResponse:
        completion = create(**{"messages": messages, **({"tools": tools} if tools else {}), **options})
        check_waited_for(completion, "the client")
        message, cut = _message_of(completion)
        answer = ModelResponse.of_events(_events_of(message, cut, tools), messages, cut)
        key = _reasoning_key(message)
        if answer.stored and key:
            answer.stored[key] = answer.stored.pop(_REASONING_KEYS[0])
        return answer

    return ask


def _message_of(completion: Any) -> tuple[Mapping[str, Any], bool]:
    """Return the message of a completion's first choice, and whether it was cut."""
    mapping = as_mapping(completion)
    try:
        choice = as_mapping(as_mapping(mapping["choices"])[0])
        message = as_mapping(choice["message"])
    except (KeyError, IndexError, TypeError):
        message = None
    if not isinstance(message, Mapping):
        shown = repr(mapping)[:_MOST_SHOWN]
        raise ToolfmtError(f"what was asked returned no chat completion with a choice: {shown}") from None
    for key, kinds in _KINDS.items():
        if not isinstance(message.get(key), (*kinds, type(None))):
            raise ToolfmtError(f"the message that was returned has the {key} {message[key]!r}"[:_MOST_SHOWN])
    return message, was_cut(choice.get("finish_reason"))


def _reasoning_key(message: Mapping[str, Any]) -> str:
    return next((key for key in _REASONING_KEYS if isinstance(message.get(key), str) and message[key]), "")


def _events_of(message: Mapping[str, Any], cut: bool, tools: list[dict[str, Any]]) -> Iterator[Event]:
    """Yield a server's message as events. Calls that are not valid are rejected.

    Characters that a request cannot contain (half a surrogate pair) are removed.
    """
    if key := _reasoning_key(message):
        yield Reasoning(sendable(message[key]))
    content = message.get("content") or message.get("refusal") or ""
    parts = sorted_parts(content if isinstance(content, list) else [content], "assistant", "content")
    yield from (Reasoning(sendable(text)) for text in parts.reasoning)
    yield from (Content(sendable(_text_of(part))) for part in parts.kept if _text_of(part))
    calls = [*(message.get("tool_calls") or ()), *parts.calls]
    if not calls and message.get("function_call"):
        calls = [message["function_call"]]
    schemas = tool_schemas(tools)
    for index, call in enumerate(map(as_mapping, calls)):
        try:
            id, name, given = parts_of_call(call)
        except TypeError:
            raw, expected = json.dumps(call, default=str), "the name of a tool"
            why = rejection_message("missing_tool_name")
            yield ToolCallRejected(index, "missing_tool_name", _NO_SPAN, raw, 0, expected, why)
            continue
        arguments = given if isinstance(given, str) else json.dumps(given, default=str)
        if given in _NO_ARGUMENTS and name in schemas and not schemas[name].get("properties"):
            arguments = "{}"
        wrong = _wrong(arguments, cut and index == len(calls) - 1)
        yield ToolCallStart(index, sendable(name), sendable(id))
        yield ToolCallArguments(index, sendable(arguments))
        yield _rejected(index, wrong, name, arguments) if wrong else ToolCallEnd(index, _NO_SPAN)


def _rejected(index: int, reason: RejectionReason, name: str, arguments: str) -> ToolCallRejected:
    if reason == "invalid_arguments":
        message = unfit(read_arguments(arguments)[1], name)
    else:
        message = rejection_message(reason, name=name)
    return ToolCallRejected(index, reason, _NO_SPAN, sendable(arguments), 0, READABLE, message)


def _text_of(part: Mapping[str, Any]) -> str:
    """Return the text of a content part. A part that is not text (an image) becomes its JSON."""
    text = part.get("text") if part.get("type") == "text" else None
    return text if isinstance(text, str) else json.dumps(part, default=str)


def _wrong(arguments: str, cut: bool) -> RejectionReason | None:
    """Return why a server's call is not valid."""
    if cut:
        return "incomplete_output"
    return "invalid_arguments" if read_arguments(arguments)[1] else None
