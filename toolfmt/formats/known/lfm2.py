"""Calls written as Python, in a list, between `<|tool_call_start|>` and `<|tool_call_end|>`.

    <|tool_call_start|>[get_weather(city='Paris', days=3), now()]<|tool_call_end|>

Strings are in single or double quotes, literals are Python's or JSON's. The brackets of the list may be missing, and
some models write a JSON list of calls instead. If a runtime stripped the control tokens, a list of calls of declared
tools is parsed, as a tolerance. The LFM2.5 template quotes with `'` and escapes nothing. A quote inside such a value is
parsed as part of it if the text after it shows that the value continues. The call is rejected if another value may
start there.
"""

from dataclasses import replace

from toolfmt.formats.engines.call_expression import CallExpression
from toolfmt.formats.format import ToolCallFormat
from toolfmt.formats.values.syntaxes import CODE_CALL
from toolfmt.formats.values.value_writers import PythonBesideJson, PythonValues

_ENGINE = CallExpression(
    opener="<|tool_call_start|>",
    closer="<|tool_call_end|>",
    unframed_openers=("[",),
    named="(",
    notation=CODE_CALL,
    written=PythonBesideJson(),
    enclosing=("[", "]"),
)
FORMAT = ToolCallFormat(
    name="lfm2",
    engine=_ENGINE,
    variants={"strings in double quotes": replace(_ENGINE, written=PythonValues())},
    page=__doc__ or "",
    instructions=(
        "To call tools, answer with a list of Python function calls, arguments given by name, between "
        "<|tool_call_start|> and <|tool_call_end|>."
    ),
    source=("model card of LiquidAI/LFM2-1.2B, section Tool use", "chat template of LiquidAI/LFM2.5-8B-A1B"),
    aliases=("pythonic_lfm2", "lfm2_pythonic", "lfm2.5"),
    families=("LFM2", "LFM2.5", "LFM2-VL"),
    model_types=("lfm2", "lfm2_moe", "lfm2_vl", "lfm2-vl"),
    signatures=(r"<\|tool_list_start\|>", r"<\|tool_call_start\|>\["),
    runtime_parsers={
        "vLLM": "lfm2",
        "SGLang": "lfm2",
        "mlx-lm": "pythonic",
        "mlx-swift-lm": "lfm2",
        "llama.cpp": "auto",
    },
)
