"""A turn of its own in the role `function call`, with a JSON object as its text and no end marker.

    <|message_sep|>

    function call<|role_sep|>
    {"name": "get_weather", "arguments": {"city": "Paris"}}

Text for the user, if any, comes first and ends at `<|message_sep|>`, which is not content. GigaChat 3 writes one call
per turn: its template drops all others. The newlines in the header may be missing. GigaChat 3.1 has a token for calls
instead (`gigachat31`).
"""

from toolfmt.formats.engines.json_object import JsonObject
from toolfmt.formats.format import ToolCallFormat

FORMAT = ToolCallFormat(
    name="gigachat3",
    engine=JsonObject(
        opener="<|message_sep|>\n\nfunction call<|role_sep|>\n",
        also=("<|message_sep|>function call<|role_sep|>", "function call<|role_sep|>"),
        separator="",
    ),
    page=__doc__ or "",
    instructions=(
        "To call a tool, end your answer with a turn in the role `function call`, whose text is a JSON object that "
        "holds the tool's name and its arguments. Make one call at a time."
    ),
    source=("chat template of ai-sage/GigaChat3-10B-A1.8B", "vLLM and SGLang, tool parser gigachat3"),
    families=("GigaChat 3",),
    signatures=(r"function call<\|role_sep\|>", r"'role': 'function call',\s*'content': '\{"),
    runtime_parsers={"vLLM": "gigachat3", "SGLang": "gigachat3", "llama.cpp": "auto"},
    ignored_markers=("<|message_sep|>",),
)
