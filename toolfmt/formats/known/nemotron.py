"""A JSON list of calls between `<TOOLCALL>` and `</TOOLCALL>`.

    <TOOLCALL>[{"name": "get_weather", "arguments": {"city": "Paris"}}]</TOOLCALL>

NVIDIA's models before Nemotron 3, which writes function tags (`xml_function`). Nemotron Nano v2 reasons first, in a
block that starts in the prompt, and writes one or two newlines before the calls.
"""

from toolfmt.formats.engines.json_object import JsonObject
from toolfmt.formats.format import ToolCallFormat
from toolfmt.formats.runtime_parsers import RuntimeParser

FORMAT = ToolCallFormat(
    name="nemotron",
    engine=JsonObject(opener="<TOOLCALL>", closer="</TOOLCALL>", enclosing=("[", "]"), separator=", "),
    page=__doc__ or "",
    instructions=(
        "To call tools, answer with a JSON list between <TOOLCALL> and </TOOLCALL>: one object for each call, with the "
        "tool's name and its arguments."
    ),
    source=(
        "chat templates of nvidia/NVIDIA-Nemotron-Nano-9B-v2, Llama-3.1-Nemotron-Nano-8B-v1, "
        "Llama-3_3-Nemotron-Super-49B-v1_5",
    ),
    aliases=("nemotron_json", "llama_nemotron_json", "nemotron_nano_v2"),
    families=("Nemotron Nano v2", "Llama 3.1 Nemotron Nano", "Llama 3.3 Nemotron Super"),
    model_types=("nemotron-nas",),
    signatures=(r"<TOOLCALL>",),
    runtime_parsers={
        "vLLM": RuntimeParser("nemotron_json", only_in="a plug-in that comes with the models"),
        "llama.cpp": "auto",
    },
)
