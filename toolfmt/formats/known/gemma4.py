"""Gemma 4's calls: bare keys, strings between `<|"|>` markers.

    <|tool_call>call:get_weather{city:<|"|>Paris<|"|>,days:3}<tool_call|>

Strings are verbatim, so most strings with `<|"|>` cannot be written. Keys are sorted, as in the
templates. Null is `null` in the newer templates and `None` in the first one. Words without markers are parsed as
strings if they are neither a number nor a literal. Several calls follow each other; the model then stops at
`<|tool_response>`. Parentheses, `=` and plain quotes, which checkpoints write, are tolerances. The same is true of
`<|tool_call|>`, and, for declared tools, of calls without `call` or with `_call`, of a namespace before the name
(`call:default_api:NAME{…}`), and of `call:NAME{…}` whose control tokens a runtime stripped.
"""

from toolfmt.formats.engines.call_expression import CallExpression
from toolfmt.formats.format import THINK, ToolCallFormat
from toolfmt.formats.values.syntaxes import BetweenMarks
from toolfmt.formats.values.value_writers import MarkedValues

_OPENER, _CLOSER = "<|tool_call>", "<tool_call|>"
_MARK = '<|"|>'
_ENGINE = CallExpression(
    opener=_OPENER,
    closer=_CLOSER,
    damaged_openers=("<|tool_call|>",),
    left=("<|tool_call|>",),
    unframed_openers=("call:", "_call:"),
    lead="call:",
    brackets=("{", "}"),
    assign=":",
    separator=",",
    key_order="alphabetical",
    notation=BetweenMarks(_MARK),
    written=MarkedValues(_MARK, keys="marked"),
)
FORMAT = ToolCallFormat(
    name="gemma4",
    engine=_ENGINE,
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
    runtime_parsers={
        "vLLM": "gemma4",
        "SGLang": "gemma4",
        "mlx-lm": "gemma4",
        "mlx-swift-lm": "gemma4",
        "llama.cpp": "auto",
    },
    ignored_markers=("<|tool_response>", "<turn|>"),
    reasoning=(("<|channel>thought", "<channel|>"), ("<|channel>", "<channel|>"), THINK),
)
