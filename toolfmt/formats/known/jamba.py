"""A JSON list of calls, one per line, between `<tool_calls>` and `</tool_calls>`, as AI21's models write it.

    <tool_calls>[
        {"name": "get_weather", "arguments": {"city": "Paris"}},
        {"name": "get_time", "arguments": {}}
    ]</tool_calls>

Responses start with a space, which belongs to the start marker if a call follows.
"""

from toolfmt.formats.engines.json_object import JsonObject
from toolfmt.formats.format import ToolCallFormat

FORMAT = ToolCallFormat(
    name="jamba",
    engine=JsonObject(opener="<tool_calls>", closer="</tool_calls>", enclosing=("[\n    ", "\n]"), separator=",\n    "),
    page=__doc__ or "",
    instructions=(
        "To call tools, answer with a JSON list between <tool_calls> and </tool_calls>, one object a line for each "
        "call, with the tool's name and its arguments."
    ),
    source=("chat templates of ai21labs/Jamba-tiny-dev, AI21-Jamba-Mini-1.5, AI21-Jamba-Large-1.6",),
    families=("Jamba 1.5", "Jamba 1.6"),
    model_types=("jamba",),
    signatures=(r"<tool_definitions>", r"<\|bom\|>"),
    runtime_parsers={"vLLM": "jamba"},
)
