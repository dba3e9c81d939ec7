"""A server for local models, to copy from: requests in four protocols, served through toolfmt's shapes.

    python examples/server.py models/Qwen3-0.6B                        # generates with mlx-lm
    python examples/server.py models/Qwen3-0.6B --with transformers
    python examples/server.py models/Qwen3-0.6B --with http://127.0.0.1:8080/v1/completions
    python examples/server.py models/Qwen3-0.6B --with answer.txt      # returns that text: for trying a client

It supports OpenAI's Chat Completions (`/v1/chat/completions`) and Responses (`/v1/responses`), Anthropic's Messages
(`/v1/messages`) and Ollama's `/api/chat`, with tools, streamed or not, and lists its models at `/v1/models` and
`/api/tags`. Read it from `Server.answer` on: `Model.render` renders the request, a parser reads what a source
(`token_sources.py`) generates, and a shape converts it for the client. Generating stops when the client disconnects.

An example, not a product: there is no batching, no authentication and no limit on a request's size. It rejects what it
cannot guarantee without constrained decoding (`tool_choice: "required"`, JSON responses). Needs httpx, starlette and
uvicorn.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import logging
import os
import sys
import time
import uuid
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import aclosing
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

try:
    import uvicorn
    from starlette.applications import Starlette
    from starlette.background import BackgroundTask
    from starlette.concurrency import run_in_threadpool
    from starlette.exceptions import HTTPException
    from starlette.requests import Request
    from starlette.responses import Response, StreamingResponse
    from starlette.routing import Route
except ImportError as missing:
    if __name__ != "__main__":
        raise
    sys.stderr.write(f"server.py: error: {missing}; pip install httpx starlette uvicorn\n")
    raise SystemExit(2) from None
from token_sources import Source, endpoint_source, mlx_lm_source, text_source, transformers_source

import toolfmt
from toolfmt.integrations.protocols import (
    Chat,
    FinishReason,
    Messages,
    Ollama,
    RejectedCalls,
    Responses,
    StreamEncoder,
    Usage,
)
from toolfmt.messages.events import Event, ToolCallEnd

FAILED = "the answer failed; the server's log says why"
"""The error for a client: the real one may contain names of files, addresses and keys."""
log = logging.getLogger(__name__)
DEFAULT_LIMIT = 4096
"""Tokens of a response if the request specifies no number."""

# --- requests


class Rejected(Exception):
    """A rejected request: the status, and one line with the fix."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


@dataclass(frozen=True)
class Served:
    """A model, and what generates with it."""

    model: toolfmt.Model
    source: Source


@dataclass(frozen=True)
class Protocol:
    """What differs between protocols: the format of responses and of errors, and the defaults of a request."""

    shape: Callable[..., StreamEncoder]
    id: str
    error: Callable[[int, str], dict[str, Any]]
    streams: bool = False


def openai_error(status: int, message: str) -> dict[str, Any]:
    kind = "server_error" if status >= 500 else "invalid_request_error"
    return {"error": {"message": message, "type": kind, "param": None, "code": None}}


def anthropic_error(status: int, message: str) -> dict[str, Any]:
    kind = {404: "not_found_error", 500: "api_error"}.get(status, "invalid_request_error")
    return {"type": "error", "error": {"type": kind, "message": message}}


def ollama_error(status: int, message: str) -> dict[str, Any]:
    return {"error": message}


CHAT, MESSAGES, OLLAMA = "/v1/chat/completions", "/v1/messages", "/api/chat"
PROTOCOLS = {
    CHAT: Protocol(Chat, "chatcmpl-", openai_error),
    "/v1/responses": Protocol(Responses, "resp_", openai_error),
    MESSAGES: Protocol(Messages, "msg_", anthropic_error),
    OLLAMA: Protocol(Ollama, "", ollama_error, streams=True),
}
LIMITS = ("max_completion_tokens", "max_tokens", "max_output_tokens", "num_predict")
STOPS = ("stop", "stop_sequences")
SAMPLING = {"temperature": 100, "top_p": 1}
"""Settings of sampling, and the most that each may be."""


@dataclass(frozen=True)
class ChatRequest:
    """A request that can be served."""

    name: str
    source: Source
    prompt: toolfmt.Prompt
    limit: int
    sampling: Mapping[str, float]
    stop: list[str]
    """The client's stop strings."""
    one_call: bool
    stream: bool
    stream_usage: bool
    taken_ids: list[str]


async def read(request: Request, models: Mapping[str, Served], protocol: Protocol) -> ChatRequest:
    """The request; raises `Rejected`."""
    try:
        body = json.loads(await request.body())
    except (ValueError, RecursionError):
        raise Rejected(400, "the request is not JSON; send one JSON object") from None
    if not isinstance(body, dict):
        raise Rejected(400, "the request is not a JSON object; send one")
    name = body.get("model")
    if name is None:
        raise Rejected(400, f'the request names no "model"; models: {", ".join(models)}')
    if not isinstance(name, str) or name not in models:
        raise Rejected(404, f"no model is called {name!r} here; models: {', '.join(models)}")
    served = models[name]
    settings = body | object_under("options", body)  # Ollama's settings are here
    choice = tool_choice_of(settings, protocol)
    reject_unsupported(settings)
    try:
        conversation = toolfmt.read_request(body)
        # Clients that pass no tools get no calls: an empty list, unlike None, specifies that for the parser.
        tools = [] if choice == "none" else conversation.tools or []
        switches = thinking(settings, served.model)
        prompt = await run_in_threadpool(served.model.render, conversation.messages, tools, **switches)
    except toolfmt.ToolfmtError as error:
        place = str(served.model.files.directory)  # nothing to send to a client
        message = str(error).replace(place + os.sep, "").replace(place + ":", name + ":")
        # Other options of `Model.render` are not a fix for a client.
        raise Rejected(400, message.removesuffix(", or render with `--lossy` (in Python: lossy=True)")) from None
    return ChatRequest(
        name,
        served.source,
        prompt,
        limit_of(settings),
        sampling_of(settings),
        stops_of(settings),
        one_call=settings.get("parallel_tool_calls") is False
        or object_under("tool_choice", settings).get("disable_parallel_tool_use") is True,
        stream=protocol.streams if settings.get("stream") is None else settings["stream"] is True,
        stream_usage=protocol.shape is not Chat
        or object_under("stream_options", settings).get("include_usage") is True,
        taken_ids=toolfmt.taken_ids(conversation.messages),
    )


def object_under(key: str, settings: Mapping[str, Any]) -> dict[str, Any]:
    found = settings.get(key)
    return found if isinstance(found, dict) else {}


def tool_choice_of(settings: Mapping[str, Any], protocol: Protocol) -> str:
    """`auto` or `none`, however the protocol specifies it."""
    choice = settings.get("tool_choice")
    kind = choice.get("type") if isinstance(choice, dict) else choice
    if kind not in (None, "auto", "none"):
        # Nothing but constrained decoding makes a model call a tool; who has it, makes a grammar for the call here.
        ways = ({"type": "auto"}, {"type": "none"}) if protocol.shape is Messages else ("auto", "none")
        raise Rejected(
            400, f"tool_choice {json.dumps(choice)} cannot be promised here; send {' or '.join(map(json.dumps, ways))}"
        )
    return kind or "auto"


def reject_unsupported(settings: Mapping[str, Any]) -> None:
    """Raises `Rejected` for a parameter that would change the response and is not supported: ignoring it would mislead
    the client.
    """
    formats = (settings.get("response_format"), settings.get("format"), object_under("text", settings).get("format"))
    if any(one and not (isinstance(one, dict) and one.get("type") == "text") for one in formats):
        raise Rejected(400, "an answer in JSON cannot be promised here; ask for it in a message")
    if settings.get("n") not in (None, 1):
        raise Rejected(400, "there is one choice an answer here; leave n out")
    if settings.get("logprobs") or settings.get("top_logprobs"):
        raise Rejected(400, "logprobs are not supported; leave them out")


def thinking(settings: Mapping[str, Any], model: toolfmt.Model) -> dict[str, Any]:
    """The template's own switch, if it has one, for what vLLM, Ollama and Anthropic call thinking."""
    enabled = object_under("chat_template_kwargs", settings).get("enable_thinking", settings.get("think"))
    if "type" in (anthropic := object_under("thinking", settings)):
        enabled = anthropic["type"] != "disabled"
    has_switch = "enable_thinking" in model.profile.variables
    return {"enable_thinking": bool(enabled)} if has_switch and enabled is not None else {}


def sampling_of(settings: Mapping[str, Any]) -> dict[str, float]:
    given = {key: settings[key] for key in SAMPLING if settings.get(key) is not None}
    for key, value in given.items():
        if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 <= value <= SAMPLING[key]:
            raise Rejected(400, f"{key} is a number from 0 to {SAMPLING[key]}, not {value!r}")
    return given


def limit_of(settings: Mapping[str, Any]) -> int:
    limit = next((settings[key] for key in LIMITS if settings.get(key) is not None), DEFAULT_LIMIT)
    if isinstance(limit, bool) or not isinstance(limit, int) or limit == 0:
        raise Rejected(400, f"{limit!r} is not a number of tokens; send one above 0")
    return limit if limit > 0 else DEFAULT_LIMIT  # Ollama's -1 and -2: as many as fit


def stops_of(settings: Mapping[str, Any]) -> list[str]:
    given: Any = next((settings[key] for key in STOPS if settings.get(key) is not None), [])
    stops = [given] if isinstance(given, str) else given
    if not isinstance(stops, list) or not all(isinstance(stop, str) for stop in stops):
        raise Rejected(400, "stop is a string or a list of strings")
    return stops


# --- responses


@dataclass
class Answer:
    """A response in progress; once its events have been read, why it ended and how many tokens it took."""

    chat_request: ChatRequest
    reason: FinishReason = field(init=False)
    usage: Usage | None = None

    async def events(self) -> AsyncGenerator[list[Event], None]:
        chat_request, prompt = self.chat_request, self.chat_request.prompt
        parser = prompt.parser(format=format_of(prompt), stop=chat_request.stop)
        ended: FinishReason | None = None
        async with aclosing(chat_request.source(prompt, chat_request.limit, chat_request.sampling)) as pieces:
            async for piece in pieces:
                self.usage = piece.usage or self.usage
                ended = piece.reason or ended
                events = parser.feed(piece.text)
                if chat_request.one_call and (end := first_end(events)) is not None:
                    self.reason = "stop"
                    yield events[: end + 1]
                    return
                yield events
                if parser.ended:
                    ended = "stop"
                    break
        if ended is None:  # it broke off: a call that lacks nothing but its end would pass for whole
            raise RuntimeError("what generates told no end of its answer")
        self.reason = ended
        yield parser.finish(cut=ended == "length")


def first_end(events: list[Event]) -> int | None:
    return next((at for at, event in enumerate(events) if isinstance(event, ToolCallEnd)), None)


def format_of(prompt: toolfmt.Prompt) -> toolfmt.ToolCallFormat:
    """The format of the output; if none is known there are no tools, and only reasoning matters."""
    return prompt.tool_call_format or toolfmt.get("json")


def in_json(body: Any, status: int = 200) -> Response:
    """An ASCII response: a model may write half of a surrogate pair, which UTF-8 cannot encode and JSON can."""
    text = json.dumps(body, allow_nan=False, separators=(",", ":"))
    return Response(text, status, media_type="application/json")


async def not_served(request: Request, error: Exception) -> Response:
    """The error for an unsupported path or method, in the format of the protocol that it seems to belong to."""
    assert isinstance(error, HTTPException)
    path = request.scope["path"]
    near = MESSAGES if path.startswith(MESSAGES) else OLLAMA if path.startswith("/api/") else CHAT
    body = PROTOCOLS[near].error(error.status_code, f"{request.method} {path} is not served here")
    answer = in_json(body, error.status_code)
    answer.headers.update(error.headers or {})  # the supported methods
    return answer


async def in_pieces(shape: StreamEncoder, answer: Answer) -> AsyncGenerator[str, None]:
    """The response in its wire format."""
    try:
        async with aclosing(answer.events()) as batches:
            async for events in batches:
                if payloads := shape.push(events):
                    yield "".join(map(shape.wire, payloads))
        last = shape.finish(answer.reason, answer.usage if answer.chat_request.stream_usage else None)
    except Exception:  # the status has been sent: an error can only be reported in the stream
        log.exception("an answer failed")
        last = shape.fail(FAILED)
    yield "".join(map(shape.wire, last)) + shape.end


async def in_one(shape: StreamEncoder, answer: Answer) -> dict[str, Any]:
    """The response as one object."""
    async with aclosing(answer.events()) as batches:
        events = [event async for batch in batches for event in batch]
    return shape.whole(events, answer.reason, answer.usage)


async def while_there(request: Request, work: asyncio.Task[dict[str, Any]]) -> dict[str, Any] | None:
    """The result of the work; None, and the work stopped, if the client disconnects before. A streaming response checks
    for that by itself.
    """

    async def gone() -> None:
        while (await request.receive())["type"] != "http.disconnect":
            pass

    going = asyncio.create_task(gone())
    try:
        await asyncio.wait({work, going}, return_when=asyncio.FIRST_COMPLETED)
        return work.result() if work.done() else None
    finally:
        going.cancel()
        work.cancel()


@dataclass(frozen=True)
class Server:
    """The models by their names, and what becomes of calls: see `toolfmt.integrations.protocols`."""

    models: Mapping[str, Served]
    whole_calls: bool = True
    rejected: RejectedCalls = "content"
    created: int = field(default_factory=lambda: int(time.time()))

    async def answer(self, protocol: Protocol, request: Request) -> Response:
        try:
            return await self.answered(await read(request, self.models, protocol), request, protocol)
        except Rejected as error:
            status, message = error.status, str(error)
        except Exception:  # an error is reported in the format of the protocol
            log.exception("an answer failed")
            status, message = 500, FAILED
        return in_json(protocol.error(status, message), status)

    async def answered(self, chat_request: ChatRequest, request: Request, protocol: Protocol) -> Response:
        shape = protocol.shape(
            protocol.id + uuid.uuid4().hex,
            chat_request.name,
            int(time.time()),
            taken_ids=chat_request.taken_ids,
            call_id=format_of(chat_request.prompt).call_id,
            # Without streaming, the response is sent once it is known to be whole.
            whole_calls=self.whole_calls or not chat_request.stream,
            rejected=self.rejected,
        )
        answer = Answer(chat_request)
        if chat_request.stream:
            pieces = in_pieces(shape, answer)
            # Starlette cancels what it waits for when the client disconnects, but closes nothing that it does not wait
            # for.
            closing = BackgroundTask(pieces.aclose)
            return StreamingResponse(pieces, media_type=shape.media_type, background=closing)
        body = await while_there(request, asyncio.create_task(in_one(shape, answer)))
        if body is None:
            return Response(status_code=499)  # nobody reads it
        failed = body.get("error") is not None and "status" not in body  # a response has its own status
        return in_json(body, 500 if failed else 200)

    async def list_for_openai(self, request: Request) -> Response:
        about = {"object": "model", "created": self.created, "owned_by": "toolfmt"}
        return in_json({"object": "list", "data": [{"id": name, **about} for name in self.models]})

    async def list_for_ollama(self, request: Request) -> Response:
        return in_json({"models": [{"name": name, "model": name} for name in self.models]})

    def app(self) -> Starlette:
        """What an ASGI server runs."""
        routes = [Route(path, partial(self.answer, one), methods=["POST"]) for path, one in PROTOCOLS.items()]
        routes += [Route("/v1/models", self.list_for_openai), Route("/api/tags", self.list_for_ollama)]
        app = Starlette(routes=routes, exception_handlers={HTTPException: not_served})
        app.router.redirect_slashes = False  # clients that post do not follow
        return app


SOURCES = {"mlx-lm": mlx_lm_source, "transformers": transformers_source}
NEEDED = {"mlx-lm": "'mlx-lm[cpu]'", "transformers": "transformers torch"}


class NotStarted(Exception):
    """Why there is no server, in one line."""


def source_of(kind: str, model: toolfmt.Model, called: str) -> Source:
    """Raises `NotStarted`."""
    try:
        if kind.startswith(("http://", "https://")):
            return endpoint_source(kind, called)
        if kind in SOURCES:
            return SOURCES[kind](str(model.files.directory))
    except ImportError as error:
        needed = NEEDED.get(kind, "httpx starlette uvicorn")
        raise NotStarted(f"--with {kind}: {in_one_line(error)}; pip install {needed}") from None
    except Exception as error:  # noqa: BLE001  any exception of a runtime for files that it cannot load
        raise NotStarted(f"{kind} cannot load the model: {in_one_line(error)}") from None
    try:
        return text_source(Path(kind).read_text("utf-8"))
    except (OSError, ValueError):
        ways = ", ".join([*SOURCES, "the http address of a completion endpoint, or a file of text"])
        raise NotStarted(f"--with {kind}: no such source; give {ways}") from None


def in_one_line(error: Exception) -> str:
    return " ".join(str(error).split()) or type(error).__name__


def served_by(paths: list[str], kind: str, called: str | None) -> dict[str, Served]:
    """The models by the last part of their paths; an endpoint is asked for them by the whole path, as servers are that
    were started with it. Raises `NotStarted` and `toolfmt.ToolfmtError`.
    """
    models = {}
    for path in paths:
        model = toolfmt.load(path)
        models[Path(path).name] = Served(model, source_of(kind, model, called or path))
    return models


def main() -> None:
    """The command line."""
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("models", nargs="+", metavar="MODEL", help="as toolfmt.load takes it")
    source = "what generates: see above (default: %(default)s)"
    arguments.add_argument("--with", dest="kind", default="mlx-lm", metavar="SOURCE", help=source)
    called = "the endpoint's name for its model (default: MODEL)"
    arguments.add_argument("--called", metavar="NAME", help=called)
    arguments.add_argument("--stream-arguments", action="store_true", help="send calls before they are whole")
    arguments.add_argument("--host", default="127.0.0.1", help="default: %(default)s")
    arguments.add_argument("--port", type=int, default=8000, help="default: %(default)s")
    given = arguments.parse_args()
    try:
        models = served_by(given.models, given.kind, given.called)
    except (NotStarted, toolfmt.ToolfmtError) as error:
        arguments.exit(2, f"server.py: error: {error}\n")
    uvicorn.run(Server(models, whole_calls=not given.stream_arguments).app(), host=given.host, port=given.port)


if __name__ == "__main__":
    main()
