"""A JSON list of calls between `<tool_calls>` and `</tool_calls>`, as ServiceNow's models write it.

    <tool_calls>[{"name": "get_weather", "arguments": {"city": "Paris"}}]</tool_calls>

In earlier turns, each object ends with an `"id"`. Most of the templates print the arguments as a Python dictionary, so
models may write single quotes, `True` and `None`; these are parsed. The reasoning starts with the text `Here are my
reasoning steps:`, which may be part of the prompt, and ends at `[BEGIN FINAL RESPONSE]`. Calls may come before that.
"""

from toolfmt.formats.engines.json_object import JsonObject
from toolfmt.formats.format import THINK, ToolCallFormat

FORMAT = ToolCallFormat(
    name="apriel",
    engine=JsonObject(opener="<tool_calls>", closer="</tool_calls>", enclosing=("[", "]"), separator=", "),
    page=__doc__ or "",
    instructions=(
        "To call tools, answer with a JSON list between <tool_calls> and </tool_calls>: one object for each call, with "
        "the tool's name and its arguments."
    ),
    source=(
        "chat templates of ServiceNow-AI/Apriel-Nemotron-15b-Thinker, Apriel-1.5-15b-Thinker, Apriel-1.6-15b-Thinker",
    ),
    families=("Apriel Nemotron", "Apriel 1.5", "Apriel 1.6"),
    signatures=(r"<available_tools></available_tools>", r"\[BEGIN FINAL RESPONSE\]"),
    runtime_parsers={"llama.cpp": "auto"},
    ignored_markers=("[END FINAL RESPONSE]",),
    reasoning=(("Here are my reasoning steps:", "[BEGIN FINAL RESPONSE]"), THINK),
)
