"""The text `function`, the tool's name, and the arguments as JSON in a code fence, in one block for all calls.

    <｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>get_weather
    ```json
    {"city": "Paris"}
    ```<｜tool▁call▁end｜><｜tool▁calls▁end｜>

The bars are full-width, the spaces are U+2581. Calls are separated by a newline. Some templates render a single call
without the block's end marker, and models omit the fence, the block's markers or `function`. All of these are parsed,
and so is the header of V3.1, `get_weather<｜tool▁sep｜>{"city": "Paris"}`. R1's distills sometimes write the start
marker with ordinary underscores or spaces.
"""

from toolfmt.formats.engines.named_json import NamedJson
from toolfmt.formats.format import ToolCallFormat

FORMAT = ToolCallFormat(
    name="deepseek_v3",
    engine=NamedJson(
        opener="<｜tool▁calls▁begin｜>",
        closer="<｜tool▁calls▁end｜>",
        also=("<｜tool_calls_begin｜>", "<｜tool calls begin｜>", "<｜tool\\_calls\\_begin｜>", "<｜tool▁calls｜>"),
        call_opener="<｜tool▁call▁begin｜>",
        lead="function<｜tool▁sep｜>",
        separator="\n",
        also_separators=("<｜tool▁sep｜>",),
        fence=("```json\n", "\n```"),
        call_closer="<｜tool▁call▁end｜>",
        between="\n",
    ),
    page=__doc__ or "",
    instructions=(
        "To call tools, write <｜tool▁calls▁begin｜>, then for each call <｜tool▁call▁begin｜>function<｜tool▁sep｜>, "
        "the tool's name, its arguments as a JSON object in a json code fence on the next line and "
        "<｜tool▁call▁end｜>, then <｜tool▁calls▁end｜>."
    ),
    source=(
        "chat templates of deepseek-ai/DeepSeek-V3, DeepSeek-V3-0324, DeepSeek-R1, DeepSeek-R1-0528, DeepSeek-V2.5",
        "ggml-org/llama.cpp, its DeepSeek R1 parser: variants of the start marker",
    ),
    aliases=("deepseekv3", "deepseek_r1", "deepseek"),
    families=("DeepSeek V3", "DeepSeek R1", "DeepSeek R1 distills", "DeepSeek V2.5", "Skywork OR1", "MAI-DS-R1"),
    model_types=("deepseek_v3", "deepseek_v2"),
    signatures=(r"<｜tool▁call▁begin｜>(?:['\"]\s*[+~]\s*)?(?:(?:tool|tc)\[['\"]type['\"]\]|function<｜tool▁sep｜>)",),
    runtime_parsers={"vLLM": "deepseek_v3", "SGLang": "deepseekv3", "llama.cpp": "auto"},
)
