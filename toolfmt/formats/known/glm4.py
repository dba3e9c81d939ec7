"""The name, then each key and each value in its own pair of tags.

    <tool_call>get_weather
    <arg_key>city</arg_key>
    <arg_value>Paris</arg_value>
    </tool_call>

GLM-4.5 and 4.6 write the newlines, GLM-4.7 and 5 do not; both are parsed. Values are raw: only the tool's schema
distinguishes a string `3` from a number. A call without arguments is the name between the tags.
"""

from dataclasses import replace

from toolfmt.formats.engines.tagged import Tagged
from toolfmt.formats.format import ToolCallFormat
from toolfmt.formats.runtime_parsers import RuntimeParser

_ENGINE = Tagged(
    opener="<tool_call>",
    closer="</tool_call>",
    key_opener="<arg_key>",
    key_closer="</arg_key>",
    value_opener="<arg_value>",
    value_closer="</arg_value>",
    enclosing=("", "\n"),
    between_calls="\n</tool_call>\n<tool_call>",
)
FORMAT = ToolCallFormat(
    name="glm4",
    engine=_ENGINE,
    variants={"without newlines": replace(_ENGINE, between="", between_calls="", enclosing=())},
    page=__doc__ or "",
    instructions=(
        "To call a tool, write its name after <tool_call>, then each argument's key between <arg_key> and </arg_key> "
        "and its value between <arg_value> and </arg_value>, then </tool_call>. Write strings as they are, other "
        "values as JSON."
    ),
    source=(
        "chat templates of zai-org/GLM-4.5, GLM-4.6, GLM-4.7-Flash, GLM-5.2",
        "SGLang, srt/parser/glm53_chat_template.py, for GLM-5.3 and GLM-5.3-Flash",
    ),
    aliases=("glm", "glm45", "glm46", "glm47", "glm5", "ling3", "poolside_v1", "spark25", "laguna"),
    families=("GLM 4.5/4.6/4.7/5/5.3", "Ling 3", "Laguna", "Spark 2.5"),
    model_types=(
        "glm4_moe", "glm4_moe_lite", "glm4v_moe", "glm46v", "glm_moe_dsa", "glm5", "glm5_next", "sarvam_moe",
        "bailing_moe_v3", "laguna", "spark2_5",
    ),
    signatures=(r"(?<!= ')<arg_key>(?!(?s:.{0,4000}?)</iquest)",),
    runtime_parsers={
        "vLLM": RuntimeParser(
            "glm45", {"glm47": (), "ling3": ("bailing_moe_v3",), "poolside_v1": ("laguna",)}
        ),
        "SGLang": RuntimeParser(
            "glm45",
            {
                "glm47": (),
                "glm": (),
                "ling3": ("bailing_moe_v3",),
                "poolside_v1": ("laguna",),
                "spark25": ("spark2_5",),
            },
        ),
        "mlx-lm": RuntimeParser("glm47", {"laguna": ("laguna",)}), "mlx-swift-lm": "glm4", "llama.cpp": "auto",
    },
)  # fmt: skip
