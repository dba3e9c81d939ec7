"""One JSON object per call, between `<toolcall>` and `</toolcall>`, with a space on each side.

    <toolcall> {"name": "get_weather", "arguments": {"city": "Paris"}} </toolcall>

The template of Nemotron Mini lists the tools between `<tool>` tags and does not render calls, which are in the text of
earlier turns. Later Nemotron models write a list between tags in capital letters (`nemotron`).
"""

from toolfmt.formats.engines.json_object import JsonObject
from toolfmt.formats.format import ToolCallFormat

FORMAT = ToolCallFormat(
    name="nemotron_mini",
    engine=JsonObject(opener="<toolcall>", closer="</toolcall>", between=" ", separator=" "),
    page=__doc__ or "",
    instructions=(
        "To call a tool, write a JSON object that holds the tool's name and its arguments between <toolcall> and "
        "</toolcall>. Write one such block for each call."
    ),
    source=("model card and chat template of nvidia/Nemotron-Mini-4B-Instruct", "Ollama library, nemotron-mini"),
    aliases=("nemotron-mini",),
    families=("Nemotron Mini",),
    signatures=(r"<toolcall>", r"<tool> ' \+ tool"),
)
