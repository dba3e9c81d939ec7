"""One JSON object per call, between `<tool_call>` and `</tool_call>`, as ERNIE 4.5's thinking models write it.

    <tool_call>
    {"name": "get_weather", "arguments": {"city": "Paris"}}
    </tool_call>

The calls are those of `json`; the text around them differs. Text for the user is between `<response>` and
`</response>`, which are special tokens and not content. The prompt starts the reasoning with `<think>`, blank lines
follow its end marker, and several calls are several blocks, each with a newline after it.
"""

from toolfmt.formats.engines.json_object import JsonObject
from toolfmt.formats.format import ToolCallFormat

FORMAT = ToolCallFormat(
    name="ernie45",
    engine=JsonObject(opener="<tool_call>", closer="</tool_call>", between="\n"),
    page=__doc__ or "",
    instructions=(
        "To call a tool, answer with a JSON object that holds the tool's name and its arguments, between <tool_call> "
        "and </tool_call> tags. Write one such block for each call."
    ),
    source=(
        "vLLM, tool and reasoning parsers ernie45 and their tests with baidu/ERNIE-4.5-21B-A3B-Thinking",
        "PaddlePaddle/FastDeploy, tool parsers ernie-x1 and ernie-45-vl-thinking",
        "LLaMA-Factory, templates ernie and ernie_vl",
    ),
    aliases=("ernie4_5", "ernie-4.5", "ernie-x1", "ernie_x1", "ernie-45-vl-thinking"),
    families=("ERNIE 4.5 Thinking", "ERNIE 4.5 VL Thinking"),
    model_types=("ernie4_5", "ernie4_5_moe", "ernie4_5_vl_moe", "ernie4_5_moe_vl"),
    signatures=(r"<global_setting>", r"<tool_list>"),
    runtime_parsers={"vLLM": "ernie45"},
    content_markers=(("<response>", "</response>"),),
)
