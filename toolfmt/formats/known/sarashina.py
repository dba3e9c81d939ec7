"""A list of calls written as Python dictionaries after `<|tool_calls|>`, without an end marker.

    <|tool_calls|>[{'id': 'call00000', 'name': 'get_weather', 'arguments': {"city": "Paris"}}]

The template puts id and name in single quotes and prints the arguments as it gets them: as JSON if they are a JSON
string, as Python if they are an object. Both are parsed, and so are commas between two calls, which the template omits.
It takes calls with `id`, `name` and `arguments` in one object, without OpenAI's `function` around them.
"""

from toolfmt.formats.engines.json_object import JsonObject
from toolfmt.formats.format import ToolCallFormat
from toolfmt.formats.values.json_layout import WrittenObject
from toolfmt.formats.values.syntaxes import LITERAL

_WRITTEN = WrittenObject(
    ("{'id': ", "id", ", 'name': ", "name", ", 'arguments': ", "arguments", "}"), quote="'", id="call{number:05d}"
)

FORMAT = ToolCallFormat(
    name="sarashina",
    engine=JsonObject(opener="<|tool_calls|>", enclosing=("[", "]"), separator="", notation=LITERAL, written=_WRITTEN),
    page=__doc__ or "",
    instructions=(
        "To call tools, write <|tool_calls|> and after it a list; each call in it is a dictionary that holds an id of "
        "nine letters and digits, the tool's name and its arguments."
    ),
    source=("chat template of sbintuitions/sarashina2.2-3b-instruct-v0.1",),
    aliases=("sarashina2.2",),
    families=("Sarashina 2.2",),
    signatures=(r"<\|tool_calls\|>\[", r"<\|available_tools\|>"),
    call_id="call{number:05d}",
)
