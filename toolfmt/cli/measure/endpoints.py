"""Endpoints with OpenAI's protocol: chat (the server renders and parses) and completions (toolfmt does both).

HTTP is done by the library openai (extra `measure`), imported when an endpoint is first created. It retries a request
twice if the server is busy, fails, or does not respond in time. Source: OpenAI API reference, "Chat Completions" and
"Completions" (November 2026). `chat_template_kwargs` is supported by vLLM, SGLang and mlx-lm, `skip_special_tokens` by
vLLM and SGLang, `add_special_tokens` only by vLLM; other servers ignore them. Therefore a server that adds a
beginning-of-sequence token to every text (SGLang, mlx-lm) duplicates it if the prompt already has one.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Any

from toolfmt.cli.measure.plan import GRAMMARS, TOOL_CHOICES, GrammarChoice, Question, ToolChoice
from toolfmt.cli.measure.prompts import Prompts, messages_in_words
from toolfmt.cli.measure.scenarios import tools
from toolfmt.cli.measure.subject import NotAnswered, NotReached, Sampling, SubjectResponse, in_one_line
from toolfmt.errors import ToolfmtError
from toolfmt.formats import Parser, default_format
from toolfmt.formats.prompting.tool_descriptions import result_heading
from toolfmt.formats.serialization.files import named_format
from toolfmt.messages.message import Message, ToolCall
from toolfmt.model.model import Model

_MOST_STOPS = 4
"""Maximum number of stop strings in OpenAI's protocol."""
_ENDED = (None, "stop", "eos", "tool_calls", "function_call")
"""Finish reasons for a response that the model itself ended. Some servers give no reason."""
_MOST_BYTES = 2**25
"""Maximum size of a response in bytes: one of a million tokens has about four million."""


@dataclass(frozen=True)
class Address:
    """The URL of an endpoint (up to `/v1`), the model's name there, the key, and the `timeout`.

    The timeout is in seconds: a response must start within it, and after its start, end within it.
    """

    url: str
    model: str
    key: str = "none"
    timeout: float = 300.0


class _Endpoint:
    """The common part of both endpoints: send requests, and report failures in one line."""

    def __init__(self, address: Address, sampling: Sampling) -> None:
        try:
            from openai import OpenAI
        except ImportError:
            needs = "querying an endpoint requires openai: pip install openai jsonschema"
            raise ToolfmtError(needs) from None
        self.name = f"{address.model} at {address.url}"
        self._address, self._sampling = address, sampling
        try:
            self._client: Any = OpenAI(base_url=address.url, api_key=address.key, timeout=address.timeout)
        except Exception as error:  # noqa: BLE001  of openai's HTTP library, whose name depends on openai's version
            raise ToolfmtError(in_one_line(f"{address.url}: no address to ask ({error}); look at --endpoint")) from None

    def _settings(self, seed: int) -> dict[str, Any]:
        sampling = self._sampling
        heat = {} if sampling.temperature is None else {"temperature": sampling.temperature}
        return {"model": self._address.model, "max_tokens": sampling.max_tokens, "seed": seed, **heat}

    def _choice(self, create: Callable[..., Any], request: Mapping[str, Any], seed: int) -> dict[str, Any]:
        """Return the first choice of a response, as sent. Raises `NotAnswered`."""
        import openai

        try:
            answered = json.loads(self._body(create, request, seed))
        except NotAnswered:
            raise
        except openai.APIStatusError as error:
            raise NotAnswered(in_one_line(f"{error.status_code} {_server_message(error)}")) from None
        except Exception as error:  # noqa: BLE001  depends on what a server sends, and on openai and its HTTP library
            raise self._failure(error) from None
        choices = answered.get("choices") if isinstance(answered, dict) else None
        if not isinstance(choices, list) or not choices or not isinstance(choices[0], dict):
            raise NotAnswered("unreadable response: it has no choices")
        return choices[0]

    def _body(self, create: Callable[..., Any], request: Mapping[str, Any], seed: int) -> bytes:
        """Return the body of a response, with limits on its time and size."""
        body = bytearray()
        with create(**self._settings(seed), **request) as response:
            until = time.monotonic() + self._address.timeout
            for piece in response.iter_bytes():
                body += piece
                if len(body) > _MOST_BYTES:
                    raise NotAnswered(f"unreadable response: it is longer than {_MOST_BYTES:,} bytes")
                if time.monotonic() > until:
                    raise self._too_late()
        return bytes(body)

    def _failure(self, error: Exception) -> NotAnswered:
        """Return why there is no response. Only a failed connection means that the server is not reachable."""
        import openai

        cause = error.__cause__ if isinstance(error, openai.APIConnectionError) and error.__cause__ else error
        kind = type(
            cause
        ).__name__  # compared by name: the class is from httpx, or from its replacement in newer versions of openai
        if isinstance(error, openai.APITimeoutError) or kind == "ReadTimeout":
            return self._too_late()
        if kind == "ConnectError":
            return NotReached(in_one_line(f"cannot be reached ({cause})"))
        return NotAnswered(in_one_line(f"unreadable response ({kind}: {cause})"))

    def _too_late(self) -> NotAnswered:
        return NotAnswered(f"no response within {self._address.timeout:g} seconds")


class ChatEndpoint(_Endpoint):
    """A chat completions endpoint.

    With the strategy `template`, it gets messages and tools as from any client, and its response counts as it is. If
    the model's `format` is known, by its name, file or `directory`, toolfmt searches for calls that were left in the
    text. With `prompt`, the tools are described in the system prompt, and toolfmt parses the calls. Raises
    `ToolfmtError` without the extra, and `UnknownFormat`.
    """

    tool_choices: Collection[ToolChoice] = TOOL_CHOICES
    grammars: Collection[GrammarChoice] = GRAMMARS[:1]

    def __init__(
        self, address: Address, sampling: Sampling, directory: Model | None = None, format: str | None = None
    ) -> None:
        super().__init__(address, sampling)
        self._prompts = None if directory is None else Prompts(directory, sampling)
        self._format = None if directory is None else directory.profile.tool_call_format
        if format is not None:
            self._format = named_format(format)

    def ask(self, question: Question, seed: int) -> SubjectResponse:
        prose = question.cell.strategy == "prompt"
        request, parser = self._in_words(question) if prose else (self._plain(question), self._parser())
        choice = self._choice(self._client.chat.completions.with_streaming_response.create, request, seed)
        message = choice.get("message")
        message = message if isinstance(message, dict) else {}
        content, cut = message.get("content"), choice.get("finish_reason") == "length"
        content, ended = content if isinstance(content, str) else "", _ended(choice)
        if parser is None:
            return SubjectResponse(Message(content, None, _calls(message)), rejections_known=False, cut=cut)
        read = _read(parser, content, ended)
        if prose:
            return SubjectResponse(read, cut=cut)
        return SubjectResponse(
            Message(read.content, read.reasoning, _calls(message), read.rejected), len(read.tool_calls), cut=cut
        )

    def _plain(self, question: Question) -> dict[str, Any]:
        choice = question.cell.tool_choice
        tool_choice = {} if choice == "left out" else {"tool_choice": choice}
        return {
            "messages": question.messages,
            "tools": tools(),
            **tool_choice,
            **self._variables(self._sampling.variables),
        }

    def _in_words(self, question: Question) -> tuple[dict[str, Any], Parser]:
        if self._prompts is not None:
            prompt = self._prompts.of(question)
            request = prompt.request(arguments_as_text=True)
            known = {"messages": request["messages"], **self._variables(request["chat_template_kwargs"])}
            return known, Parser(
                prompt.tool_call_format or default_format(), tools=tools(), stop=prompt.ending_answers()
            )
        format = self._format or default_format()
        stop = [result_heading(tool["function"]["name"]) for tool in tools()]
        messages = messages_in_words(format, question)
        request = {"messages": messages, **self._variables(self._sampling.variables)}
        return request, Parser(format, tools=tools(), stop=stop)

    def _parser(self) -> Parser | None:
        return None if self._format is None else Parser(self._format, tools=tools())

    @staticmethod
    def _variables(given: Mapping[str, Any]) -> dict[str, Any]:
        return {"extra_body": {"chat_template_kwargs": dict(given)}} if given else {}


class CompletionEndpoint(_Endpoint):
    """A completions endpoint: toolfmt renders the prompt and parses the calls."""

    tool_choices: Collection[ToolChoice] = TOOL_CHOICES[:1]
    grammars: Collection[GrammarChoice] = GRAMMARS[:1]

    def __init__(self, address: Address, sampling: Sampling, directory: Model, format: str | None = None) -> None:
        super().__init__(address, sampling)
        self._prompts = Prompts(directory, sampling)
        self._format = None if format is None else named_format(format)

    def ask(self, question: Question, seed: int) -> SubjectResponse:
        prompt = self._prompts.of(question)
        try:
            parser = prompt.parser(format=self._format if question.cell.strategy == "template" else None)
        except ToolfmtError as error:
            raise NotAnswered(str(error)) from None
        body = {"skip_special_tokens": False, "add_special_tokens": False}
        ends = prompt.ending_answers()[:_MOST_STOPS]
        request = {"prompt": prompt.text, "extra_body": body, **({"stop": ends} if ends else {})}
        choice = self._choice(self._client.completions.with_streaming_response.create, request, seed)
        text, cut = choice.get("text"), choice.get("finish_reason") == "length"
        return SubjectResponse(_read(parser, text if isinstance(text, str) else "", _ended(choice)), cut=cut)


def _ended(choice: Mapping[str, Any]) -> bool:
    """Return whether the model itself ended the response, as far as is known. Else an unfinished call was cut off."""
    return choice.get("finish_reason") in _ENDED


def _read(parser: Parser, text: str, ended: bool) -> Message:
    events = [*parser.feed(text), *parser.finish(cut=not ended)]
    return Message.from_events([*parser.continued, *events], (), parser.format.call_id)


def _calls(message: Mapping[str, Any]) -> list[ToolCall]:
    """Return the calls of a message as a client would use them.

    Clients do not execute a call without a name. Some servers send arguments that are not a string.
    """
    calls = message.get("tool_calls")
    listed = calls if isinstance(calls, list) else []
    functions = [call.get("function") for call in listed if isinstance(call, dict)]
    return [
        ToolCall("", function["name"], _as_text(function.get("arguments")))
        for function in functions
        if isinstance(function, dict) and isinstance(function.get("name"), str)
    ]


def _as_text(arguments: Any) -> str:
    return arguments if isinstance(arguments, str) else json.dumps(arguments)


def _server_message(error: Any) -> str:
    """Return the server's message about a failure, without what is wrapped around it."""
    body = error.body  # the content of OpenAI's {"error": …}: an object, or mlx-lm's plain string
    texts = [body.get(key) for key in ("message", "detail")] if isinstance(body, Mapping) else [body]
    return next((text for text in texts if isinstance(text, str) and text), str(error.message))
