"""A JSON list of calls after `[TOOL_CALLS]`, without an end marker.

    [TOOL_CALLS][{"name": "get_weather", "arguments": {"city": "Paris"}, "id": "call00000"}]

Some templates write a space after the marker. Mistral's ids are nine letters and digits. The id comes last, after the
start of the call was already emitted, so the parser generates an id; an id that comes first is kept. The later form of
the family, `[TOOL_CALLS]get_weather[ARGS]{"city": "Paris"}`, is parsed too: the first character after the marker
distinguishes them.
"""

from dataclasses import replace

from toolfmt.formats.engines.alternatives import Choice
from toolfmt.formats.engines.call_headers import NameThenId
from toolfmt.formats.engines.json_object import JsonObject
from toolfmt.formats.engines.named_json import NamedJson
from toolfmt.formats.format import ToolCallFormat
from toolfmt.formats.runtime_parsers import RuntimeParser
from toolfmt.formats.values.json_layout import WrittenObject

_OPENER = "[TOOL_CALLS]"


_WRITTEN = WrittenObject(
    ('{"name": ', "name", ', "arguments": ', "arguments", ', "id": ', "id", "}"), id="call{number:05d}"
)

_LIST = JsonObject(opener=_OPENER, unframed_openers=("[",), enclosing=("[", "]"), separator=", ", written=_WRITTEN)
FORMAT = ToolCallFormat(
    name="mistral_list",
    engine=Choice(
        _LIST,
        NamedJson(call_opener=_OPENER, separator="[ARGS]", identity=NameThenId("[CALL_ID]"), left=("[/TOOL_CALLS]",)),
    ),
    variants={"a space after the marker": replace(_LIST, enclosing=(" [", "]"))},
    page=__doc__ or "",
    instructions=(
        "To call tools, answer with [TOOL_CALLS] followed by a JSON list of objects, each of which holds a tool's "
        "name, its arguments, and an id of nine letters and digits."
    ),
    source=(
        "chat templates of mistralai/Mistral-7B-Instruct-v0.3, Mistral-Nemo-Instruct-2407, "
        "Ministral-8B-Instruct-2410, Mistral-Small-3.1-24B-Instruct-2503",
    ),
    aliases=("mistral_json",),
    families=("Mistral 7B v0.3", "Mistral Nemo", "Mistral Small 2409 to 3.1", "Ministral 8B 2410", "Mixtral 8x22B"),
    model_types=("mixtral",),
    signatures=(r"\[TOOL_CALLS\] ?\[",),
    call_id="call{number:05d}",
    runtime_parsers={
        # see sgl-project/sglang, pull request 36692; version 0.5.23 behaves like this
        "SGLang": RuntimeParser("mistral", remark="returns the second and later calls as content in a stream"),
        "vLLM": "mistral", "mlx-lm": "mistral", "llama.cpp": "auto",
    },
)  # fmt: skip
