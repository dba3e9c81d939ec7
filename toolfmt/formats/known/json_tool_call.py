"""One JSON object per call, between `<tool_call>` and `</tool_call>`.

    <tool_call>
    {"name": "get_weather", "arguments": {"city": "Paris"}}
    </tool_call>

The most common format: Hermes 2 and 3 introduced it, Qwen 2.5 and Qwen 3 made it widespread. Several calls are several
blocks. The newlines are optional, and an object without tags is parsed if the output or a line starts with it.
"""

from dataclasses import replace

from toolfmt.formats.engines.json_object import JsonObject
from toolfmt.formats.format import ToolCallFormat
from toolfmt.formats.runtime_parsers import RuntimeParser
from toolfmt.formats.values.json_layout import WrittenObject

_CLOSED_UP = WrittenObject(('{"name": ', "name", ', "arguments":', "arguments", "}"))
"""The object as Falcon H1 writes it: without a space before the arguments."""
_ENGINE = JsonObject(
    opener="<tool_call>",
    closer="</tool_call>",
    unframed_openers=("{", "[", "```"),
    between="\n",
    foreign=(("<tools>", "</tools>"), ("[TOOL_REQUEST]", "[END_TOOL_REQUEST]")),
)
FORMAT = ToolCallFormat(
    name="json",
    engine=_ENGINE,
    variants={
        "without newlines": replace(_ENGINE, between="", separator=""),
        "a call a line": replace(_ENGINE, between=""),
        "no newline between calls": replace(_ENGINE, separator=""),
        "no space before the arguments": replace(_ENGINE, written=_CLOSED_UP),
    },
    page=__doc__ or "",
    instructions=(
        "To call a tool, answer with a JSON object that holds the tool's name and its arguments, between <tool_call> "
        "and </tool_call> tags. Write one such block for each call."
    ),
    source=(
        "chat templates of NousResearch/Hermes-2-Pro-Llama-3-8B (tool_use), Qwen/Qwen2.5-7B-Instruct, Qwen/Qwen3-0.6B",
        "NousResearch/Hermes-Function-Calling, README",
        "ms-swift, agent template telechat3",
    ),
    aliases=("json_tools", "hermes", "qwen", "qwen25", "qwen3", "qwen3_json", "granite4"),
    families=(
        "Hermes 2/3", "Qwen 2.5", "Qwen 3", "QwQ", "Granite 4", "MiMo-VL", "Bielik", "Reka Edge", "Trinity Mini",
        "TeleChat 3",
    ),
    model_types=(
        "qwen2", "qwen2_moe", "qwen2_vl", "qwen2_5_vl", "qwen2_5_omni", "qwen3", "qwen3_moe", "qwen3_vl",
        "qwen3_vl_moe", "qwen3_omni_moe", "granitemoehybrid", "smollm3", "mimovl", "llada2_moe",
    ),
    signatures=(
        r"""(?<!<tool_calls>)(?<!<tool_calls>\n)(?<!<tool_calls>\\n)<tool_call>[\s\\n"'~+{}-]*["'](?:name|arg)""",
        r"<tool_call>\{\{\s*tool_call\.name",
    ),
    runtime_parsers={
        "vLLM": RuntimeParser("hermes", {"qwen3_json": (), "granite4": ()}),
        "SGLang": RuntimeParser("qwen25", {"hermes": (), "qwen": (), "trinity": ()}),
        "mlx-lm": "json_tools", "mlx-swift-lm": "json", "llama.cpp": "auto",
    },
)  # fmt: skip
