"""A function tag with parameter tags and raw values in it, inside `<tool_call>`.

    <tool_call>
    <function=get_weather>
    <parameter=city>
    Paris
    </parameter>
    </function>
    </tool_call>

Exactly one newline on each side of a value belongs to the tags. MiMo writes values without newlines and nothing between
calls. FrogBoss writes no `<tool_call>` and indents parameters by two spaces. Values are raw: only the tool's schema
distinguishes a string `3` from a number, and two thirds of the templates write Python's `True` and `None`. Models
sometimes drop the first `<tool_call>` or put two functions into one block; both are parsed. Step 5 is served with Step
3.5's parser.
"""

from dataclasses import replace

from toolfmt.formats.engines.alternatives import Choice
from toolfmt.formats.engines.foreign import JSON_IN_TOOLS
from toolfmt.formats.engines.tagged import FUNCTION_TAGS
from toolfmt.formats.format import ToolCallFormat
from toolfmt.formats.runtime_parsers import RuntimeParser

_BARE = replace(FUNCTION_TAGS, opener="", closer="", unframed_openers=(), value_newline="")
FORMAT = ToolCallFormat(
    name="xml_function",
    engine=Choice(FUNCTION_TAGS, JSON_IN_TOOLS),
    variants={
        "calls on one line": replace(FUNCTION_TAGS, between_calls=""),
        "values on the line of their tags": replace(FUNCTION_TAGS, between_calls="", value_newline=""),
        "without a frame": replace(_BARE, key_opener="  <parameter="),
    },
    page=__doc__ or "",
    instructions=(
        "To call a tool, write <tool_call>, then <function=NAME> with the tool's name, then each argument between "
        "<parameter=KEY> and </parameter> on lines of its own, then </function> and </tool_call>. Write strings as "
        "they are, other values as JSON."
    ),
    source=(
        "chat templates of Qwen/Qwen3-Coder-30B-A3B-Instruct, nvidia/NVIDIA-Nemotron-3-Nano-30B-A3B-BF16, MiMo",
        "0xSero/step-5-preview-spark, README: Step 5 in vLLM with the parser step3p5",
        "vLLM's reasoning parser granite_thinking_parser: Granite 4.2 writes the calls of Nemotron 3",
        "chat templates of IQuestLab/IQuest-Coder-V1-7B-Base, IQuest-Coder-V1-40B-Loop-Thinking",
    ),
    aliases=(
        "xmlFunction", "qwen3_coder", "qwen3_xml", "mimo", "step3p5", "step5", "nemotron3", "nemotron_3",
        "nanbeige", "trinity",
    ),
    families=(
        "Qwen3-Coder", "Qwen3-Next Coder", "Nemotron 3", "Step 3.5/3.7/5", "Nanbeige", "MiMo", "Granite 4.2",
        "IQuest Coder V1",
    ),
    model_types=(
        "qwen3_next", "nemotron_h", "mimo", "mimo_v2_flash", "step3p5", "step3p7", "step5", "step5_vl", "nanbeige",
    ),
    signatures=(r"<tool_call>(?:\\n|\s)*<function=", r"<function=function_name>\\n *<parameter="),
    runtime_parsers={
        "vLLM": RuntimeParser(
            "qwen3_coder",
            {
                "mimo": ("mimo_v2_flash",),
                "step3p5": ("step3p5", "step3p7"),
                "step5": ("step5", "step5_vl"),
                "qwen3_xml": (),
            },
        ),
        "SGLang": RuntimeParser(
            "qwen3_coder", {"mimo": ("mimo_v2_flash",), "step3p5": ("step3p5", "step3p7"), "nanbeige": ("nanbeige",)}
        ),
        "mlx-lm": "qwen3_coder",
        "mlx-swift-lm": RuntimeParser("xml_function", {"qwen3_5": ("qwen3_5", "qwen3_5_moe", "qwen3_5_text")}),
        "llama.cpp": "auto",
    },
)  # fmt: skip
