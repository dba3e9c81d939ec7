"""A JSON list of calls directly after the text `functools`.

    functools[{"name": "get_weather", "arguments": {"city": "Paris"}}]

FireFunction v2 introduced it, with a space before it; the prompts for Phi-4-mini adopted it. It has no end marker other
than the `]` of the list, so the list may be incomplete. Phi-4-mini's vocabulary also has `<|tool_call|>` and
`<|/tool_call|>`, which its models sometimes write around the list. vLLM's template renders earlier calls as bare
objects with Python arguments. All of these are parsed.
"""

from toolfmt.formats.engines.json_object import JsonObject
from toolfmt.formats.format import ToolCallFormat

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
        "To call tools, answer with the word functools and directly after it a JSON list; each call in it is an object "
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
