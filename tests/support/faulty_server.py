"""The example server with a scripted model that follows the doctor's questions, and bugs that are switched on one by
one.

A bug changes the requests that reach the healthy server, or what it responds: a whole message, or the chunks of a
stream.
"""

from __future__ import annotations

import copy
import json
import re
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any

from answer_scenarios import MODEL, running
from server import CHAT, MESSAGES, OLLAMA, Served, Server
from token_sources import Piece

import toolfmt
from toolfmt.cli.doctor.probes import RESULT, probes
from toolfmt.integrations.protocols import Usage

Body = dict[str, Any]
Chunks = list[Body]
_SIZE = 4
"""Characters of a token."""


class FollowingModel:
    """A token source that calls what the question asks for, if the prompt has the tools, and reads results."""

    def __init__(self, format: toolfmt.ToolCallFormat | None) -> None:
        self.calls = {probe.question: probe.calls for probe in probes(format)}
        self.calls[RESULT.question] = [("get_weather", {"city": "Bergen", "days": 3})]

    def text(self, prompt: toolfmt.Prompt) -> str:
        last = prompt.messages[-1]
        if last["role"] == "tool":
            station = re.search(r'"station": "([^"]*)"', prompt.text)
            return "It is from nowhere." if station is None else f"It is from {station[1]}."
        (question,) = [message["content"] for message in prompt.messages if message["role"] == "user"]
        calls = self.calls.get(question)
        if not calls or "Book a hotel room." not in prompt.text:
            return "White." if calls == () else "I cannot look that up."
        reasoning = "<think>\nBergen is in Norway.\n</think>\n\n" if "step by step" in question else ""
        format = prompt.tool_call_format
        assert format is not None
        return reasoning + toolfmt.write(format, calls)

    async def __call__(
        self, prompt: toolfmt.Prompt, limit: int, sampling: Mapping[str, float]
    ) -> AsyncGenerator[Piece, None]:
        text = self.text(prompt)
        tokens = [text[at : at + _SIZE] for at in range(0, len(text), _SIZE)]
        for number, token in enumerate(tokens[:limit], 1):
            last = "stop" if number == len(tokens) else "length" if number == limit else None
            yield Piece(token, last, Usage(len(prompt.text) // _SIZE, number))  # type: ignore[arg-type]  # a reason


def _same(value: Any) -> Any:
    return value


@dataclass(frozen=True)
class Bug:
    """Changes a request, the message of a whole response with its choice, the chunks of a stream, and its bytes."""

    request: Callable[[Body], Body] = _same
    whole: Callable[[Body], object] = _same
    stream: Callable[[Chunks], Chunks] = _same
    raw: Callable[[bytes], bytes] = _same


HEALTHY = Bug()


class Faulty:
    """An ASGI application: the server, with a bug in its responses to chat requests."""

    def __init__(self, app: Any, bug: Bug) -> None:
        self.app, self.bug = app, bug

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] != "http" or scope["path"] not in (CHAT, MESSAGES, OLLAMA):
            await self.app(scope, receive, send)
            return
        given, more = b"", True
        while more:
            part = await receive()
            given, more = given + part.get("body", b""), part.get("more_body", False)
        body = self.bug.request(json.loads(given))
        body.pop("tool_choice", None)  # the model always calls what the question asks for
        sent: list[Any] = [{"type": "http.request", "body": json.dumps(body).encode(), "more_body": False}]

        async def changed() -> Any:
            return sent.pop() if sent else await receive()

        start, parts = {}, []

        async def collect(message: Any) -> None:
            if message["type"] == "http.response.start":
                start.update(message)
            else:
                parts.append(message.get("body", b""))

        await self.app(scope | {"headers": _without_length(scope["headers"])}, changed, collect)
        data = b"".join(parts)
        if start["status"] == 200 and scope["path"] == CHAT:
            data = self._changed(data, body["stream"])
        await send(start | {"headers": _without_length(start["headers"])})
        await send({"type": "http.response.body", "body": self.bug.raw(data)})

    def _changed(self, data: bytes, streamed: bool) -> bytes:
        if not streamed:
            value = json.loads(data)
            self.bug.whole(value["choices"][0])
            return json.dumps(value).encode()
        events = [line[6:] for line in data.decode().split("\n\n") if line]
        chunks = self.bug.stream([json.loads(event) for event in events if event != "[DONE]"])
        return "".join(f"data: {json.dumps(chunk)}\n\n" for chunk in chunks).encode() + b"data: [DONE]\n\n"


def _without_length(headers: Any) -> list[Any]:
    return [(name, value) for name, value in headers if name.lower() != b"content-length"]


def faulty(bug: Bug = HEALTHY, *, whole_calls: bool = False) -> AbstractContextManager[str]:
    """The address of the server with a bug."""
    model = toolfmt.load(MODEL)
    source = FollowingModel(model.profile.tool_call_format)
    app = Server({"m": Served(model, source)}, whole_calls=whole_calls).app()
    return running(Faulty(app, bug))  # type: ignore[arg-type]  # an ASGI application too


# --- the parts of chunks


def calls_of(chunk: Body) -> list[Body]:
    return [call for choice in chunk["choices"] for call in choice["delta"].get("tool_calls", ())]


def each_call(change: Callable[[Body], object]) -> Callable[[Chunks], Chunks]:
    """Change every fragment of a call."""

    def stream(chunks: Chunks) -> Chunks:
        for chunk in chunks:
            for call in calls_of(chunk):
                change(call)
        return chunks

    return stream


def each_message(change: Callable[[Body], object]) -> Callable[[Body], object]:
    """Change the message of a whole response."""
    return lambda choice: change(choice["message"])


def joined(chunks: Chunks) -> Body:
    """The choice that a client makes of the chunks."""
    message: Body = {"role": "assistant", "content": "", "tool_calls": []}
    finish = None
    for chunk in chunks:
        for choice in chunk["choices"]:
            finish = choice.get("finish_reason") or finish
            message["content"] += choice["delta"].get("content") or ""
            if "reasoning_content" in choice["delta"]:
                message["reasoning_content"] = (
                    message.get("reasoning_content", "") + choice["delta"]["reasoning_content"]
                )
            for call in choice["delta"].get("tool_calls", ()):
                if "id" in call:
                    message["tool_calls"].append(copy.deepcopy(call))
                else:
                    message["tool_calls"][call["index"]]["function"]["arguments"] += call["function"]["arguments"]
    return {"message": message, "finish_reason": finish}


def restreamed(change: Callable[[Body], object]) -> Callable[[Chunks], Chunks]:
    """Join the chunks, change the choice as in a whole response, and send it in as few chunks as possible."""

    def stream(chunks: Chunks) -> Chunks:
        choice = joined(chunks)
        if choice["finish_reason"] == "length":
            return chunks
        change(choice)
        message, frame = choice["message"], {**chunks[0], "choices": []}
        deltas: list[Body] = [{"role": "assistant"}]
        deltas += [{key: message[key]} for key in ("reasoning_content", "content") if message.get(key)]
        deltas += [{"tool_calls": [{**call, "index": at}]} for at, call in enumerate(message.get("tool_calls") or ())]
        made = [{**frame, "choices": [{"index": 0, "delta": delta}]} for delta in deltas]
        made.append({**frame, "choices": [{"index": 0, "delta": {}, "finish_reason": choice["finish_reason"]}]})
        return made

    return stream


def both(change: Callable[[Body], object]) -> Bug:
    """A bug in whole and in streamed responses, but not in those that the token limit cut."""
    return Bug(whole=change, stream=restreamed(change))
