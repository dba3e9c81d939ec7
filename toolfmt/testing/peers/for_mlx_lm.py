"""mlx-lm's tool parsers, each in the loop of mlx-lm's server.

Written for mlx-lm 0.32.2: `server.py` (`_handle_completion`, `ToolCallFormatter`), `generate.py`
(`make_text_state_machine`, `TextStateMachine`), `tokenizer_utils.py` (`load`, `_infer_thinking`). The server splits the
text at the parser's two markers and parses a call when it is complete. If the parser raises `ValueError`, the server
logs and drops the call; it does not catch other exceptions. The vocabulary is assumed to have the markers of the
format. If the output ends in the start of a marker, that text is dropped, as in the server.
"""

from __future__ import annotations

import json
import warnings
from collections.abc import Iterator
from functools import cache, partial
from importlib import import_module
from types import SimpleNamespace
from typing import Any

from toolfmt.testing.peers import event_dicts
from toolfmt.testing.peers.claims import Claims, Factory, Tools, by_name, claimed, found, missing
from toolfmt.testing.peers.tokens import markers_of


class MlxLmReader:
    """One output in the server: text as it arrives, calls after their end marker.

    Errors of the parser of the kind `dropped` only lose the call.
    """

    def __init__(self, module: Any, wrapper: Any, tools: Tools, dropped: type[Exception] = ValueError) -> None:
        machine = _mlx_lm("mlx_lm.generate").make_text_state_machine(wrapper)
        self._module = module
        self._dropped = dropped
        self._tools = None if tools is None else list(tools)
        self._machine = machine
        self._before = wrapper.response_initial_state or "normal"
        self._state = machine.make_state(self._before)
        self._gathered = ""
        self._calls = 0

    def feed(self, text: str) -> Iterator[event_dicts.EventDict]:
        self._state, segments = self._machine.split(self._state, text)
        for state, part in segments:
            if state == "reasoning":
                yield from event_dicts.reasoning(part)
            elif state == "tool":
                self._gathered += part
            elif state == "normal":
                if self._before == "tool":
                    yield from self._call()
                yield from event_dicts.content(part)
            self._before = state

    def finish(self) -> Iterator[event_dicts.EventDict]:
        if self._before == "tool" and self._gathered:
            yield from self._call()

    def _call(self) -> Iterator[event_dicts.EventDict]:
        text, self._gathered = self._gathered, ""
        try:
            with warnings.catch_warnings(action="ignore"):  # ast.parse complains about escapes
                parsed = self._module.parse_tool_call(text, self._tools)
        except self._dropped:  # the server logs it and continues
            return
        for call in parsed if isinstance(parsed, list) else [parsed]:
            arguments = json.dumps(call["arguments"], ensure_ascii=False)
            yield from event_dicts.whole_call(self._calls, call["name"], arguments)
            self._calls += 1


def reader(parser: str, variants: Claims, tools: Tools) -> MlxLmReader:
    """Return a reader with a module of `mlx_lm.tool_parsers`, for a vocabulary with the markers of these formats."""
    module = _mlx_lm(f"mlx_lm.tool_parsers.{parser}")
    return MlxLmReader(module, wrapper(module, dict.fromkeys(markers_of(variants), 0), _response_format(parser)), tools)


def wrapper(module: Any, vocabulary: Any, response_format: Any = None) -> Any:
    """Return what the state machine needs of mlx-lm's `TokenizerWrapper` for a tool parser's module."""
    utils = _mlx_lm("mlx_lm.tokenizer_utils")
    tokenizer = SimpleNamespace(get_vocab=lambda: vocabulary, encode=lambda text, **_: [0])
    think_start, think_end, *_ = utils._infer_thinking(tokenizer)
    return SimpleNamespace(
        has_thinking=think_start is not None,
        think_start=think_start,
        think_end=think_end,
        has_tool_calling=True,
        tool_call_start=module.tool_call_start,
        tool_call_end=module.tool_call_end,
        structural_markers=utils._infer_structural_markers(tokenizer),
        response_transitions=(response_format or {}).get("transitions", {}),
        response_initial_state=(response_format or {}).get("initial_state"),
    )


def _response_format(parser: str) -> Any:
    """Return the response format of the model that a parser is named after, if mlx-lm has a module for it."""
    try:
        return getattr(import_module(f"mlx_lm.chat_templates.{parser}"), "RESPONSE_FORMAT", None)
    except ModuleNotFoundError:
        return None


def _mlx_lm(name: str) -> Any:
    try:
        return import_module(name)
    except ModuleNotFoundError as error:
        raise missing(__name__, "mlx-lm 0.32", error, "pip install 'mlx-lm[cpu]'") from error


@cache
def factories() -> dict[str, Factory]:
    """Return every parser that supports some format, by name."""
    return by_name(
        Factory(name, parser, variants, "mlx-lm", partial(reader, parser, variants))
        for name, (parser, variants) in claimed("mlx-lm").items()
    )


def __getattr__(name: str) -> Factory:
    factory = found(__name__, factories(), name)
    _mlx_lm("mlx_lm.generate")  # imported here, because the time limit of the first output is shorter
    return factory


def __dir__() -> list[str]:
    return [*globals(), *factories()]
