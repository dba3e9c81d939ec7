"""Blocks with one JSON object each, all of them between `<tool_calls>` and `</tool_calls>`.

    <tool_calls>
    <tool_call>
    {"name": "get_weather", "arguments": {"city": "Paris"}}
    </tool_call>
    </tool_calls>

Step3-VL puts a second pair of tags around the calls of a turn, which are those of `json`. A `<tool_call>` block without
them is parsed too. The model may start its calls before it closes its reasoning.
"""

from toolfmt.formats.engines.json_object import JsonObject
from toolfmt.formats.format import ToolCallFormat
from toolfmt.formats.runtime_parsers import RuntimeParser

FORMAT = ToolCallFormat(
    name="step3_vl",
    engine=JsonObject(
        opener="<tool_calls>\n<tool_call>",
        closer="</tool_call>\n</tool_calls>",
        also=("<tool_calls><tool_call>", "<tool_call>"),
        also_closers=("</tool_call></tool_calls>", "</tool_call>"),
        enclosing=("\n", "\n"),
        separator="\n</tool_call>\n<tool_call>\n",
    ),
    page=__doc__ or "",
    instructions=(
        "To call tools, write <tool_calls>, then for each call a JSON object that holds the tool's name and its "
        "arguments, between <tool_call> and </tool_call> tags, then </tool_calls>."
    ),
    source=("chat template of stepfun-ai/Step3-VL-10B", "SGLang cookbook, Step3-VL-10B"),
    aliases=("step3-vl", "step3_vl_10b"),
    families=("Step3-VL",),
    model_types=("step_robotics",),
    signatures=(r"<tool_calls>(?:\\n|\s)*<tool_call>(?:\\n|\s)*\{",),
    runtime_parsers={
        "SGLang": "hermes",
        "mlx-lm": RuntimeParser("json_tools", remark="leaves the outer tags as text"),
        "mlx-swift-lm": RuntimeParser("json", remark="leaves the outer tags as text"),
        "llama.cpp": "auto",
    },
)
