"""GLM's body in tags of its own, all calls of a turn in one `<ifm|tool_calls>`.

    <ifm|tool_calls>
    <ifm|tool_call>get_weather
    <ifm|arg_key>city</ifm|arg_key>
    <ifm|arg_value>Paris</ifm|arg_value>
    </ifm|tool_call>
    </ifm|tool_calls>

This is the template's default. With `tool_call_format="json"` a call is one JSON object with `name` and `arguments` in
`<ifm|tool_call>`, which is parsed too, and so is a call without the outer tags. The outer tags count as part of the
markers of the first and the last call: the calls of a turn start with `<ifm|tool_calls>
<ifm|tool_call>` and end with `</ifm|tool_call>
</ifm|tool_calls>`. Values are raw: only the tool's schema distinguishes a string `3` from a number. Reasoning is in
`<ifm|think>`, `<ifm|think_fast>` or `<ifm|think_faster>`, depending on the effort; the start tag is in the prompt.
"""

from toolfmt.formats.engines.alternatives import Choice
from toolfmt.formats.engines.json_object import JsonObject
from toolfmt.formats.engines.tagged import Tagged
from toolfmt.formats.format import ToolCallFormat

_LINE_ENDS = ("\n", "", "\r\n")
_OPENER, *_ALSO = (*(f"<ifm|tool_calls>{line_end}<ifm|tool_call>" for line_end in _LINE_ENDS), "<ifm|tool_call>")
_CLOSER, *_ALSO_CLOSERS = (
    *(f"</ifm|tool_call>{line_end}</ifm|tool_calls>" for line_end in _LINE_ENDS),
    "</ifm|tool_call>",
)

FORMAT = ToolCallFormat(
    name="k2_horizon",
    engine=Choice(
        Tagged(
            opener=_OPENER,
            closer=_CLOSER,
            also=tuple(_ALSO),
            also_closers=tuple(_ALSO_CLOSERS),
            key_opener="<ifm|arg_key>",
            key_closer="</ifm|arg_key>",
            value_opener="<ifm|arg_value>",
            value_closer="</ifm|arg_value>",
            type_tag=("<ifm|arg_type>", "</ifm|arg_type>"),
            enclosing=("", "\n"),
            between_calls="\n</ifm|tool_call>\n<ifm|tool_call>",
        ),
        JsonObject(opener=_OPENER, closer=_CLOSER, also=tuple(_ALSO), also_closers=tuple(_ALSO_CLOSERS)),
    ),
    page=__doc__ or "",
    instructions=(
        "To call tools, write <ifm|tool_calls>, then for each call <ifm|tool_call> and the tool's name, each "
        "argument's key between <ifm|arg_key> and </ifm|arg_key> and its value between <ifm|arg_value> and "
        "</ifm|arg_value>, and </ifm|tool_call>, then </ifm|tool_calls>. Write strings as they are, other values as "
        "JSON."
    ),
    source=("chat template of IFM/K2-Horizon-7B", "K2 Horizon tool parsers of SGLang and vLLM"),
    aliases=("k2_v3",),
    families=("K2 Horizon",),
    model_types=("k2_horizon",),
    signatures=(r"<ifm\|tool_call",),
    runtime_parsers={"vLLM": "k2_horizon", "SGLang": "k2_horizon"},
    reasoning=tuple((f"<ifm|{tag}>", f"</ifm|{tag}>") for tag in ("think", "think_fast", "think_faster")),
)
