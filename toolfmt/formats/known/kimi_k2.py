"""A header with the call's id, `functions.NAME:N`, then the arguments as JSON, in a section for all calls.

    <|tool_calls_section_begin|><|tool_call_begin|>functions.get_weather:0<|tool_call_argument_begin|>{"city": "Paris"}
    <|tool_call_end|><|tool_calls_section_end|>

There is no whitespace between the markers. The number counts the calls of the whole conversation, and the whole header
is the id that the tool's result must have. After a history with different ids, the models write just the name, the name
and the number, or just the number. The first two are parsed (the first is a tolerance). The last names no tool and is
rejected. The section's markers may be missing or in the singular.
"""

from toolfmt.formats.engines.call_headers import INDEXED
from toolfmt.formats.engines.named_json import NamedJson
from toolfmt.formats.format import THINK, ToolCallFormat

FORMAT = ToolCallFormat(
    name="kimi_k2",
    engine=NamedJson(
        opener="<|tool_calls_section_begin|>",
        closer="<|tool_calls_section_end|>",
        also=("<|tool_call_section_begin|>",),
        also_closers=("<|tool_call_section_end|>",),
        call_opener="<|tool_call_begin|>",
        separator="<|tool_call_argument_begin|>",
        call_closer="<|tool_call_end|>",
        identity=INDEXED,
    ),
    page=__doc__ or "",
    instructions=(
        "To call tools, write <|tool_calls_section_begin|>, then for each call <|tool_call_begin|>, functions.NAME:N "
        "where N counts the calls of the conversation from 0, <|tool_call_argument_begin|>, the arguments as a JSON "
        "object and <|tool_call_end|>, then <|tool_calls_section_end|>."
    ),
    source=(
        "chat templates of moonshotai/Kimi-K2-Instruct-0905, Kimi-K2-Thinking, Kimi-K2.5, Kimi-Linear-48B-A3B-Instruct",
        "MoonshotAI/Kimi-K2, docs/tool_call_guidance.md",
    ),
    aliases=("kimiK2", "kimi", "kimi_k25", "kimi_linear"),
    families=("Kimi K2", "Kimi K2 Thinking", "Kimi K2.5 to 2.7", "Kimi Linear", "LLaDA 2.2"),
    model_types=("kimi_k2", "kimi_k25", "kimi_linear"),
    signatures=(r"<\|tool_calls_section_begin\|>", r"<\|tool_call_argument_begin\|>"),
    call_id="functions.{name}:{number}",
    runtime_parsers={
        "vLLM": "kimi_k2", "SGLang": "kimi_k2", "mlx-lm": "kimi_k2", "mlx-swift-lm": "kimi_k2", "llama.cpp": "auto",
    },
    reasoning=(THINK, ("◁think▷", "◁/think▷")),
)  # fmt: skip
