"""Gemma 4's calls: bare keys, strings between `<|"|>` marks.

    <|tool_call>call:get_weather{city:<|"|>Paris<|"|>,days:3}<tool_call|>

Strings stand verbatim, so one that holds the mark itself cannot be written. Keys are sorted, as the templates sort
them; null is written so by the newer templates and as None by the first. Words without marks are read as strings where
they are neither number nor literal. Several calls follow one another; the model then stops at `<|tool_response>`.
"""

import re
from typing import Any

from toolfmt.formats.call_expression import CallExpression
from toolfmt.formats.format import THINK, ToolCallFormat
from toolfmt.formats.values import JSON, Notation, marked_string

_MARK = '<|"|>'
_WORD = re.compile(r'[^,:{}\[\]<>"\n]*')
_PLAIN = re.compile(r"[\w .$@/+-]+")
_NOTATION = Notation(
    strings={_MARK: marked_string(_MARK), '"': JSON.strings['"']},
    words=JSON.words,
    generous={'"': "plain_quotes"},
    bare_keys="",
    bare_strings=re.compile(r"(?s).*\S.*"),
    word=_WORD,
    text=re.compile(r"[^,{}\n]*"),
)


def _key(key: str) -> str:
    """A key of an inner object, between marks where it could not stand plainly."""
    return key if key == key.strip() and _PLAIN.fullmatch(key) else _MARK + key + _MARK


def _written(value: Any) -> str:
    if isinstance(value, str):
        return _MARK + value + _MARK
    if isinstance(value, dict):
        pairs = sorted(value.items(), key=lambda pair: pair[0].lower())
        return "{" + ",".join(f"{_key(key)}:{_written(inner)}" for key, inner in pairs) + "}"
    if isinstance(value, list):
        return "[" + ",".join(map(_written, value)) + "]"
    return "null" if value is None else str(value).lower() if isinstance(value, bool) else str(value)


FORMAT = ToolCallFormat(
    name="gemma4",
    engine=CallExpression(
        opener="<|tool_call>",
        closer="<tool_call|>",
        lead="call:",
        brackets=("{", "}"),
        assign=":",
        separator=",",
        sorted_keys=lambda key: key.lower(),
        notation=_NOTATION,
        written=_written,
    ),
    page=__doc__ or "",
    instructions=(
        "To call a tool, write <|tool_call>call:NAME{KEY:VALUE,…}<tool_call|>. Put strings between two "
        '<|"|> marks; write other values plainly.'
    ),
    source=(
        "chat templates of google/gemma-4-E4B-it, gemma-4-31B-it, diffusiongemma-26B-A4B-it",
        "Google AI for Developers, Function calling with Gemma 4",
    ),
    aliases=("gemma-4", "function_gemma4"),
    families=("Gemma 4", "DiffusionGemma"),
    model_types=("gemma4", "gemma4_text", "gemma4_unified", "diffusion_gemma"),
    signatures=(r"<\|tool_call>",),
    elsewhere={"vLLM": "gemma4", "SGLang": "gemma4", "mlx-lm": "gemma4", "mlx-swift-lm": "gemma4", "llama.cpp": "auto"},
    reasoning=(("<|channel>thought", "<channel|>"), THINK),
)
