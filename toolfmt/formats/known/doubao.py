"""Tags with quoted names inside `<seed:tool_call>`; each parameter declares whether its text is a string.

    <seed:tool_call><function name="get_weather">
    <parameter name="city" string="true">Paris</parameter></function></seed:tool_call>

The block of `seed_oss` with different tags in it, on one line or on several; a block may contain several calls. With
`string="true"` the raw text is the string and nothing in it is escaped. With `string="false"` it is JSON. The tool's
schema takes precedence. The models are served by an API that parses these calls. They appear as text if it does not, or
if an agent's prompt describes them. Reasoning is between tags named `think_never_used_` and 32 hexadecimal digits.
"""

from toolfmt.formats.engines.tag_attributes import QUOTED, STRING_ATTRIBUTE
from toolfmt.formats.engines.tagged import Tagged
from toolfmt.formats.format import ToolCallFormat
from toolfmt.formats.values.value_writers import TextBesideType

_THINK = "think_never_used_51bce0c785ca2f68081bfa7d91973934"

FORMAT = ToolCallFormat(
    name="doubao",
    engine=Tagged(
        opener="<seed:tool_call>",
        closer="</seed:tool_call>",
        unframed_openers=('<function name="',),
        name_opener='<function name="',
        name_closer=">",
        name_header=QUOTED,
        call_closer="</function>",
        key_opener='<parameter name="',
        key_closer=">",
        key_header=STRING_ATTRIBUTE,
        value_closer="</parameter>",
        write_value=TextBesideType(),
        between="",
    ),
    page=__doc__ or "",
    instructions=(
        'To call a tool, write <seed:tool_call><function name="NAME"> with its name, each argument between '
        '<parameter name="KEY" string="true"> and </parameter>, and </function></seed:tool_call>, without line ends '
        'between the tags. Write strings as they are; write any other value as JSON, with string="false".'
    ),
    source=(
        "midscene, prompt and tests of its planner for Doubao",
        "outputs of doubao-seed 2.0 and 2.1 that agents kept as text",
    ),
    aliases=("doubao_seed", "seed2"),
    families=("Doubao Seed 2.0, 2.1",),
    signatures=(r'<seed:tool_call>\s*<function name="',),
    reasoning=((f"<{_THINK}>", f"</{_THINK}>"), ("<seed:think>", "</seed:think>"), ("<think>", "</think>")),
)
