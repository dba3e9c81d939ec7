"""A JSON object after `<function_call>`, as Granite 20B Function Calling writes it, without an end marker.

    <function_call> {"name": "get_weather", "arguments": {"city": "Paris"}}

Each call has its own marker, after a space or a newline. The model is trained to call `no_function` without arguments
if no tool fits; that is reported like any other call, or as an undeclared tool.
"""

from toolfmt.formats.engines.json_object import JsonObject
from toolfmt.formats.format import ToolCallFormat
from toolfmt.formats.values.json_layout import WrittenObject

_WRITTEN = WrittenObject((' {"name": ', "name", ', "arguments": ', "arguments", "}"))

FORMAT = ToolCallFormat(
    name="granite_20b_fc",
    engine=JsonObject(opener="<function_call>", written=_WRITTEN),
    page=__doc__ or "",
    instructions=(
        "To call a tool, write <function_call> and after it a JSON object with the tool's name and its "
        "arguments. Write one such line for each call."
    ),
    source=(
        "chat template of ibm-granite/granite-20b-functioncalling",
        "vLLM, examples/tool_chat_template_granite_20b_fc.jinja and tool parser granite-20b-fc",
    ),
    aliases=("granite-20b-fc", "granite_20b_functioncalling"),
    families=("Granite 20B Function Calling",),
    signatures=(r"<function_call>",),
    runtime_parsers={"vLLM": "granite-20b-fc"},
)
