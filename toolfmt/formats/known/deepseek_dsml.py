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
Tags with doubled or ASCII bars, without `｜DSML｜`, or with `r:` before their names are parsed and listed as a
tolerance.
"""

from dataclasses import replace

from toolfmt.formats.engines.alternatives import Choice
from toolfmt.formats.engines.foreign import Elsewhere
from toolfmt.formats.engines.tag_attributes import QUOTED, STRING_ATTRIBUTE
from toolfmt.formats.engines.tagged import Tagged
from toolfmt.formats.format import ToolCallFormat
from toolfmt.formats.runtime_parsers import RuntimeParser
from toolfmt.formats.values.value_writers import TextBesideType

_NAMES = ("tool_calls", "function_calls")
"""The names of the outer tag before V4.1."""


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


def _prefixed(start: str, *outer: str) -> Elsewhere:
    """Return the tags with a prefix `r:` before some names, which checkpoints of V4 write.

    Args:
        start: The marker in the start tags of calls and arguments.
        outer: The markers in the outer start tag.
    """
    plain, prefixed = _dsml("", *_NAMES), _dsml("", *_NAMES, mark="｜DSML｜r:")
    begins = _dsml("", *_NAMES, mark=start)
    openers = [f"<{mark}{name}>" for mark in outer for name in _NAMES]
    engine = replace(
        plain,
        opener=openers[0],
        also=tuple(openers[1:]),
        also_closers=(*plain.also_closers, *prefixed.closers),
        unframed_openers=begins.unframed_openers,
        name_opener=begins.name_opener,
        key_opener=begins.key_opener,
        other_value_closers=(prefixed.value_closer,),
        other_call_closers=(prefixed.call_closer,),
    )
    return Elsewhere(engine, "repaired_markers")


_MARKS = ("｜｜DSML｜｜", "|DSML|", "||DSML||", "‖DSML‖", "")
_V32 = _dsml("", "function_calls")
FORMAT = ToolCallFormat(
    name="deepseek_dsml",
    engine=Choice(
        _dsml("", *_NAMES),
        _dsml(" ", "calls"),
        _prefixed("｜DSML｜r:", "｜DSML｜r:", "｜DSML｜"),
        _prefixed("｜DSML｜", "｜DSML｜r:"),
        *(Elsewhere(_dsml("", *_NAMES, mark=mark), "repaired_markers") for mark in _MARKS),
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
