"""Anthropic's Messages: content blocks, whole or as a stream of named events."""

from __future__ import annotations

from typing import Any

from toolfmt.cli.doctor.protocols.chat_protocol import (
    ChatRequest,
    arguments_object,
    as_json,
    count_of,
    dictionary,
    message_in,
    parsed,
    server_events,
    text_of,
)
from toolfmt.cli.doctor.response import ResponseCall, ServerError, ServerResponse, Unreadable
from toolfmt.cli.doctor.transport import Reply

_FINISH = {"tool_use": "tool_calls", "end_turn": "stop", "stop_sequence": "stop", "max_tokens": "length"}
_CACHED = ("input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens")


class AnthropicMessages:
    """Writes and reads Messages."""

    name = "Anthropic Messages"
    path = "/messages"
    forced_choice = True

    def headers(self, key: str) -> dict[str, str]:
        return {"anthropic-version": "2023-06-01", **({"x-api-key": key} if key else {})}

    def body(self, model: str, request: ChatRequest, stream: bool) -> dict[str, Any]:
        body = {"model": model, "max_tokens": request.max_tokens, "temperature": 0, "stream": stream}
        body["messages"] = [_message(message) for message in request.messages]
        if request.tools:
            functions = [tool["function"] for tool in request.tools]
            body["tools"] = [
                {"name": one["name"], "description": one["description"], "input_schema": one["parameters"]}
                for one in functions
            ]
        if request.tool_choice == "required":
            body["tool_choice"] = {"type": "any"}
        elif request.tool_choice:
            body["tool_choice"] = {"type": "tool", "name": request.tool_choice}
        return body

    def read(self, value: Any) -> ServerResponse:
        if not isinstance(dictionary(value).get("content"), list):
            raise Unreadable(f"unreadable response: {message_in(value) or 'it has no list of content blocks'}")
        response = ServerResponse(streamed=False)
        for block in map(dictionary, value["content"]):
            _begin(response, block)
        _end(response, value)
        return response

    def read_stream(self, reply: Reply) -> ServerResponse:
        response, done = ServerResponse(streamed=True), False
        open_block: tuple[Any, ResponseCall | None] = (None, None)
        blocks = 0
        for data in server_events(reply):
            event = dictionary(parsed(data, "an event of the stream"))
            kind, index = event.get("type"), event.get("index")
            if kind == "error":
                raise ServerError(200, message_in(event) or "an error without a message")
            if kind == "message_start":
                _end(response, dictionary(event.get("message")))
            elif kind == "content_block_start":
                if index != blocks:
                    name = "index-missing" if index is None else "index-wrong"
                    response.report(name, f"content block {blocks} has the index {index!r}")
                blocks += 1
                open_block = (index, _begin(response, dictionary(event.get("content_block"))))
            elif kind == "content_block_delta":
                if index != open_block[0]:
                    response.report("index-wrong", f"a delta has the index {index!r}, its block {open_block[0]!r}")
                _add_delta(response, open_block[1], dictionary(event.get("delta")))
            elif kind == "content_block_stop":
                _close(open_block[1])
            elif kind == "message_delta":
                _end(response, {**event, **dictionary(event.get("delta"))})
            elif kind == "message_stop":
                done = True
        if response.finish is None:
            response.report("stream-broken", "the stream has no stop_reason")
        elif not done:
            response.report("done-missing", "the stream ends without message_stop")
        return response


def _message(message: Any) -> dict[str, Any]:
    """Return a message in Anthropic's form."""
    if message["role"] == "tool":
        result = {"type": "tool_result", "tool_use_id": message["tool_call_id"], "content": message["content"]}
        return {"role": "user", "content": [result]}
    blocks: list[dict[str, Any]] = [{"type": "text", "text": message["content"]}] if message.get("content") else []
    for call in message.get("tool_calls", ()):
        function = call["function"]
        given = arguments_object(function["arguments"])
        blocks.append({"type": "tool_use", "id": call["id"], "name": function["name"], "input": given})
    return {"role": message["role"], "content": blocks}


def _begin(response: ServerResponse, block: dict[str, Any]) -> ResponseCall | None:
    """Read a block, or the start of a block in a stream. Return its call, if it is one."""
    kind = block.get("type")
    response.content += text_of(block.get("text"))
    response.reasoning += text_of(block.get("thinking"))
    if kind != "tool_use":
        return None
    id, name, given = text_of(block.get("id")), text_of(block.get("name")), block.get("input")
    if not id:
        response.report("id-missing", f"a tool_use block has the id {block.get('id')!r}")
    elif any(call.id == id for call in response.calls):
        response.report("id-not-unique", f"two tool_use blocks have the id {id!r}")
    if not name:
        response.report("name-missing", "a tool_use block has no name")
    if not isinstance(given, dict):
        response.report("arguments-not-object", f"input: {as_json(given)}")
    follows = response.streamed and not given  # a block starts with `{}`, and its deltas have the arguments
    text = given if isinstance(given, str) else as_json(given)
    response.add_call(ResponseCall(id, name, [] if follows else [text]))
    return response.calls[-1]


def _add_delta(response: ServerResponse, call: ResponseCall | None, delta: dict[str, Any]) -> None:
    response.content += text_of(delta.get("text"))
    response.reasoning += text_of(delta.get("thinking"))
    if call is not None:
        call.fragments.append(text_of(delta.get("partial_json")))


def _close(call: ResponseCall | None) -> None:
    """End the block of a call. Without any fragment, its arguments are the empty object that it started with."""
    if call is not None and not call.arguments:
        call.fragments = ["{}"]


def _end(response: ServerResponse, value: dict[str, Any]) -> None:
    """Take the stop reason and the usage, if they are there."""
    reason = text_of(value.get("stop_reason"))
    response.finish = _FINISH.get(reason, reason) or response.finish
    usage = dictionary(value.get("usage"))
    response.prompt_tokens = sum(count_of(usage.get(key)) for key in _CACHED) or response.prompt_tokens
    response.completion_tokens = count_of(usage.get("output_tokens")) or response.completion_tokens
