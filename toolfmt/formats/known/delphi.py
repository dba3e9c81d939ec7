"""One JSON object per call, between `<|tool_call|>` and `<|tool_call_end|>`.

    <|tool_call|>
    {"name": "get_weather", "arguments": {"city": "Paris"}}
    <|tool_call_end|>

The format of Marin's Delphi and Grug models, whose tokenizer is that of Llama 3 with six reserved tokens renamed.
Reasoning is between `<|start_think|>` and `<|end_think|>`; the start marker may be part of the prompt.
"""

from toolfmt.formats.engines.json_object import JsonObject
from toolfmt.formats.format import THINK, ToolCallFormat

FORMAT = ToolCallFormat(
    name="delphi",
    engine=JsonObject(opener="<|tool_call|>", closer="<|tool_call_end|>", between="\n"),
    page=__doc__ or "",
    instructions=(
        "To call a tool, write a JSON object that holds the tool's name and its arguments between <|tool_call|> and "
        "<|tool_call_end|>. Write one such block for each call."
    ),
    source=(
        "chat template of marin-community/grug-67b-a2b-sft-s2-thinking-step630",
        "marin-community/marin, Delphi v0 chat template",
    ),
    aliases=("grug", "marin_delphi"),
    families=("Marin Delphi", "Marin Grug"),
    signatures=(r"<\|tool_call\|>(?:\\n|\s)*\{\"name", r"<\|tool_result_end\|>"),
    reasoning=(("<|start_think|>", "<|end_think|>"), THINK),
)
