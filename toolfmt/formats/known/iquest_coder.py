"""The format of IQuest Q1 with the tags of IQuest Coder V2.

    <iquestcoder_tool_call>get_weather<arg_key>city</arg_key><arg_value>Paris</arg_value></iquestcoder_tool_call>

Several calls follow each other directly. Values are raw: only the tool's schema distinguishes a string `3` from a
number. A call without arguments is the name between the tags. Newlines between the tags are parsed too. The tags are
control tokens, so the decoder must keep them. IQuest Coder V1 does not use this format: most of its models write
function tags (`xml_function`), the 40B instruction models JSON (`json`).
"""

from toolfmt.formats.engines.tagged import Tagged
from toolfmt.formats.format import ToolCallFormat
from toolfmt.formats.runtime_parsers import RuntimeParser

FORMAT = ToolCallFormat(
    name="iquest_coder",
    engine=Tagged(
        opener="<iquestcoder_tool_call>",
        closer="</iquestcoder_tool_call>",
        key_opener="<arg_key>",
        key_closer="</arg_key>",
        value_opener="<arg_value>",
        value_closer="</arg_value>",
        between="",
        between_calls="",
    ),
    page=__doc__ or "",
    instructions=(
        "To call a tool, write its name after <iquestcoder_tool_call>, then each argument's key between <arg_key> and "
        "</arg_key> and its value between <arg_value> and </arg_value>, then </iquestcoder_tool_call>. Write strings "
        "as they are, other values as JSON."
    ),
    source=("vLLM's parser iquest_coder_v2 and its tests, in the pull request for IQuest Coder V2",),
    aliases=("iquest_coder_v2",),
    families=("IQuest Coder V2",),
    signatures=(r"<iquestcoder_tool_call>",),
    runtime_parsers={"vLLM": RuntimeParser("iquest_coder_v2", only_in="a pull request")},
)
