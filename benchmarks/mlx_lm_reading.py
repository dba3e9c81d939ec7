"""mlx-lm beside toolfmt: the parser that it infers for a template, used on a text the way its server uses it.

`inferred` is None where mlx-lm finds no parser, or is not installed (`AVAILABLE`). Every doubt is decided for mlx-lm:
the vocabulary, which a template alone does not bring, holds whatever the template and its prompt hold; a text ends at
the end-of-sequence token; no reasoning block hides a call; a call that cannot be read leaves the others; arguments may
come as an object or as JSON text. Nothing here raises on what its parsers do.
"""

from __future__ import annotations

import importlib
import importlib.util
import json
import warnings
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

AVAILABLE = importlib.util.find_spec("mlx_lm") is not None
_END_OF_SEQUENCE = "</s>"  # what the templates are given as eos_token, and Mistral's own


@dataclass(frozen=True)
class _Vocabulary:
    """Every token that stands in a text: mlx-lm asks with `in` and nothing else."""

    text: str

    def __contains__(self, token: str) -> bool:
        return token in self.text


@dataclass(frozen=True)
class MlxLmParser:
    """A module of `mlx_lm.tool_parsers` in the server's loop."""

    name: str
    _module: Any
    _machine: Any

    def read(self, pieces: Iterable[str], tools: Sequence[Any]) -> list[tuple[Any, Any]]:
        """The calls, as (name, arguments), of an answer that arrives in these pieces."""
        state, before, gathered = self._machine.make_state("normal"), "normal", ""
        calls: list[tuple[Any, Any]] = []
        for piece in pieces:
            state, segments = self._machine.split(state, piece)
            for current, text in segments:
                if current == "tool":
                    gathered += text
                elif before == "tool":
                    calls += self._calls(gathered, tools)
                    gathered = ""
                before = current
        return calls + self._calls(gathered, tools) if gathered else calls

    def _calls(self, text: str, tools: Sequence[Any]) -> list[tuple[Any, Any]]:
        try:
            with warnings.catch_warnings(action="ignore"):  # ast.parse complains about escapes
                parsed = self._module.parse_tool_call(text, tools)
            found = parsed if isinstance(parsed, list) else [parsed]
            return [(call["name"], _object(json.dumps(call["arguments"]))) for call in found]
        except Exception:  # noqa: BLE001  what it cannot read, its server logs and drops
            return []


def inferred(template: str, prompt: str) -> MlxLmParser | None:
    """The parser that mlx-lm takes for a template that renders this prompt."""
    if not AVAILABLE:
        return None
    tokenizer = SimpleNamespace(chat_template=template, get_vocab=lambda: _Vocabulary(template + prompt))
    name = importlib.import_module("mlx_lm.tokenizer_utils")._infer_tool_parser(tokenizer)
    if name is None:
        return None
    module = importlib.import_module(f"mlx_lm.tool_parsers.{name}")
    wrapper = SimpleNamespace(
        has_thinking=False,
        has_tool_calling=True,
        tool_call_start=module.tool_call_start,
        tool_call_end=module.tool_call_end,
        structural_markers=(),
        response_transitions={},
    )
    return MlxLmParser(name, module, importlib.import_module("mlx_lm.generate").make_text_state_machine(wrapper))


def until_the_end(text: str) -> str:
    """What of a rendered turn a model would have written: its server never sees what follows the end token."""
    return text.partition(_END_OF_SEQUENCE)[0]


def _object(text: str) -> Any:
    arguments = json.loads(text)
    return json.loads(arguments) if isinstance(arguments, str) else arguments
