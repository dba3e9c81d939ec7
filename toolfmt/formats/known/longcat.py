"""The name, then each key and each value in a pair of LongCat's own tags.

    <longcat_tool_call>get_weather
    <longcat_arg_key>city</longcat_arg_key>
    <longcat_arg_value>Paris</longcat_arg_value>
    </longcat_tool_call>

LongCat Flash Lite and LongCat 2.0 write this. The first of the family, LongCat Flash Chat, writes one JSON object with
`name` and `arguments` in the same `<longcat_tool_call>` block, with the next block directly after the end marker; that
is parsed too. Values between tags are raw: only the tool's schema distinguishes a string `3` from a number. A call
without arguments is just the name, on a separate line.
"""

from toolfmt.formats.engines.alternatives import Choice
from toolfmt.formats.engines.json_object import JsonObject
from toolfmt.formats.engines.tagged import Tagged
from toolfmt.formats.format import THINK, ToolCallFormat
from toolfmt.formats.runtime_parsers import RuntimeParser

_TAGGED = Tagged(
    opener="<longcat_tool_call>",
    closer="</longcat_tool_call>",
    key_opener="<longcat_arg_key>",
    key_closer="</longcat_arg_key>",
    value_opener="<longcat_arg_value>",
    value_closer="</longcat_arg_value>",
    enclosing=("", "\n"),
    between_calls="\n</longcat_tool_call>\n<longcat_tool_call>",
)
_JSON = JsonObject(opener="<longcat_tool_call>", closer="</longcat_tool_call>", between="\n", separator="")

FORMAT = ToolCallFormat(
    name="longcat",
    engine=Choice(_TAGGED, _JSON),
    variants={"a JSON object": _JSON},
    page=__doc__ or "",
    instructions=(
        "To call a tool, write its name after <longcat_tool_call>, then each argument's key between <longcat_arg_key> "
        "and </longcat_arg_key> and its value between <longcat_arg_value> and </longcat_arg_value>, then "
        "</longcat_tool_call>. Write strings as they are, other values as JSON."
    ),
    source=(
        "chat templates of meituan-longcat/LongCat-Flash-Lite, LongCat-2.0",
        "chat template of meituan-longcat/LongCat-Flash-Chat, for the JSON object",
    ),
    aliases=("longcat_flash", "longcat2"),
    families=("LongCat Flash", "LongCat Flash Lite", "LongCat 2.0"),
    model_types=("longcat_flash", "longcat_flash_ngram"),
    signatures=(r"<longcat_tool_call>",),
    runtime_parsers={
        "vLLM": RuntimeParser("longcat", remark="parses only the JSON calls of LongCat Flash Chat"),
        "mlx-lm": "longcat",
        "llama.cpp": "auto",
    },
    reasoning=(("<longcat_think>", "</longcat_think>"), THINK),
)
