"""The tool's name, a separator and the arguments as JSON, in one block for all calls.

    <｜tool▁calls▁begin｜><｜tool▁call▁begin｜>get_weather<｜tool▁sep｜>{"city": "Paris"}<｜tool▁call▁end｜>
    <｜tool▁calls▁end｜>

The bars are full-width, the spaces are U+2581. There is no newline between the markers. The block's markers, or
only its end marker, may be missing. The header and the code fence of V3, `function<｜tool▁sep｜>get_weather` and a
json block, are parsed too.
"""

from toolfmt.formats.engines.named_json import NamedJson
from toolfmt.formats.format import ToolCallFormat

FORMAT = ToolCallFormat(
    name="deepseek_v31",
    engine=NamedJson(
        opener="<｜tool▁calls▁begin｜>",
        closer="<｜tool▁calls▁end｜>",
        call_opener="<｜tool▁call▁begin｜>",
        also_lead="function<｜tool▁sep｜>",
        separator="<｜tool▁sep｜>",
        also_separators=("\n",),
        call_closer="<｜tool▁call▁end｜>",
    ),
    page=__doc__ or "",
    instructions=(
        "To call tools, write <｜tool▁calls▁begin｜>, then for each call <｜tool▁call▁begin｜>, the tool's name, "
        "<｜tool▁sep｜>, its arguments as a JSON object and <｜tool▁call▁end｜>, then <｜tool▁calls▁end｜>."
    ),
    source=("chat template and model card of deepseek-ai/DeepSeek-V3.1", "chat template of DeepSeek-V3.2-Exp"),
    aliases=("deepseekv31", "deepseek_v3.1"),
    families=("DeepSeek V3.1", "DeepSeek V3.1 Terminus", "DeepSeek V3.2-Exp"),
    signatures=(r"<｜tool▁call▁begin｜>(?:'\s*[+~]\s*)?(?:tool\['function'\]\['name'\]|tool_call_name<｜tool▁sep｜>)",),
    runtime_parsers={"vLLM": "deepseek_v31", "SGLang": "deepseekv31", "llama.cpp": "auto"},
)
