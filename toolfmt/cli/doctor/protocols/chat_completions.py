"""OpenAI's Chat Completions. A stream is checked for everything that clients depend on when they join its chunks."""

from __future__ import annotations

import json
from typing import Any

from toolfmt.cli.doctor.protocols.chat_protocol import (
    ChatRequest,
    as_json,
    count_of,
    dictionary,
    list_of,
    message_in,
    parsed,
    server_events,
    text_of,
)
from toolfmt.cli.doctor.response import ResponseCall, ServerError, ServerResponse, Unreadable
from toolfmt.cli.doctor.transport import Reply
from toolfmt.cli.measure.subject import in_one_line

_REASONING = ("reasoning_content", "reasoning")
_DONE = "[DONE]"
_LONGEST_NAME = 1_000


class ChatCompletions:
    """Writes and reads Chat Completions."""

    name = "OpenAI Chat Completions"
    path = "/chat/completions"
    forced_choice = True

    def headers(self, key: str) -> dict[str, str]:
        return {"Authorization": f"Bearer {key}"} if key else {}

    def body(self, model: str, request: ChatRequest, stream: bool) -> dict[str, Any]:
        body: dict[str, Any] = {"model": model, "messages": list(request.messages), "max_tokens": request.max_tokens}
        body |= {"temperature": 0, "seed": 0, "stream": stream}
        if request.tools:
            body["tools"] = list(request.tools)
        if request.tool_choice == "required":
            body["tool_choice"] = "required"
        elif request.tool_choice:
            body["tool_choice"] = {"type": "function", "function": {"name": request.tool_choice}}
        if request.variables:
            body["chat_template_kwargs"] = dict(request.variables)
        return body

    def read(self, value: Any) -> ServerResponse:
        choices = list_of(dictionary(value).get("choices"))
        if not choices or not isinstance(choices[0], dict) or not isinstance(choices[0].get("message"), dict):
            raise Unreadable(f"unreadable response: {message_in(value) or 'it has no choices with a message'}")
        response, message = ServerResponse(streamed=False), choices[0]["message"]
        _add_text(response, message)
        for each in list_of(message.get("tool_calls")):
            call = _new_call(response, dictionary(each))
            _add_arguments(response, call, dictionary(dictionary(each).get("function")).get("arguments"))
        _end(response, choices[0], value)
        return response

    def read_stream(self, reply: Reply) -> ServerResponse:
        reader, done = _StreamReader(), False
        for data in server_events(reply):
            if data.strip() == _DONE:
                done = True
                continue
            chunk = dictionary(parsed(data, "a chunk of the stream"))
            if chunk.get("error"):
                raise ServerError(200, message_in(chunk) or in_one_line(as_json(chunk["error"])))
            reader.add(chunk)
        response = reader.response
        if response.finish is None:
            what = "" if done else f", and no `data: {_DONE}`"
            response.report("stream-broken", f"the stream has no finish_reason{what}")
        elif not done:
            response.report("done-missing", f"the stream ends without `data: {_DONE}`")
        return response


class _StreamReader:
    """Joins the chunks of a stream as clients do."""

    def __init__(self) -> None:
        self.response = ServerResponse(streamed=True)
        self._by_index: dict[int, ResponseCall] = {}

    def add(self, chunk: dict[str, Any]) -> None:
        """Add one chunk. One without choices may have the usage."""
        for choice in list_of(chunk.get("choices"))[:1]:
            delta = dictionary(dictionary(choice).get("delta"))
            _add_text(self.response, delta)
            for part in list_of(delta.get("tool_calls")):
                self._add_part(dictionary(part))
            _end(self.response, dictionary(choice), chunk)
        if not chunk.get("choices"):
            _end(self.response, {}, chunk)

    def _add_part(self, part: dict[str, Any]) -> None:
        """Add a fragment of a call to the call that its index names."""
        response, function = self.response, dictionary(part.get("function"))
        call = self._call_of(part)
        if call is None:
            call = _new_call(response, part)
            index = part.get("index")
            if isinstance(index, int):
                if index != len(response.calls) - 1:
                    response.report("index-wrong", f"call {len(response.calls)} has the index {index}")
                self._by_index[index] = call
        else:
            if part.get("id"):
                response.report("id-repeated", f"id {part['id']!r} is in several chunks of one call")
            if name := text_of(function.get("name")):
                if len(call.name) > _LONGEST_NAME:
                    raise Unreadable("unreadable response: the chunks of a call join to an endless name")
                call.name += name
                response.report("name-repeated", f"the chunks of one call join to the name {call.name!r}")
        _add_arguments(response, call, function.get("arguments"))

    def _call_of(self, part: dict[str, Any]) -> ResponseCall | None:
        """Return the call that a fragment continues, or None for a new one."""
        index, id, calls = part.get("index"), text_of(part.get("id")), self.response.calls
        if not isinstance(index, int) or isinstance(index, bool):
            self.response.report("index-missing", f"a chunk of a call has the index {index!r}")
            continues = bool(calls) and (id in ("", calls[-1].id))
            return calls[-1] if continues else None
        call = self._by_index.get(index)
        if call is not None and id and call.id and id != call.id:
            self.response.report("index-wrong", f"calls {call.id!r} and {id!r} have the same index {index}")
            return None
        return call


def _new_call(response: ServerResponse, part: dict[str, Any]) -> ResponseCall:
    """Start a call with its first chunk, or with the whole of it."""
    id, name = text_of(part.get("id")), text_of(dictionary(part.get("function")).get("name"))
    where = "the first chunk of a call" if response.streamed else "a call"
    if not id:
        response.report("id-missing", f"{where} has the id {part.get('id')!r}")
    elif any(call.id == id for call in response.calls):
        response.report("id-not-unique", f"two calls have the id {id!r}")
    if part.get("type") != "function":
        response.report("type-missing", f"{where} has the type {part.get('type')!r}")
    if not name:
        response.report("name-missing", f"{where} has no name")
    return response.add_call(ResponseCall(id, name))


def _add_arguments(response: ServerResponse, call: ResponseCall, arguments: Any) -> None:
    if isinstance(arguments, str):
        call.fragments.append(arguments)
    elif arguments is not None:
        text = json.dumps(arguments, ensure_ascii=False)
        response.report("arguments-not-string", f"arguments: {text}")
        call.fragments.append(text)


def _add_text(response: ServerResponse, message: dict[str, Any]) -> None:
    """Add the content and the reasoning of a message or a delta."""
    content = message.get("content")
    if content is not None and not isinstance(content, str):
        response.report("content-not-string", f"content: {as_json(content)}")
    response.content += text_of(content)
    response.reasoning += next(filter(None, (text_of(message.get(key)) for key in _REASONING)), "")


def _end(response: ServerResponse, choice: dict[str, Any], value: dict[str, Any]) -> None:
    """Take the finish reason and the usage, if they are there."""
    response.finish = text_of(choice.get("finish_reason")) or response.finish
    usage = dictionary(value.get("usage"))
    response.prompt_tokens = count_of(usage.get("prompt_tokens")) or response.prompt_tokens
    response.completion_tokens = count_of(usage.get("completion_tokens")) or response.completion_tokens
