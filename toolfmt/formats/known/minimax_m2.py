"""Tags with quoted names: all calls of a turn are `<invoke>`s in one `<minimax:tool_call>`.

    <minimax:tool_call>
    <invoke name="get_weather">
    <parameter name="city">Paris</parameter>
    </invoke>
    <invoke name="now">
    </invoke>
    </minimax:tool_call>

Newlines around a value are part of it. Values are raw and nothing in them is escaped: only the tool's schema
distinguishes a string `3` from a number. The prompt ends with `<think>`.

If an agent's prompt shows no format, the models fall back to `[TOOL_CALL]{tool => "NAME", args => {--key "value"}}
[/TOOL_CALL]`, or put a JSON object with the keys `tool` and `args` there; both are parsed.
"""

from dataclasses import replace

from toolfmt.formats.engines.alternatives import Choice
from toolfmt.formats.engines.flags import Flags
from toolfmt.formats.engines.tagged import INVOKE_TAGS
from toolfmt.formats.format import ToolCallFormat

FORMAT = ToolCallFormat(
    name="minimax_m2",
    engine=Choice(
        replace(INVOKE_TAGS, opener="<minimax:tool_call>", closer="</minimax:tool_call>"),
        Flags(opener="[TOOL_CALL]", closer="[/TOOL_CALL]"),
    ),
    page=__doc__ or "",
    instructions=(
        'To call tools, write <minimax:tool_call>, then for each call <invoke name="NAME"> with the tool\'s name, each '
        'argument between <parameter name="KEY"> and </parameter>, and </invoke>, then </minimax:tool_call>. Write '
        "strings as they are, other values as JSON."
    ),
    source=(
        "chat templates of MiniMaxAI/MiniMax-M2, M2.1, M2.5, M2.7",
        "outputs with [TOOL_CALL] that users of agents and of LM Studio (its bug tracker, #1177) have reported",
    ),
    aliases=("minimax-m2", "minimaxM2"),
    families=("MiniMax M2", "MiniMax M2.1", "MiniMax M2.5", "MiniMax M2.7"),
    model_types=("minimax_m2",),
    signatures=(r"<minimax:tool_call>",),
    runtime_parsers={
        "vLLM": "minimax_m2", "SGLang": "minimax-m2", "mlx-lm": "minimax_m2", "mlx-swift-lm": "minimax_m2",
        "llama.cpp": "auto",
    },
)  # fmt: skip
