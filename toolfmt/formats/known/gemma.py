"""FunctionGemma's calls: bare keys, strings between `<escape>` markers.

    <start_function_call>call:get_weather{city:<escape>Paris<escape>,days:3}<end_function_call>

Strings stand verbatim, so one that holds the marker itself cannot be written. Keys are sorted, as the template sorts
them. Words without markers are read as strings where they are neither number nor literal.
"""

import re
from typing import Any

from toolfmt.formats.call_expression import CallExpression
from toolfmt.formats.format import ToolCallFormat
from toolfmt.formats.values import JSON, Notation, marked_string

_MARK = "<escape>"
_NOTATION = Notation(
    strings={_MARK: marked_string(_MARK), '"': JSON.strings['"']},
    words=JSON.words,
    generous={'"': "plain_quotes"},
    bare_keys="",
    bare_strings=re.compile(r"(?s).*\S.*"),
    word=re.compile(r'[^,:{}\[\]<>"\n]*'),
    text=re.compile(r"[^,{}\n]*"),
)


def _written(value: Any) -> str:
    if isinstance(value, str):
        return _MARK + value + _MARK
    if isinstance(value, dict):
        pairs = sorted(value.items(), key=lambda pair: pair[0].lower())
        return "{" + ",".join(f"{key}:{_written(inner)}" for key, inner in pairs) + "}"
    if isinstance(value, list):
        return "[" + ",".join(map(_written, value)) + "]"
    return str(value).lower() if isinstance(value, bool) else str(value)


FORMAT = ToolCallFormat(
    name="gemma",
    engine=CallExpression(
        opener="<start_function_call>",
        closer="<end_function_call>",
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
        "To call a tool, write <start_function_call>call:NAME{KEY:VALUE,…}<end_function_call>. Put strings between two "
        "<escape> markers; write other values plainly."
    ),
    source=("chat template of unsloth/functiongemma-270m-it", "Google AI for Developers, FunctionGemma formatting"),
    aliases=("function_gemma", "functiongemma"),
    families=("FunctionGemma",),
    model_types=("functiongemma",),
    signatures=(r"<start_function_call>",),
    elsewhere={"vLLM": "functiongemma", "mlx-lm": "function_gemma", "mlx-swift-lm": "gemma"},
)
