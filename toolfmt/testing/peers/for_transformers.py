"""transformers' response parser with the templates of `transformers serve` for models that declare none.

Streaming (`qwen3_5`) and whole (`qwen3_5_whole`, like `tokenizer.parse_response`). Written for transformers 5.23:
`utils/chat_parsing/response_parser.py`, `cli/serving/utils.py` (torch is not needed). A factory is named after the
first model type that its template is for. Its format is that of the template
(`toolfmt.formats.response_template.reader`). An output follows the template's own anchor. When streaming, an error at
the end is logged and the rest dropped, as in the server. Any other error is raised, in the middle of a stream and for a
whole output.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from functools import cache, partial
from importlib import import_module
from typing import Any

from toolfmt.formats.response_template.reader import from_response_template
from toolfmt.testing.peers import event_dicts
from toolfmt.testing.peers.claims import Factory, Tools, by_name, found, missing, python_name


class TransformersReader:
    """One output, streamed."""

    def __init__(self, template: dict[str, Any], tools: Tools) -> None:
        utils = _transformers("transformers.cli.serving.utils")
        parser = _transformers("transformers.utils.chat_parsing.response_parser").ResponseParser
        self._chunks = utils.response_events_to_chunks
        self._tool_call = utils.ToolCall
        self._reasoning = utils.ReasoningText
        self._parser = parser(template, prefix=_prefix(template), tools=tools)
        self._calls = 0

    def feed(self, text: str) -> Iterator[event_dicts.EventDict]:
        yield from self._events(self._parser.feed(text))

    def finish(self) -> Iterator[event_dicts.EventDict]:
        try:
            _, events = self._parser.finalize()
        except (ValueError, RuntimeError):  # the server logs it
            return
        yield from self._events(events)

    def _events(self, events: list[dict[str, Any]]) -> Iterator[event_dicts.EventDict]:
        for item in self._chunks(events):
            if isinstance(item, self._tool_call):
                yield from event_dicts.whole_call(self._calls, item.name, item.arguments)
                self._calls += 1
            elif isinstance(item, self._reasoning):
                yield from event_dicts.reasoning(str(item))
            else:
                yield from event_dicts.content(item)


def whole(template: dict[str, Any], tools: Tools) -> Callable[[str], dict[str, Any]]:
    parse_response = _transformers("transformers.utils.chat_parsing.response_parser").parse_response

    def read(text: str) -> dict[str, Any]:
        message = parse_response(text, template, prefix=_prefix(template), tools=tools)
        functions = [call["function"] for call in message.get("tool_calls") or []]
        calls = [(function["name"], json.dumps(function["arguments"])) for function in functions]
        return event_dicts.message(message.get("content"), calls, message.get("reasoning_content"))

    return read


def served() -> dict[str, dict[str, Any]]:
    """Return the templates of `transformers serve`, by the first model type of each."""
    templates = _transformers("transformers.cli.serving.utils")._RESPONSE_TEMPLATE_FALLBACKS
    return {types[0]: template for types, template in templates.items()}


def _prefix(template: dict[str, Any]) -> str:
    """Return what precedes an output."""
    anchor = template["start_anchor"]
    return anchor if isinstance(anchor, str) else str(anchor[0])


def _transformers(name: str) -> Any:
    try:
        return import_module(name)
    except ImportError as error:
        raise missing(__name__, "transformers 5.23", error, "pip install 'transformers>=5.23'") from error


@cache
def factories() -> dict[str, Factory]:
    """Return a factory for every template, streaming and whole, by name.

    Raises `ImportError` if the installed transformers does not have them.
    """
    made = []
    for model_type, template in served().items():
        name, variants = python_name(model_type), {from_response_template(template).name: ("",)}
        made.append(Factory(name, model_type, variants, "transformers", partial(TransformersReader, template)))
        made.append(Factory(f"{name}_whole", model_type, variants, "transformers", partial(whole, template)))
    return by_name(made)


def __getattr__(name: str) -> Factory:
    if name.startswith("__"):
        raise AttributeError(name)  # the import system reads these before anything is imported
    factory = found(__name__, factories(), name)
    _transformers(
        "transformers.utils.chat_parsing.response_parser"
    )  # in advance, because the time limit of the first output is shorter
    return factory


def __dir__() -> list[str]:
    return [*globals(), *factories()]
