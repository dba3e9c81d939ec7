"""A JSON object after `<functioncall>`, without an end marker.

    <functioncall>{"name": "get_weather", "arguments": {"city": "Paris"}}

FireFunction v1 writes this. It starts a response without a call with `<plain>`, which is not content. The marker comes
from the data set glaive-function-calling, where a space follows it and the arguments are a string in single quotes.
Models trained on that data write such calls, which are parsed too. FireFunction v2 uses another format (`phi4`).
"""

from toolfmt.formats.engines.json_object import JsonObject
from toolfmt.formats.format import ToolCallFormat

FORMAT = ToolCallFormat(
    name="firefunction_v1",
    engine=JsonObject(opener="<functioncall>", separator=""),
    page=__doc__ or "",
    instructions=(
        "To call a tool, write <functioncall> and directly after it a JSON object with the tool's name and its "
        "arguments. Do so for each call."
    ),
    source=("chat template of fireworks-ai/firefunction-v1", "glaiveai/glaive-function-calling-v2"),
    aliases=("glaive",),
    families=("FireFunction v1", "models trained on glaive-function-calling"),
    signatures=(r"<functioncall>",),
    ignored_at_start=("<plain>",),
)
