"""One JSON object per call, between `[TOOL_REQUEST]` and `[END_TOOL_REQUEST]`.

    [TOOL_REQUEST]{"name": "get_weather", "arguments": {"city": "Paris"}}[END_TOOL_REQUEST]

LM Studio describes this format in the system prompt of models without a format of their own; such models also write it
elsewhere. Several calls are several blocks, one per line. The tool's result is passed in the user's turn.
"""

from toolfmt.formats.engines.json_object import JsonObject
from toolfmt.formats.format import ToolCallFormat

FORMAT = ToolCallFormat(
    name="lm_studio",
    engine=JsonObject(
        opener="[TOOL_REQUEST]",
        closer="[END_TOOL_REQUEST]",
        also_closers=("[END_TOOL_RESULT]",),
        unframed_openers=("{",),
    ),
    page=__doc__ or "",
    instructions=(
        "To call a tool, answer with [TOOL_REQUEST], a JSON object that holds the tool's name and its arguments, and "
        "[END_TOOL_REQUEST]. Write one such block for each call."
    ),
    source=("LM Studio's documentation, tool use: default tool use support",),
    aliases=("lmstudio", "tool_request"),
    families=("models without a format of their own, in LM Studio",),
    # VCPToolBox also writes <<<[TOOL_REQUEST]>>>, but without JSON in it.
    signatures=(r"(?<!<)\[TOOL_REQUEST\]",),
)
