"""The text `Action:` and a JSON list of calls in a code fence.

    Action:
    ```json
    [
        {
            "tool_name": "get_weather",
            "parameters": {
                "city": "Paris"
            }
        }
    ]```

The template puts the fence on a separate line, the models usually on the line of `Action:`. Both are parsed; JSON in
other fences is text. These models also call a tool `directly-answer` if they need no tool. Unless it is declared, the
call is rejected like any other undeclared name, and the text for the user follows in another turn.
"""

from toolfmt.formats.engines.json_object import JsonObject
from toolfmt.formats.format import ToolCallFormat
from toolfmt.formats.values.json_layout import WrittenObject
from toolfmt.formats.values.json_style import JsonStyle

_ACTION = WrittenObject(
    ('    {\n        "tool_name": ', "name", ',\n        "parameters": ', "arguments", "\n    }"),
    JsonStyle(comma=",", indent=4, margin=" " * 8),
)

FORMAT = ToolCallFormat(
    name="command_r",
    engine=JsonObject(
        opener="Action:\n```json",
        closer="```",
        also=("Action: ```json", "Action:```json"),
        enclosing=("\n[\n", "\n]"),
        separator=",\n",
        name_key="tool_name",
        arguments_key="parameters",
        written=_ACTION,
    ),
    page=__doc__ or "",
    instructions=(
        "To call tools, write Action: and a fenced JSON list of actions. Each action is an object that holds the "
        "tool_name and the parameters, {} where the tool takes none."
    ),
    source=(
        "chat templates of CohereForAI/c4ai-command-r-v01 and c4ai-command-r-plus (tool_use)",
        "model card of CohereForAI/c4ai-command-r-plus, section Tool use",
    ),
    aliases=("command-r", "command_r_plus", "command-r-plus", "cohere"),
    families=("Command R", "Command R+"),
    model_types=("cohere",),
    signatures=(r"Action:\\n```json", r"Write \\?'Action:\\?' followed by"),
    runtime_parsers={"llama.cpp": "auto"},
    ignored_markers=("<|START_OF_TURN_TOKEN|>", "<|CHATBOT_TOKEN|>", "<|END_OF_TURN_TOKEN|>"),
)
