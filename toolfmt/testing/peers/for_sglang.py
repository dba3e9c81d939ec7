"""SGLang's function-call detectors as its chat server uses them: streaming (`qwen25`) and whole (`qwen25_whole`).

Written for SGLang 0.5.23: `FunctionCallParser`, called as in `entrypoints/openai/serving_chat.py`
(`_process_tool_call_stream`, `_check_for_unstreamed_tool_args`, `_process_tool_calls`). An installed SGLang needs no
setup. An unpacked wheel works too: `unzip sglang-0.5.23-*.whl -d DIR`, DIR in PYTHONPATH, and the packages that its
parsers import, which the docstring of `benchmarks/runtime_parsers.py` lists.

A chunk of the fuzz kit is a step of the server, as with `--stream-interval` or speculative decoding. Markers that look
like tokens are never split (`tokens.py`). SGLang parses nothing without tools: creating a reader without them raises
`ValueError`.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache, partial
from importlib import import_module
from typing import Any

from toolfmt.testing.peers import event_dicts
from toolfmt.testing.peers.claims import Claims, Factory, Tools, by_name, claimed, found, missing
from toolfmt.testing.peers.tokens import WholeMarkers, markers_of, tokenizer_of


def ready() -> None:
    """Import the modules of the server's parsers. Raises `ImportError` with how to install them."""
    try:
        import_module("sglang.srt.entrypoints.openai.protocol")
        import_module("sglang.srt.function_call.function_call_parser")
    except ImportError as error:
        way_out = "pip install sglang==0.5.23, or have an unpacked wheel in PYTHONPATH with what its parsers import"
        raise missing(__name__, "SGLang 0.5", error, way_out) from error


class SglangRequest:
    """A request with tools, and the server's parser for it."""

    def __init__(self, name: str, tokenizer: Any, tools: Sequence[Any]) -> None:
        ready()
        from sglang.srt.entrypoints.openai.protocol import Tool
        from sglang.srt.function_call.function_call_parser import FunctionCallParser

        self._parser = FunctionCallParser([Tool(**tool) for tool in tools], name, tokenizer=tokenizer)

    def step(self, text: str) -> tuple[str, list[tuple[int, str | None, str]]]:
        """Return the content and call deltas (index, name, arguments) that the server sends for new text."""
        content, items = self._parser.parse_stream_chunk(text)
        return content or "", _pieces(items)

    def end(self, text: str = "") -> tuple[str, list[tuple[int, str | None, str]]]:
        """Return what the server sends with the last step, which has the end-of-sequence token and perhaps no text.

        It is what a detector makes of its buffer, the text it held back, and the last call's missing arguments.
        """
        content, pieces = self.step(text)
        held, items = self._parser.parse_stream_end()
        return content + (held or ""), [*pieces, *_pieces(items), *self._unstreamed()]

    def whole(self, text: str) -> tuple[str, list[tuple[Any, str]]]:
        """Return content and calls of a whole output."""
        if not self._parser.has_tool_call(text):
            return text, []
        try:
            content, items = self._parser.parse_non_stream(text)
        except Exception:  # noqa: BLE001  the server logs it and sends the output as text
            return text, []
        return content, [(item.name, item.parameters) for item in items]

    def _unstreamed(self) -> Iterator[tuple[int, None, str]]:
        """Yield what `_check_for_unstreamed_tool_args` returns."""
        known, streamed = self._parser.detector.prev_tool_call_arr, self._parser.detector.streamed_args_for_tool
        index = len(known) - 1
        if 0 <= index < len(streamed):
            arguments = known[index].get("arguments", {})
            expected = arguments if isinstance(arguments, str) else json.dumps(arguments, ensure_ascii=False)
            rest = expected[len(streamed[index]) :]
            if rest and expected.startswith(streamed[index]):
                yield index, None, rest


def _pieces(items: Iterable[Any]) -> list[tuple[int, str | None, str]]:
    return [(item.tool_index, item.name, item.parameters) for item in items]


class SglangReader:
    """One output, streamed."""

    def __init__(self, chat: SglangRequest, markers: Sequence[str]) -> None:
        self._chat = chat
        self._whole_markers = WholeMarkers(markers)
        self._calls = event_dicts.StreamedCalls()

    def feed(self, text: str) -> Iterator[event_dicts.EventDict]:
        whole = self._whole_markers.feed(text)
        if whole:
            yield from self._events(*self._chat.step(whole))

    def finish(self) -> Iterator[event_dicts.EventDict]:
        yield from self._events(*self._chat.end(self._whole_markers.finish()))
        yield from self._calls.over()

    def _events(self, text: str, pieces: Sequence[tuple[int, str | None, str]]) -> Iterator[event_dicts.EventDict]:
        yield from self._calls.content(text)
        for piece in pieces:
            yield from self._calls.piece(*piece)


def streamed(parser: str, variants: Claims, tools: Tools) -> SglangReader:
    return SglangReader(_made(parser, variants, tools), markers_of(variants))


def whole(parser: str, variants: Claims, tools: Tools) -> Callable[[str], dict[str, Any]]:
    chat = _made(parser, variants, tools)
    return lambda text: event_dicts.message(*chat.whole(text))


def _made(parser: str, variants: Claims, tools: Tools) -> SglangRequest:
    if not tools:
        raise ValueError("SGLang reads calls only of requests that have tools: give the factory a list of them")
    ready()
    logging.getLogger("sglang").setLevel(logging.CRITICAL)
    return SglangRequest(parser, tokenizer_of(markers_of(variants)), tools)


@cache
def factories() -> dict[str, Factory]:
    """Return every detector that supports some format, streaming and whole, by name."""
    made = []
    for name, (parser, variants) in claimed("SGLang").items():
        made.append(Factory(name, parser, variants, "sglang", partial(streamed, parser, variants)))
        made.append(Factory(f"{name}_whole", parser, variants, "sglang", partial(whole, parser, variants)))
    return by_name(made)


def __getattr__(name: str) -> Factory:
    factory = found(__name__, factories(), name)
    ready()  # imported here, because the time limit of the first output is shorter
    return factory


def __dir__() -> list[str]:
    return [*globals(), *factories()]
