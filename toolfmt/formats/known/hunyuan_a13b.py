"""A JSON list of calls between `<tool_calls>` and `</tool_calls>`.

    <tool_calls>[{"name": "get_weather", "arguments": {"city": "Paris"}}]</tool_calls>

All calls of a turn are in one list. If the model reasons first, the text after the reasoning is between `<answer>`
and `</answer>`, which are dropped. Plain responses may start with `助手：`, which comes from the template and stays
text. The smaller and newer Hunyuan models use other formats.
"""

from toolfmt.formats.engines.json_object import JsonObject
from toolfmt.formats.format import ToolCallFormat

FORMAT = ToolCallFormat(
    name="hunyuan_a13b",
    engine=JsonObject(
        opener="<tool_calls>",
        closer="</tool_calls>",
        unframed_openers=("[",),
        enclosing=("[", "]"),
        separator=", ",
    ),
    page=__doc__ or "",
    instructions=(
        "To call tools, answer with a JSON list between <tool_calls> and </tool_calls>; each call in it is an object "
        "that holds the tool's name and its arguments."
    ),
    source=(
        "chat template of tencent/Hunyuan-A13B-Instruct (vLLM, examples/tool_chat_template_hunyuan_a13b.jinja)",
        "vLLM, tests of the tool parser hunyuan_a13b",
    ),
    families=("Hunyuan A13B",),
    model_types=("hunyuan_v1_moe",),
    signatures=(r'<tool_calls>\[\{"name": "func_name1"', "函数组合专家"),
    runtime_parsers={"vLLM": "hunyuan_a13b"},
    content_markers=(("<answer>", "</answer>"),),
    headers=(r"<\|extra_0\|>",),
)
