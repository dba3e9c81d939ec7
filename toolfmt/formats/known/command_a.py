"""A JSON list of actions between control tokens, each with an id that numbers the calls.

    <|START_ACTION|>[
        {"tool_call_id": "0", "tool_name": "get_weather", "parameters": {"city": "Paris"}}
    ]<|END_ACTION|>

All calls of a turn are in one list. The ids count up over the whole conversation, tool results refer to them, and they
become the ids of the calls. Plans and reasoning come before the actions, between `<|START_THINKING|>` and
`<|END_THINKING|>`. Text for the user is between `<|START_RESPONSE|>` and `<|END_RESPONSE|>`, or `<|START_TEXT|>` and
`<|END_TEXT|>` in newer models; these markers are dropped. Decoders that skip special tokens leave the bare list, which
is parsed too.
"""

from dataclasses import replace

from toolfmt.formats.engines.json_object import JsonObject
from toolfmt.formats.format import ToolCallFormat
from toolfmt.formats.runtime_parsers import RuntimeParser
from toolfmt.formats.values.json_layout import WrittenObject

_ACTION = WrittenObject(
    ('{"tool_call_id": ', "id", ', "tool_name": ', "name", ', "parameters": ', "arguments", "}"), id="{number}"
)

_ENGINE = JsonObject(
    opener="<|START_ACTION|>",
    closer="<|END_ACTION|>",
    unframed_openers=("[",),
    enclosing=("[\n    ", "\n]"),
    separator=",\n    ",
    name_key="tool_name",
    arguments_key="parameters",
    written=_ACTION,
)
FORMAT = ToolCallFormat(
    name="command_a",
    engine=_ENGINE,
    variants={"on one line": replace(_ENGINE, enclosing=("[    ", "]"), separator=",    ")},
    call_id="{number}",
    page=__doc__ or "",
    instructions=(
        "To call tools, answer with a JSON list of actions between <|START_ACTION|> and <|END_ACTION|>. Each action is "
        "an object that holds a tool_call_id, counted up from \"0\" as a string, the tool_name and the parameters."
    ),
    source=(
        "chat templates of CohereLabs/c4ai-command-r7b-12-2024 (tool_use), c4ai-command-a-03-2025 (tool_use), "
        "command-a-reasoning-08-2025, command-a-plus-05-2026",
    ),
    aliases=("cohere_command3", "cohere_command4", "command_r7b", "command-a", "cohere2"),
    families=("Command R7B", "Command A", "Command A Reasoning", "Command A Plus", "Cohere2 MoE", "North Mini Code"),
    model_types=("cohere2", "cohere2_vision", "cohere2_moe"),
    signatures=(r"<\|START_ACTION\|>",),
    runtime_parsers={
        "vLLM": RuntimeParser("cohere_command4", {"cohere_command3": ()}),
        "SGLang": "cohere_command4", "llama.cpp": "auto",
    },
    reasoning=(("<|START_THINKING|>", "<|END_THINKING|>"),),
    ignored_markers=(
        "<|START_RESPONSE|>", "<|END_RESPONSE|>", "<|START_TEXT|>", "<|END_TEXT|>", "<|START_OF_TURN_TOKEN|>",
        "<|CHATBOT_TOKEN|>", "<|END_OF_TURN_TOKEN|>",
    ),
)  # fmt: skip
