"""JSON objects, one per line, between `<tool_calls>` and `</tool_calls>`, as MiniMax-M1 writes them.

    <tool_calls>
    {"name": "get_weather", "arguments": {"city": "Paris"}}
    {"name": "get_time", "arguments": {}}
    </tool_calls>

All calls of a response are in one block. The template of the model describes the objects with single quotes and renders
no calls; both kinds of quotes are parsed.
"""

from toolfmt.formats.engines.json_object import JsonObject
from toolfmt.formats.format import ToolCallFormat

FORMAT = ToolCallFormat(
    name="minimax_m1",
    engine=JsonObject(opener="<tool_calls>", closer="</tool_calls>", enclosing=("\n", "\n"), separator="\n"),
    page=__doc__ or "",
    instructions=(
        "To call tools, answer with JSON objects between <tool_calls> and </tool_calls>, one a line for each call, "
        "with the tool's name and its arguments."
    ),
    source=(
        "chat template and docs/function_call_guide.md of MiniMaxAI/MiniMax-M1-80k",
        "vLLM, examples/tool_chat_template_minimax_m1.jinja",
    ),
    aliases=("minimax", "minimax-m1"),
    families=("MiniMax M1",),
    model_types=("minimax_m1", "minimax_text_01"),
    signatures=(r"system tool_setting=tools",),
    runtime_parsers={"llama.cpp": "auto"},
)
