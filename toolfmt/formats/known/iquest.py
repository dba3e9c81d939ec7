"""GLM's body in IQuest's own tags, without newlines.

    <iquest_tool_call>get_weather<arg_key>city</arg_key><arg_value>Paris</arg_value></iquest_tool_call>

Several calls follow each other directly. Values are raw: only the tool's schema distinguishes a string `3` from a
number. A call without arguments is the name between the tags. Newlines between the tags are parsed too.
"""

from toolfmt.formats.engines.tagged import Tagged
from toolfmt.formats.format import ToolCallFormat

FORMAT = ToolCallFormat(
    name="iquest",
    engine=Tagged(
        opener="<iquest_tool_call>",
        closer="</iquest_tool_call>",
        key_opener="<arg_key>",
        key_closer="</arg_key>",
        value_opener="<arg_value>",
        value_closer="</arg_value>",
        between="",
        between_calls="",
    ),
    page=__doc__ or "",
    instructions=(
        "To call a tool, write its name after <iquest_tool_call>, then each argument's key between <arg_key> and "
        "</arg_key> and its value between <arg_value> and </arg_value>, then </iquest_tool_call>. Write strings as "
        "they are, other values as JSON."
    ),
    source=("chat template of IQuestLab/IQuest-Q1", "IQuest Q1 tool parser of SGLang"),
    aliases=("iquest_q1",),
    families=("IQuest Q1",),
    model_types=("iquest_q1",),
    signatures=(r"<iquest_tool_call>",),
    runtime_parsers={"SGLang": "iquest_q1"},
)
