"""FunctionGemma's calls: bare keys, strings between `<escape>` markers.

    <start_function_call>call:get_weather{city:<escape>Paris<escape>,days:3}<end_function_call>

Strings are verbatim, so most strings with `<escape>` cannot be written. Keys are sorted, as in the
template. Words without markers are parsed as strings if they are neither a number nor a literal.
"""

from toolfmt.formats.engines.call_expression import CallExpression
from toolfmt.formats.format import ToolCallFormat
from toolfmt.formats.values.syntaxes import BetweenMarks
from toolfmt.formats.values.value_writers import MarkedValues

_OPENER, _CLOSER = "<start_function_call>", "<end_function_call>"
_MARK = "<escape>"

FORMAT = ToolCallFormat(
    name="gemma",
    engine=CallExpression(
        opener=_OPENER,
        closer=_CLOSER,
        unframed_openers=("call:",),
        lead="call:",
        brackets=("{", "}"),
        assign=":",
        separator=",",
        key_order="alphabetical",
        notation=BetweenMarks(_MARK),
        written=MarkedValues(_MARK, null="None"),
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
    runtime_parsers={"vLLM": "functiongemma", "mlx-lm": "function_gemma", "mlx-swift-lm": "gemma"},
)
