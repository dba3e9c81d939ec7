"""Use the parser that mlx-lm infers for a template, in the same way as mlx-lm's server.

`inferred` returns None if mlx-lm finds no parser or is not installed (`AVAILABLE`). Unclear cases are decided in favor
of mlx-lm: the vocabulary contains whatever the template and its prompt contain; a text ends at the end-of-sequence
token; no reasoning block hides a call; an unreadable call does not affect the others; arguments may be an object or
JSON text. Errors of mlx-lm's parsers are not raised.
"""

from __future__ import annotations

import importlib
import importlib.util
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

from toolfmt.testing.peers import for_mlx_lm
from toolfmt.testing.peers.event_dicts import calls_of

AVAILABLE = importlib.util.find_spec("mlx_lm") is not None
_END_OF_SEQUENCE = "</s>"  # the eos_token of the templates, and Mistral's own


@dataclass(frozen=True)
class _Vocabulary:
    """Every token of a text: mlx-lm queries it only with `in`."""

    text: str

    def __contains__(self, token: str) -> bool:
        return token in self.text


@dataclass(frozen=True)
class MlxLmParser:
    """A module of `mlx_lm.tool_parsers` in the server's loop."""

    name: str
    _module: Any

    def read(self, pieces: Iterable[str], tools: Sequence[Any]) -> list[tuple[Any, Any]]:
        """The calls, as (name, arguments), of an output that arrives in these chunks."""
        without_reasoning = for_mlx_lm.wrapper(self._module, {})
        reader = for_mlx_lm.MlxLmReader(self._module, without_reasoning, tools, dropped=Exception)
        events = [event for piece in pieces for event in reader.feed(piece)]
        return [(name, _object(arguments)) for name, arguments in calls_of([*events, *reader.finish()])]


def inferred(template: str, prompt: str) -> MlxLmParser | None:
    """The parser that mlx-lm selects for a template that renders this prompt."""
    if not AVAILABLE:
        return None
    tokenizer = SimpleNamespace(chat_template=template, get_vocab=lambda: _Vocabulary(template + prompt))
    name = importlib.import_module("mlx_lm.tokenizer_utils")._infer_tool_parser(tokenizer)
    if name is None:
        return None
    module = importlib.import_module(f"mlx_lm.tool_parsers.{name}")
    return MlxLmParser(name, module)


def until_the_end(text: str) -> str:
    """What a model would have written of a rendered turn: its server never sees what follows the end token."""
    return text.partition(_END_OF_SEQUENCE)[0]


def _object(text: str) -> Any:
    """The arguments as JSON; text that is not JSON, inside or out, is unchanged."""
    value: Any = text
    while isinstance(value, str):
        try:
            value = json.loads(value)
        except ValueError:
            break
    return value
