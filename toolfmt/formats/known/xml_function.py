"""A function tag with parameter tags in it, values raw between them, inside `<tool_call>`.

    <tool_call>
    <function=get_weather>
    <parameter=city>
    Paris
    </parameter>
    </function>
    </tool_call>

Exactly one newline on each side of a value belongs to the frame; MiMo writes values without any. Values are raw: only
the tool's schema tells a string `3` from a number, and two thirds of the templates write Python's `True` and `None`.
Models drop the first `<tool_call>` now and then, and put two functions into one frame; both are read.
"""

from dataclasses import replace

from toolfmt.formats.format import ToolCallFormat
from toolfmt.formats.tagged import Tagged

_ENGINE = Tagged(
    opener="<tool_call>",
    closer="</tool_call>",
    name_opener="<function=",
    name_closer=">",
    call_closer="</function>",
    key_opener="<parameter=",
    key_closer=">",
    bare=("<function=",),
    value_closer="</parameter>",
    line="\n",
)
FORMAT = ToolCallFormat(
    name="xml_function",
    engine=_ENGINE,
    variants={
        "values on the line of their tags": replace(_ENGINE, line=""),
        "without a frame": replace(_ENGINE, opener="", closer="", bare=(), line=""),
    },
    page=__doc__ or "",
    instructions=(
        "To call a tool, write <tool_call>, then <function=NAME> with the tool's name, then each argument between "
        "<parameter=KEY> and </parameter> on lines of its own, then </function> and </tool_call>. Write strings as "
        "they are, other values as JSON."
    ),
    source=("chat templates of Qwen/Qwen3-Coder-30B-A3B-Instruct, nvidia/NVIDIA-Nemotron-3-Nano-30B-A3B-BF16, MiMo",),
    aliases=("xmlFunction", "qwen3_coder", "qwen3_xml", "mimo", "step3p5", "nemotron3", "nemotron_3"),
    families=("Qwen3-Coder", "Qwen3-Next Coder", "Nemotron 3", "Step 3.5", "Nanbeige", "MiMo"),
    model_types=(
        "qwen3_next", "qwen3_5", "qwen3_5_moe", "nemotron_h", "mimo", "mimo_v2_flash", "step3p5", "step3p7", "nanbeige",
    ),
    signatures=(r"<function=(?!example)",),
    elsewhere={
        "vLLM": "qwen3_coder", "SGLang": "qwen3_coder", "mlx-lm": "qwen3_coder", "mlx-swift-lm": "xmlFunction",
        "llama.cpp": "auto",
    },
)  # fmt: skip
