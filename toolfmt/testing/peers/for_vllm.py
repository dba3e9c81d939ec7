"""vLLM's tool parsers as its chat server uses them: streaming (`hermes`) and whole (`hermes_whole`).

Written for vLLM 0.33.0: `ParserManager` creates the parser, `ChatStreamProcessor` processes a stream, `Parser.parse`
parses a whole output. No GPU is needed. An installed vLLM needs no setup. An unpacked wheel works too: `unzip
vllm-0.33.0-*.whl -d DIR`, DIR in PYTHONPATH, and the packages that its parsers import, which the docstring of
`benchmarks/runtime_parsers.py` lists.

A chunk of the fuzz kit is a step of the server, as with `--stream-interval` or speculative decoding. Markers that look
like tokens are never split (`tokens.py`). The parser always gets its markers, whatever it requests. vLLM parses nothing
without tools: creating a reader without them raises `ValueError`.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Iterator, Sequence
from functools import cache, lru_cache, partial
from importlib import import_module
from typing import Any

from toolfmt.testing.peers import event_dicts
from toolfmt.testing.peers.claims import Claims, Factory, Tools, by_name, claimed, found, missing
from toolfmt.testing.peers.tokens import WholeMarkers, markers_of, tokenizer_of


def ready() -> None:
    """Import the modules of the server's parsers, without a server's log and without searching for a device.

    Raises `ImportError` with how to install them.
    """
    os.environ.setdefault("VLLM_TARGET_DEVICE", "cpu")
    os.environ.setdefault("VLLM_LOGGING_LEVEL", "CRITICAL")
    try:
        import_module("vllm.entrypoints.openai.chat_completion.stream_processor")
        import_module("vllm.parser")
    except ImportError as error:
        way_out = "pip install vllm==0.33.0, or have an unpacked wheel in PYTHONPATH with what its parsers import"
        raise missing(__name__, "vLLM 0.33", error, way_out) from error


class VllmRequest:
    """A request with tools, and the server's parser for it."""

    def __init__(self, name: str, tokenizer: Any, tools: Sequence[Any], *, reasoning_parser: str | None = None) -> None:
        ready()
        from vllm.entrypoints.openai.chat_completion.protocol import ChatCompletionRequest
        from vllm.entrypoints.openai.chat_completion.stream_processor import ChatStreamProcessor
        from vllm.parser import ParserManager

        parser_class = ParserManager.get_parser(
            tool_parser_name=name, reasoning_parser_name=reasoning_parser, enable_auto_tools=True, tokenizer=tokenizer
        )
        assert parser_class is not None
        messages = [{"role": "user", "content": "Do it."}]
        request = ChatCompletionRequest(model="m", messages=messages, tools=list(tools), tool_choice="auto")
        self._parser = parser_class(tokenizer, request.tools)
        self._request = self._parser.adjust_request(request)
        self._processor = ChatStreamProcessor(
            self._request, self._parser, enable_auto_tools=True, parser_cls=parser_class
        )

    def step(self, text: str, ids: Sequence[int], ended: str | None = None) -> tuple[Any, str | None]:
        """Return what the server sends for new tokens (None for nothing yet), and the finish reason at the end."""
        delta, reason = self._processor.step(text, list(ids), ended, [1])
        return delta, reason

    def whole(self, text: str, ids: Sequence[int]) -> tuple[str | None, str | None, list[Any]]:
        """Return reasoning, content and calls of a whole output."""
        reasoning, content, calls = self._parser.parse(
            text, self._request, enable_auto_tools=True, model_output_token_ids=list(ids)
        )
        return reasoning, content, list(calls or ())


class VllmReader:
    """One output, streamed."""

    def __init__(self, chat: VllmRequest, tokenizer: Any, markers: Sequence[str]) -> None:
        self._chat = chat
        self._tokenizer = tokenizer
        self._whole_markers = WholeMarkers(markers)
        self._calls = event_dicts.StreamedCalls()

    def feed(self, text: str) -> Iterator[event_dicts.EventDict]:
        yield from self._step(self._whole_markers.feed(text))

    def finish(self) -> Iterator[event_dicts.EventDict]:
        yield from self._step(self._whole_markers.finish())
        yield from self._events(self._chat.step("", [self._tokenizer.eos_token_id], "stop")[0])
        yield from self._calls.over()

    def _step(self, text: str) -> Iterator[event_dicts.EventDict]:
        if text:
            yield from self._events(self._chat.step(text, _ids(self._tokenizer, text))[0])

    def _events(self, delta: Any) -> Iterator[event_dicts.EventDict]:
        if delta is None:
            return
        yield from event_dicts.reasoning(delta.reasoning)
        yield from self._calls.content(delta.content)
        for call in delta.tool_calls:
            if call.function is not None:
                yield from self._calls.piece(call.index, call.function.name, call.function.arguments)


@lru_cache(maxsize=4096)
def _ids(tokenizer: Any, text: str) -> Sequence[int]:
    """The tokens of a chunk. A server gets them from the model; creating them here would take longer than parsing."""
    return tuple(tokenizer.encode(text, add_special_tokens=False))


def streamed(parser: str, variants: Claims, tools: Tools) -> VllmReader:
    chat, tokenizer, markers = _made(parser, variants, tools)
    return VllmReader(chat, tokenizer, markers)


def whole(parser: str, variants: Claims, tools: Tools) -> Callable[[str], dict[str, Any]]:
    chat, tokenizer, _ = _made(parser, variants, tools)

    def read(text: str) -> dict[str, Any]:
        thought, content, calls = chat.whole(text, tokenizer.encode(text, add_special_tokens=False))
        return event_dicts.message(content, [(call.name, call.arguments) for call in calls], thought)

    return read


def _made(parser: str, variants: Claims, tools: Tools) -> tuple[VllmRequest, Any, tuple[str, ...]]:
    if not tools:
        raise ValueError("vLLM reads calls only of requests that have tools: give the factory a list of them")
    ready()
    logging.getLogger("vllm").setLevel(logging.CRITICAL)
    markers = markers_of(variants)
    tokenizer = tokenizer_of(markers)
    return VllmRequest(parser, tokenizer, tools), tokenizer, markers


@cache
def factories() -> dict[str, Factory]:
    """Return every parser that supports some format, streaming and whole, by name."""
    made = []
    for name, (parser, variants) in claimed("vLLM").items():
        made.append(Factory(name, parser, variants, "vllm", partial(streamed, parser, variants)))
        made.append(Factory(f"{name}_whole", parser, variants, "vllm", partial(whole, parser, variants)))
    return by_name(made)


def __getattr__(name: str) -> Factory:
    factory = found(__name__, factories(), name)
    ready()  # imported here, because the time limit of the first output is shorter
    return factory


def __dir__() -> list[str]:
    return [*globals(), *factories()]
