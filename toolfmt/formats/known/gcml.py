"""GigaChat's markup: every tag contains `｜GCML｜`, and each parameter declares whether its text is a string.

    <｜GCML｜tool_calls>
    <｜GCML｜invoke name="get_weather">
    <｜GCML｜parameter name="city" string="true">Paris</｜GCML｜parameter>
    <｜GCML｜parameter name="days" string="false">3</｜GCML｜parameter>
    </｜GCML｜invoke>
    </｜GCML｜tool_calls>

DeepSeek's markup under another name. With `string="true"` the raw text is the string, with `string="false"` it is JSON;
the tool's schema takes precedence. Newlines around a value are part of it. The token that ends a turn,
`<|message_sep|>`, is dropped.
"""

from toolfmt.formats.engines.tag_attributes import QUOTED, STRING_ATTRIBUTE
from toolfmt.formats.engines.tagged import Tagged
from toolfmt.formats.format import ToolCallFormat
from toolfmt.formats.values.value_writers import TextBesideType

FORMAT = ToolCallFormat(
    name="gcml",
    engine=Tagged(
        opener="<｜GCML｜tool_calls>",
        closer="</｜GCML｜tool_calls>",
        enclosing=("\n", "\n"),
        unframed_openers=('<｜GCML｜invoke name="',),
        name_opener='<｜GCML｜invoke name="',
        name_closer=">",
        name_header=QUOTED,
        call_closer="</｜GCML｜invoke>",
        key_opener='<｜GCML｜parameter name="',
        key_closer=">",
        key_header=STRING_ATTRIBUTE,
        value_closer="</｜GCML｜parameter>",
        write_value=TextBesideType(),
    ),
    page=__doc__ or "",
    instructions=(
        'To call tools, write <｜GCML｜tool_calls>, then for each call <｜GCML｜invoke name="NAME"> with its name, '
        'each argument between <｜GCML｜parameter name="KEY" string="true"> and </｜GCML｜parameter>, and '
        "</｜GCML｜invoke>, then </｜GCML｜tool_calls>. Write strings as they are; write any other value as JSON, with "
        'string="false".'
    ),
    source=("chat template of ai-sage/GigaChat3.5-432B-A28B (llama.cpp, models/templates/GigaChat3.5.jinja)",),
    aliases=("gigachat35", "gigachat3_5"),
    families=("GigaChat 3.5",),
    model_types=("gigachat3_5",),
    signatures=(r"｜GCML｜",),
    runtime_parsers={"SGLang": "gigachat35"},
    ignored_markers=("<|message_sep|>",),
)
