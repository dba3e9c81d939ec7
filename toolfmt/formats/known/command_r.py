"""The word `Action:` and a fenced JSON list of calls.

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

The template puts the fence on a line of its own, the models most often on the line of `Action:`; both are read, and
other fenced JSON is text. These models also call a tool `directly-answer` to say that they need none: unless it was
declared, it is rejected like any other name, and the answer follows in another turn.
"""

from toolfmt.formats.format import ToolCallFormat
from toolfmt.formats.json_object import JsonObject
from toolfmt.formats.written_objects import JsonStyle, WrittenObject

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
