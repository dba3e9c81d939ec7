"""A JSON list of calls right behind the word `functools`.

    functools[{"name": "get_weather", "arguments": {"city": "Paris"}}]

FireFunction v2 taught it and puts a blank in front; the prompts for Phi-4-mini took it over. Nothing but the list's own
`]` closes it, so a list may simply stop. Phi-4-mini's vocabulary also has `<|tool_call|>` and `<|/tool_call|>`, which
its models write around the list now and then, and vLLM's template shows earlier calls as bare objects, their arguments
as Python; all of these are read.
"""

from toolfmt.formats.format import ToolCallFormat
from toolfmt.formats.json_object import JsonObject

FORMAT = ToolCallFormat(
    name="phi4",
    engine=JsonObject(
        opener="functools[",
        closer="]",
        also=("<|tool_call|>",),
        also_closers=("<|/tool_call|>",),
        unframed_openers=("{", "["),
        enclosing=("", ""),
        separator=", ",
    ),
    variants={"bare objects": JsonObject(separator=",")},
    page=__doc__ or "",
    instructions=(
        "To call tools, answer with the word functools and right behind it a JSON list; each call in it is an object "
        "that holds the tool's name and its arguments."
    ),
    source=(
        "chat template of fireworks-ai/llama-3-firefunction-v2",
        "vLLM, examples/tool_chat_template_phi4_mini.jinja",
        "microsoft/PhiCookBook, function calling with Phi-4-mini",
        "special tokens of microsoft/Phi-4-mini-instruct",
    ),
    aliases=("phi4_mini_json", "phi4_mini", "phi4mini", "phi-4", "firefunction", "firefunction_v2"),
    families=("Phi-4-mini", "Phi-4-multimodal", "FireFunction v2"),
    model_types=("phi4mm", "phi4_multimodal"),
    signatures=(r"functools\[", r"<\|/tool\|>"),
    runtime_parsers={"vLLM": "phi4_mini_json", "llama.cpp": "auto"},
)
