"""A JSON object after `<|function_call|>`, at the end of a turn, without an end marker.

    <|function_call|>{"name": "get_weather", "arguments": {"city": "Paris"}}

GigaChat 3.1 writes one call per turn: its template drops all others. `<|message_sep|>` ends the turn and is not
content. If the prompt starts a turn in the role `reasoning`, the text up to the next header is reasoning. GigaChat 3
writes the same object after a header (`gigachat3`).
"""

from toolfmt.formats.engines.json_object import JsonObject
from toolfmt.formats.format import ToolCallFormat

FORMAT = ToolCallFormat(
    name="gigachat31",
    engine=JsonObject(opener="<|function_call|>", separator=""),
    page=__doc__ or "",
    instructions=(
        "To call a tool, end your answer with <|function_call|> and directly after it a JSON object with the "
        "tool's name and its arguments. Make one call at a time."
    ),
    source=(
        "chat templates of ai-sage/GigaChat3.1-10B-A1.8B, ai-sage/GigaChat3.1-Audio-10B-A1.8B",
        "vLLM and SGLang, tool parser gigachat3",
    ),
    aliases=("gigachat3.1", "gigachat3_1"),
    families=("GigaChat 3.1", "GigaChat 3.1 Audio"),
    signatures=(r"<\|function_call\|>",),
    runtime_parsers={"vLLM": "gigachat3", "SGLang": "gigachat3", "llama.cpp": "auto"},
    reasoning=(("reasoning<|role_sep|>\n", "<|message_sep|>\n\nassistant<|role_sep|>\n"),),
    ignored_markers=("<|message_sep|>",),
    headers=(r"<\|message_sep\|>(?=\n\nreasoning<)",),
)
