"""A JSON list of OpenAI's call objects, indented, between `<tool_call>` and `</tool_call>`.

    <tool_call>
    [
      {
        "type": "function",
        "function": {
          "name": "get_weather",
          "arguments": {
            "city": "Paris"
          }
        }
      }
    ]
    </tool_call>

The templates of Falcon 3 print earlier calls in this way: all calls of a turn in one block, each with its `"id"` if it
has one. They describe a shorter form to the model: a list of objects with `name` and `arguments`, in the same block.
Both are parsed.
"""

from toolfmt.formats.engines.json_object import JsonObject
from toolfmt.formats.format import ToolCallFormat
from toolfmt.formats.values.json_layout import WrittenObject
from toolfmt.formats.values.json_style import JsonStyle

_WRITTEN = WrittenObject(
    (
        '  {\n    "type": "function",\n    "function": {\n      "name": ',
        "name",
        ',\n      "arguments": ',
        "arguments",
        "\n    }\n  }",
    ),
    JsonStyle(comma=",", indent=2, margin=" " * 6),
)

FORMAT = ToolCallFormat(
    name="falcon3",
    engine=JsonObject(
        opener="<tool_call>",
        closer="</tool_call>",
        enclosing=("\n[\n", "\n]\n"),
        separator=",\n",
        wrapper="function",
        written=_WRITTEN,
    ),
    page=__doc__ or "",
    instructions=(
        "To call tools, answer with a JSON list between <tool_call> and </tool_call>: for each call an object of type "
        "function, in whose member function stand the tool's name and its arguments."
    ),
    source=("chat templates of tiiuae/Falcon3-7B-Instruct, tiiuae/Falcon-H1-Tiny-Tool-Calling-90M",),
    aliases=("falcon-3",),
    families=("Falcon 3", "Falcon H1 Tiny"),
    signatures=(
        r"You are a Falcon assistant skilled in function calling",
        r"<tool_call>(?:\\n|\s|'|\}\}|\{\{-?)*message\.tool_calls ?\| ?tojson\(indent=2\)",
    ),
)
