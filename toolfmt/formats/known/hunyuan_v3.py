"""The body of GLM's calls with a separator after the name, all calls of a turn in one `<tool_calls>`.

    <tool_calls>
    <tool_call>get_weather<tool_sep>
    <arg_key>city</arg_key>
    <arg_value>Paris</arg_value>
    </tool_call>
    </tool_calls>

Hy3-preview and Hy-MT2 write this. Hy3 adds `:opensource` to each of these tags (`<tool_calls:opensource>`,
`<think:opensource>`); both are parsed, the plain ones are written. Values are raw: only the tool's schema distinguishes
a string `3` from a number. Suffixes of other tokenizers are not supported. The templates know neither the end marker
`<end_of_tool_call>` nor a JSON object in place of the arguments, which quantized models write; both are tolerances.
"""

from toolfmt.formats.engines.alternatives import Choice
from toolfmt.formats.engines.tagged import Tagged
from toolfmt.formats.format import THINK, ToolCallFormat


def _tags(suffix: str) -> Tagged:
    """Return the tags of the family, each with this suffix."""
    return Tagged(
        opener=f"<tool_calls{suffix}>",
        closer=f"</tool_calls{suffix}>",
        enclosing=("\n", "\n"),
        unframed_openers=(f"<tool_call{suffix}>",),
        name_opener=f"<tool_call{suffix}>",
        name_closer=f"<tool_sep{suffix}>",
        call_closer=f"</tool_call{suffix}>",
        other_call_closers=(f"<end_of_tool_call{suffix}>",),
        key_opener=f"<arg_key{suffix}>",
        key_closer=f"</arg_key{suffix}>",
        value_opener=f"<arg_value{suffix}>",
        value_closer=f"</arg_value{suffix}>",
    )


FORMAT = ToolCallFormat(
    name="hunyuan_v3",
    engine=Choice(_tags(""), _tags(":opensource")),
    variants={"with :opensource": _tags(":opensource")},
    page=__doc__ or "",
    instructions=(
        "To call tools, write <tool_calls>, then for each call <tool_call>, the tool's name and <tool_sep>, each "
        "argument's key between <arg_key> and </arg_key> and its value between <arg_value> and </arg_value>, and "
        "</tool_call>, then </tool_calls>. Write strings as they are, other values as JSON."
    ),
    source=("chat templates of tencent/Hy3-preview, Hy3, Hy-MT2-30B-A3B",),
    aliases=("hy_v3", "hunyuan"),
    families=("Hunyuan 3", "Hy-MT2 30B"),
    model_types=("hy_v3",),
    signatures=(r"(?s)<tool_calls.*<tool_sep",),
    runtime_parsers={"vLLM": "hy_v3", "SGLang": "hunyuan", "llama.cpp": "auto"},
    reasoning=(THINK, ("<think:opensource>", "</think:opensource>")),
)
