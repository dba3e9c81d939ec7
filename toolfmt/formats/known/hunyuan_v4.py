"""Hunyuan 3's tags without a separator after the name and without newlines, with a suffix in every tag.

    <tool_calls:opensource><tool_call:opensource>get_weather
    <arg_key:opensource>city</arg_key:opensource><arg_value:opensource>Paris</arg_value:opensource>
    </tool_call:opensource></tool_calls:opensource>

(without the line breaks). Hy4-preview writes this. The suffix depends on the tokenizer: `:opensource` and no suffix are
parsed, others are not supported. The name ends where the first key starts, and a call without arguments is just the
name between its tags. Values are raw, including all whitespace: only the tool's schema distinguishes a string `3` from
a number. The prompt starts the reasoning with `<think:opensource>`.
"""

from toolfmt.formats.engines.alternatives import Choice
from toolfmt.formats.engines.tagged import Tagged
from toolfmt.formats.format import THINK, ToolCallFormat


def _tags(suffix: str) -> Tagged:
    """Return the tags of the family, each with this suffix."""
    return Tagged(
        opener=f"<tool_calls{suffix}>",
        closer=f"</tool_calls{suffix}>",
        unframed_openers=(f"<tool_call{suffix}>",),
        name_opener=f"<tool_call{suffix}>",
        call_closer=f"</tool_call{suffix}>",
        key_opener=f"<arg_key{suffix}>",
        key_closer=f"</arg_key{suffix}>",
        value_opener=f"<arg_value{suffix}>",
        value_closer=f"</arg_value{suffix}>",
        enclosing=("", ""),
        between="",
        between_calls="",
    )


FORMAT = ToolCallFormat(
    name="hunyuan_v4",
    engine=Choice(_tags(":opensource"), _tags("")),
    variants={"without a suffix": _tags("")},
    page=__doc__ or "",
    instructions=(
        "To call tools, write <tool_calls:opensource>, then for each call <tool_call:opensource> and the tool's name, "
        "each argument's key between <arg_key:opensource> and </arg_key:opensource> and its value between "
        "<arg_value:opensource> and </arg_value:opensource>, and </tool_call:opensource>, then "
        "</tool_calls:opensource>. Write strings as they are, other values as JSON."
    ),
    source=(
        "vLLM's parser hy_v4 and its tests",
        "Tencent-Hunyuan/Hy4-preview, finetune/llama_factory_support/hy_v4_template.py",
    ),
    aliases=("hy_v4", "hy4"),
    families=("Hunyuan 4",),
    model_types=("hy_v4",),
    signatures=(r"(?s)<tool_calls(?!.*<tool_sep).*<arg_key",),
    runtime_parsers={"vLLM": "hy_v4"},
    reasoning=(("<think:opensource>", "</think:opensource>"), THINK),
    ignored_markers=("<｜hy_end:opensource｜>", "<｜hy_end｜>"),
)
