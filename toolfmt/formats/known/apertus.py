"""A JSON list of objects in which the tool's name is the key and its arguments are the value.

    <|tools_prefix|>[{"get_weather": {"city": "Paris"}}, {"get_time": {}}]<|tools_suffix|>

All calls of a turn are in one list. Reasoning is between `<|inner_prefix|>` and `<|inner_suffix|>`. The models call
tools inside it, without closing it first. Version 1.1 names the same tokens `<SPECIAL_71>` and `<SPECIAL_72>`, and
those of the reasoning `<SPECIAL_69>` and `<SPECIAL_70>`.
"""

from toolfmt.formats.engines.json_object import KeyedObject
from toolfmt.formats.format import ToolCallFormat

FORMAT = ToolCallFormat(
    name="apertus",
    engine=KeyedObject(
        opener="<|tools_prefix|>",
        closer="<|tools_suffix|>",
        also=("<SPECIAL_71>",),
        also_closers=("<SPECIAL_72>",),
        enclosing=("[", "]"),
        separator=", ",
    ),
    page=__doc__ or "",
    instructions=(
        "To call tools, answer with a JSON list between <|tools_prefix|> and <|tools_suffix|>. Each call in it is an "
        "object with one member: its key is the tool's name, its value an object of the arguments."
    ),
    source=("chat templates of swiss-ai/Apertus-8B-Instruct-2509 and Apertus-v1.1-4B-Instruct",),
    aliases=("apertus2509",),
    families=("Apertus",),
    model_types=("apertus",),
    signatures=(r"<\|tools_prefix\|>", r"tool_calls_token = '<SPECIAL_71>'"),
    runtime_parsers={"vLLM": "apertus", "SGLang": "apertus2509", "llama.cpp": "auto"},
    reasoning=(("<|inner_prefix|>", "<|inner_suffix|>"), ("<SPECIAL_69>", "<SPECIAL_70>")),
)
