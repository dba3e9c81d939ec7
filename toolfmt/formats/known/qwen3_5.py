"""A function tag with parameter tags in it, inside `<tool_call>`; sometimes a JSON object in the same block.

    <tool_call>
    <function=get_weather>
    <parameter=city>
    Paris
    </parameter>
    </function>
    </tool_call>

The tags are those of Qwen3-Coder (`xml_function`): exactly one newline on each side of a value belongs to the tags,
values are raw, and only the tool's schema distinguishes a string `3` from a number. Qwen 3.5 is trained on the tags,
but the smaller models fall back to the format of Qwen 3, `<tool_call>{"name": …, "arguments": {…}}</tool_call>`. Both
are parsed, the tags are written. Qwen 3.8 sometimes writes calls in `<invoke name="…">`, bare or in
`<tml:function_calls>`; they are parsed as calls in the syntax of another format. The template of 3.5 writes Python's
`True` and `None`, those of 3.6 and 3.8 write JSON.
"""

from dataclasses import replace

from toolfmt.formats.engines.alternatives import Choice
from toolfmt.formats.engines.foreign import JSON_IN_TOOLS
from toolfmt.formats.engines.json_object import JsonObject
from toolfmt.formats.engines.tagged import FUNCTION_TAGS
from toolfmt.formats.format import ToolCallFormat
from toolfmt.formats.runtime_parsers import RuntimeParser

_TAGS_ONLY = "parses only the tag syntax; calls that small models write as JSON stay text"
FORMAT = ToolCallFormat(
    name="qwen3_5",
    engine=Choice(
        FUNCTION_TAGS,
        JsonObject(opener="<tool_call>", closer="</tool_call>", between="\n"),
        JSON_IN_TOOLS,
    ),
    variants={"a blank line between calls": replace(FUNCTION_TAGS, between_calls="\n\n")},
    page=__doc__ or "",
    instructions=(
        "To call a tool, write <tool_call>, then <function=NAME> with the tool's name, then each argument between "
        "<parameter=KEY> and </parameter> on lines of its own, then </function> and </tool_call>. Write strings as "
        "they are, other values as JSON."
    ),
    source=(
        "chat templates of Qwen/Qwen3.5-0.8B, Qwen3.6-35B-A3B, Qwen3.8-2.4T-A95B, internlm/Intern-S2-Preview-397B",
        "mlx-swift-lm, pull request 529 (JSON in the block)",
    ),
    aliases=("qwen35", "qwen3.5", "qwen3.6"),
    families=("Qwen 3.5", "Qwen 3.6", "Qwen 3.8", "Intern-S2"),
    model_types=("qwen3_5", "qwen3_5_moe", "qwen3_5_text", "qwen3_5_moe_text", "intern_s2_preview"),
    signatures=(r"(?s)Unexpected item type in content.*<function=(?!example)",),
    runtime_parsers={
        **dict.fromkeys(("vLLM", "SGLang", "mlx-lm"), RuntimeParser("qwen3_coder", remark=_TAGS_ONLY)),
        "mlx-swift-lm": RuntimeParser("qwen3_5", {"xml_function": ()}), "llama.cpp": "auto",
    },
)  # fmt: skip
