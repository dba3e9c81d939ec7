"""One JSON object per call after two control tokens, with the arguments under the key `parameters`.

    <|action_start|><|plugin|>
    {"name": "get_weather", "parameters": {"city": "Paris"}}
    <|action_end|>

InternLM 2 omits the newline before the end marker. Decoders that put spaces between special tokens write one between
the two start tokens. `<|action_start|>` followed by `<|interpreter|>` contains code for the code interpreter: that is
not a tool call and stays text. Intern-S1-Pro uses the format `json` instead.
"""

from toolfmt.formats.engines.json_object import JsonObject
from toolfmt.formats.format import ToolCallFormat

FORMAT = ToolCallFormat(
    name="internlm",
    engine=JsonObject(
        opener="<|action_start|><|plugin|>",
        closer="<|action_end|>",
        also=("<|action_start|> <|plugin|>", "<|action_start|>\n<|plugin|>"),
        unframed_openers=("{",),
        between="\n",
        arguments_key="parameters",
    ),
    page=__doc__ or "",
    instructions=(
        "To call a tool, answer with a JSON object that holds the tool's name and its parameters, between "
        "<|action_start|><|plugin|> and <|action_end|>. Write one such block for each call."
    ),
    source=(
        "chat template of internlm/Intern-S1-mini",
        "InternLM/InternLM, chat/chat_format.md",
    ),
    aliases=("internlm2", "interns1", "intern_s1", "intern-s1"),
    families=("InternLM 2", "InternLM 2.5", "InternLM 3", "Intern-S1"),
    model_types=("internlm2", "internlm3", "interns1"),
    signatures=(r"<\|action_start\|>\s*<\|plugin\|>",),
    runtime_parsers={"vLLM": "internlm", "SGLang": "interns1", "llama.cpp": "auto"},
)
