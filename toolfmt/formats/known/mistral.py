"""The tool's name after `[TOOL_CALLS]`, its arguments as JSON after `[ARGS]`, without an end marker.

    [TOOL_CALLS]get_weather[ARGS]{"city": "Paris"}

Several calls follow each other without a separator. Mistral Small 3.2 also writes an id of nine letters and digits,
`[TOOL_CALLS]get_weather[CALL_ID]a1B2c3D4e[ARGS]{"city": "Paris"}`; it becomes the call's id. Both markers are special
tokens that some runtimes drop. So an output that starts with `get_weather[ARGS]` is parsed too, and so is a name
directly before the brace after `[TOOL_CALLS]`. The older list, `[TOOL_CALLS][{"name": …}]`, is also parsed: the first
character after the marker distinguishes them.
"""

from toolfmt.formats.engines.alternatives import Choice
from toolfmt.formats.engines.call_headers import NameThenId
from toolfmt.formats.engines.json_object import JsonObject
from toolfmt.formats.engines.named_json import NamedJson
from toolfmt.formats.format import THINK, ToolCallFormat

_OPENER = "[TOOL_CALLS]"
_WITH_ID = NameThenId("[CALL_ID]", id="call{number:05d}")

FORMAT = ToolCallFormat(
    name="mistral",
    engine=Choice(
        NamedJson(
            call_opener=_OPENER,
            separator="[ARGS]",
            identity=NameThenId("[CALL_ID]"),
            name_at_start="tolerated",
            left=("[/TOOL_CALLS]",),
        ),
        JsonObject(opener=_OPENER, enclosing=("[", "]"), separator=", "),
    ),
    variants={"with an id": NamedJson(call_opener=_OPENER, separator="[ARGS]", identity=_WITH_ID)},
    call_id="call{number:05d}",
    page=__doc__ or "",
    instructions=(
        "To call a tool, write [TOOL_CALLS], the tool's name, [ARGS] and its arguments as a JSON object. Write one "
        "such line after the other for several calls, with nothing between them."
    ),
    source=(
        "chat templates of mistralai/Devstral-2-123B-Instruct-2512, Ministral-3-14B-Reasoning-2512, "
        "Mistral-Small-4-119B-2603, Mistral-Small-3.2-24B-Instruct-2506",
        "mistral-common, tokenizers v11 and v13",
    ),
    aliases=("mistral_args", "mistral_v11", "mistral_v13"),
    families=(
        "Devstral", "Ministral 3", "Magistral", "Mistral Small 3.2 and 4", "Mistral Medium 3.5", "Mistral Large 3",
    ),
    model_types=("mistral3", "ministral3", "mistral4"),
    signatures=(r"\[ARGS\]",),
    runtime_parsers={
        "vLLM": "mistral", "SGLang": "mistral", "mlx-lm": "mistral", "mlx-swift-lm": "mistral", "llama.cpp": "auto",
    },
    reasoning=(("[THINK]", "[/THINK]"), THINK),
    between=("[THINK]",),
)  # fmt: skip
