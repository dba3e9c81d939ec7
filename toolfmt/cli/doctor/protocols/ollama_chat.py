"""Ollama's /api/chat: one JSON object, or one per line. Calls are whole, their arguments objects, and ids optional."""

from __future__ import annotations

from typing import Any

from toolfmt.cli.doctor.protocols.chat_protocol import (
    ChatRequest,
    arguments_object,
    as_json,
    count_of,
    dictionary,
    list_of,
    message_in,
    parsed,
    text_of,
)
from toolfmt.cli.doctor.response import ResponseCall, ServerError, ServerResponse, Unreadable
from toolfmt.cli.doctor.transport import Reply


class OllamaChat:
    """Writes and reads Ollama's chat."""

    name = "Ollama"
    path = "/chat"
    forced_choice = False

    def headers(self, key: str) -> dict[str, str]:
        return {"Authorization": f"Bearer {key}"} if key else {}

    def body(self, model: str, request: ChatRequest, stream: bool) -> dict[str, Any]:
        options = {"temperature": 0, "seed": 0, "num_predict": request.max_tokens}
        body = {"model": model, "messages": _messages(request), "stream": stream, "options": options}
        return {**body, "tools": list(request.tools)} if request.tools else body

    def read(self, value: Any) -> ServerResponse:
        if not isinstance(dictionary(value).get("message"), dict):
            raise Unreadable(f"unreadable response: {message_in(value) or 'it has no message'}")
        response = ServerResponse(streamed=False)
        _add(response, value)
        return response

    def read_stream(self, reply: Reply) -> ServerResponse:
        response, done = ServerResponse(streamed=True), False
        for line in filter(str.strip, reply.text.split("\n")):
            value = dictionary(parsed(line, "a line of the stream"))
            if value.get("error"):
                raise ServerError(200, message_in(value) or "an error without a message")
            _add(response, value)
            done = value.get("done") is True
        if not done:
            response.report("stream-broken", "the last line of the stream has no `done: true`")
        return response


def _messages(request: ChatRequest) -> list[dict[str, Any]]:
    """Return the messages in Ollama's form, in which a result has the tool's name."""
    names: dict[str, str] = {}
    messages = []
    for message in request.messages:
        made = {"role": message["role"], "content": message.get("content") or ""}
        for call in message.get("tool_calls", ()):
            function = call["function"]
            names[call["id"]] = function["name"]
            given = arguments_object(function["arguments"])
            made.setdefault("tool_calls", []).append({"function": {"name": function["name"], "arguments": given}})
        if message["role"] == "tool":
            made["tool_name"] = names.get(message["tool_call_id"], "")
        messages.append(made)
    return messages


def _add(response: ServerResponse, value: dict[str, Any]) -> None:
    """Add one object."""
    message = dictionary(value.get("message"))
    content = message.get("content")
    if content is not None and not isinstance(content, str):
        response.report("content-not-string", f"content: {as_json(content)}")
    response.content += text_of(content)
    response.reasoning += text_of(message.get("thinking"))
    for call in map(dictionary, list_of(message.get("tool_calls"))):
        function = dictionary(call.get("function"))
        name, given = text_of(function.get("name")), function.get("arguments")
        if not name:
            response.report("name-missing", "a call has no name")
        if not isinstance(given, dict):
            response.report("arguments-not-object", f"arguments: {as_json(given)}")
        arguments = given if isinstance(given, str) else as_json(given)
        response.add_call(ResponseCall(text_of(call.get("id")), name, [arguments]))
    if value.get("done") is True:
        reason = text_of(value.get("done_reason")) or "stop"
        response.finish = "tool_calls" if response.calls and reason == "stop" else reason  # it has no reason for calls
    response.prompt_tokens = count_of(value.get("prompt_eval_count")) or response.prompt_tokens
    response.completion_tokens = count_of(value.get("eval_count")) or response.completion_tokens
