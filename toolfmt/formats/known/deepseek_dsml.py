"""DeepSeek's markup: every tag contains `｜DSML｜`, and each parameter declares whether its text is a string.

    <｜DSML｜tool_calls>
    <｜DSML｜invoke name="get_weather">
    <｜DSML｜parameter name="city" string="true">Paris</｜DSML｜parameter>
    <｜DSML｜parameter name="days" string="false">3</｜DSML｜parameter>
    </｜DSML｜invoke>
    </｜DSML｜tool_calls>

V4 writes this. V3.2 names the outer tag `function_calls`. V4.1 names it `calls` and puts a space before the name of
every tag (`<｜DSML｜ calls>`, `<｜DSML｜ invoke name=…>`). All are parsed. With `string="true"` the raw text is the
string, with `string="false"` it is JSON; the tool's schema takes precedence. Newlines around a value are part of it.
Tags with doubled or ASCII bars, or without `｜DSML｜`, are parsed and listed as a tolerance.
"""

from dataclasses import replace

from toolfmt.formats.engines.alternatives import Choice
from toolfmt.formats.engines.foreign import Elsewhere
from toolfmt.formats.engines.tag_attributes import QUOTED, STRING_ATTRIBUTE
from toolfmt.formats.engines.tagged import Tagged
from toolfmt.formats.format import ToolCallFormat
from toolfmt.formats.runtime_parsers import RuntimeParser
from toolfmt.formats.values.value_writers import TextBesideType


def _dsml(space: str, frame: str, *others: str, mark: str = "｜DSML｜") -> Tagged:
    """Return the tags of one version.

    Args:
        space: The whitespace before the names of tags.
        frame: The name of the outer tag.
        others: Other names of the outer tag that are parsed.
        mark: The marker in every tag.
    """
    begin, end = f"<{mark}{space}", f"</{mark}{space}"
    return Tagged(
        opener=f"{begin}{frame}>",
        closer=f"{end}{frame}>",
        also=tuple(f"{begin}{other}>" for other in others),
        also_closers=tuple(f"{end}{other}>" for other in others),
        enclosing=("\n", "\n"),
        unframed_openers=(f'{begin}invoke name="',),
        name_opener=f'{begin}invoke name="',
        name_closer=">",
        name_header=QUOTED,
        call_closer=f"{end}invoke>",
        key_opener=f'{begin}parameter name="',
        key_closer=">",
        key_header=STRING_ATTRIBUTE,
        value_closer=f"{end}parameter>",
        write_value=TextBesideType(),
    )


_MARKS = ("｜｜DSML｜｜", "|DSML|", "||DSML||", "‖DSML‖", "")
_V32 = _dsml("", "function_calls")
FORMAT = ToolCallFormat(
    name="deepseek_dsml",
    engine=Choice(
        _dsml("", "tool_calls", "function_calls"),
        _dsml(" ", "calls"),
        *(Elsewhere(_dsml("", "tool_calls", "function_calls", mark=mark), "repaired_markers") for mark in _MARKS),
    ),
    variants={
        "V3.2": _V32,
        "V3.2 without newlines": replace(_V32, enclosing=("", ""), between="", between_calls=""),
        "V4.1": _dsml(" ", "calls"),
    },
    page=__doc__ or "",
    instructions=(
        'To call tools, write <｜DSML｜tool_calls>, then for each call <｜DSML｜invoke name="NAME"> with its name, '
        'each argument between <｜DSML｜parameter name="KEY" string="true"> and </｜DSML｜parameter>, and '
        "</｜DSML｜invoke>, then </｜DSML｜tool_calls>. Write strings as they are; write any other value as JSON, with "
        'string="false".'
    ),
    source=("chat templates and encoding/README.md of deepseek-ai/DeepSeek-V3.2, DeepSeek-V4-Flash, DeepSeek-V4.1",),
    aliases=("dsml", "deepseek_v32", "deepseek_v4", "deepseek_v41", "deepseekv32", "deepseekv4", "deepseekv41"),
    families=("DeepSeek V3.2", "DeepSeek V4", "DeepSeek V4.1"),
    model_types=("deepseek_v32", "deepseek_v4", "deepseek_v41"),
    signatures=(r"｜DSML｜",),
    runtime_parsers={
        "vLLM": RuntimeParser("deepseek_v4", {"deepseek_v32": (), "deepseek_v41": ()}),
        "SGLang": RuntimeParser("deepseekv4", {"deepseekv32": (), "deepseekv41": ()}),
        "llama.cpp": "auto",
    },
)
