"""The name, then each key and each value in its own pair of tags, without newlines.

    <tool_call>get_weather<param_key>city</param_key><param_value>Paris</param_value></tool_call>

GLM's layout with different tags for keys and values. Several calls follow each other directly. Values are raw: only
the tool's schema distinguishes a string `3` from a number. A call without arguments is the name between the tags.
Whitespace between the tags is parsed too. A JSON object with `name` and `arguments` in the same block is not a
tolerance here, because SGLang's parser accepts it for these models. TeleChat 3 without Coder writes only that (`json`).
"""

from toolfmt.formats.engines.alternatives import Choice
from toolfmt.formats.engines.json_object import JsonObject
from toolfmt.formats.engines.tagged import Tagged
from toolfmt.formats.format import ToolCallFormat
from toolfmt.formats.runtime_parsers import RuntimeParser

_OPENER, _CLOSER = "<tool_call>", "</tool_call>"

FORMAT = ToolCallFormat(
    name="telechat",
    engine=Choice(
        Tagged(
            opener=_OPENER,
            closer=_CLOSER,
            key_opener="<param_key>",
            key_closer="</param_key>",
            value_opener="<param_value>",
            value_closer="</param_value>",
            between="",
            between_calls="",
        ),
        JsonObject(opener=_OPENER, closer=_CLOSER, between="\n"),
    ),
    page=__doc__ or "",
    instructions=(
        "To call a tool, write its name after <tool_call>, then each argument's key between <param_key> and "
        "</param_key> and its value between <param_value> and </param_value>, then </tool_call>. Write strings as they "
        "are, other values as JSON."
    ),
    source=(
        "ms-swift, agent template telechat3_coder and its tests",
        "TensorRT-LLM, pull requests 17997 (telechat4) and 19283 (xing4_0)",
        "SGLang, pull request 39793: xing4_0",
    ),
    aliases=("telechat4", "telechat3_coder", "xing4_0"),
    families=("TeleChat 3 Coder", "TeleChat 4", "Xing 4.0"),
    model_types=("telechat4", "xing4_0"),
    signatures=(r"<param_key>",),
    headers=("<_bot>",),
    runtime_parsers={
        "vLLM": RuntimeParser("xing4_0", only_in="pull request 57135"),
        "SGLang": RuntimeParser("xing4_0", only_in="pull request 39793"),
    },
)
