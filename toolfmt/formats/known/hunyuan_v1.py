"""The tool's name and its arguments as JSON in a code fence, one tag per call and one around all calls.

    <tool_calls><tool_call>get_weather
    ```json
    {"city": "Paris"}
    ```</tool_call></tool_calls>

Calls are separated by a newline. The fence, the outer tags or the last end markers may be missing. (Hunyuan A13B and 7B
write a list of objects between the same outer tags: `hunyuan_a13b`. Hunyuan 3 is `hunyuan_v3`.)
"""

from toolfmt.formats.engines.named_json import NamedJson
from toolfmt.formats.format import ToolCallFormat

FORMAT = ToolCallFormat(
    name="hunyuan_v1",
    engine=NamedJson(
        opener="<tool_calls>",
        closer="</tool_calls>",
        call_opener="<tool_call>",
        separator="\n",
        fence=("```json\n", "\n```"),
        call_closer="</tool_call>",
        between="\n",
    ),
    page=__doc__ or "",
    instructions=(
        "To call tools, write <tool_calls>, then for each call <tool_call>, the tool's name, its arguments as a JSON "
        "object in a json code fence on the next line and </tool_call>, then </tool_calls>."
    ),
    source=("chat templates of tencent/Hunyuan-0.5B-Instruct, Hunyuan-4B-Instruct, HY-Embodied-0.5",),
    aliases=("hunyuan_dense", "hunyuan_v1_dense"),
    families=("Hunyuan 0.5B, 1.8B, 4B", "Hy-Embodied"),
    model_types=("hunyuan_v1_dense",),
    signatures=(r"<tool_calls><tool_call>",),
    runtime_parsers={"llama.cpp": "auto"},
)
