"""Functions and their parameters as XML, without markers around them.

    <function name="get_weather"><param name="city">Paris</param></function>

Several calls follow each other, each on its own line. The template writes a string with `<`, `&` or a newline as
`<![CDATA[…]]>`, and instructs the model to do the same; inside it, nothing is a tag and nothing is escaped. Without a
schema such a value is a string. All other values are raw: only the tool's schema distinguishes a string `3` from a
number, and the template writes Python's `True`, `None` and quotes. If detokenization lost the spaces in the tags
(`<functionname="f">`), a call of a declared tool is parsed, as a tolerance.
"""

from dataclasses import replace

from toolfmt.formats.engines.alternatives import Choice
from toolfmt.formats.engines.foreign import Elsewhere
from toolfmt.formats.engines.tag_attributes import QUOTED
from toolfmt.formats.engines.tagged import Tagged
from toolfmt.formats.format import ToolCallFormat
from toolfmt.formats.values.value_writers import TextInMarks

_CDATA = ("<![CDATA[", "]]>")
_ENGINE = Tagged(
    name_opener='<function name="',
    name_closer=">",
    name_header=QUOTED,
    call_closer="</function>",
    key_opener='<param name="',
    key_closer=">",
    key_header=QUOTED,
    value_closer="</param>",
    cdata=_CDATA,
    write_value=TextInMarks(*_CDATA),
    between="",
)
FORMAT = ToolCallFormat(
    name="minicpm5",
    engine=Choice(
        _ENGINE,
        Elsewhere(replace(_ENGINE, name_opener='<functionname="', key_opener='<paramname="'), "repaired_markers"),
    ),
    page=__doc__ or "",
    instructions=(
        'To call a tool, write <function name="NAME"> with the tool\'s name, then each argument between '
        '<param name="KEY"> and </param>, then </function>. Write strings as they are, but put one that holds <, & or '
        "a newline between <![CDATA[ and ]]>; write other values as JSON."
    ),
    source=("chat templates of openbmb/MiniCPM5-1B, MiniCPM5-2B, MiniCPM-SALA", "MiniCPM5 tool parser of SGLang"),
    aliases=("minicpm5_xml", "minicpm5_xml_function"),
    families=("MiniCPM 5", "MiniCPM-SALA", "G9v3"),
    model_types=("minicpm5_moe", "minicpm_sala"),
    signatures=(r'<function name="[^"\n]*"><param name=',),
    runtime_parsers={
        "vLLM": "minicpm5",
        "SGLang": "minicpm5",
        "mlx-lm": "minicpm5",
        "mlx-swift-lm": "minicpm5",
        "llama.cpp": "auto",
    },
)
