"""Name and arguments in their own pairs of tags, in one tag per call and one tag around all calls.

    <|plamo:begin_tool_requests:plamo|>
    <|plamo:begin_tool_request:plamo|>
    <|plamo:begin_tool_name:plamo|>get_weather<|plamo:end_tool_name:plamo|>
    <|plamo:begin_tool_arguments:plamo|><|plamo:constrain|>json<|plamo:msg|>{"city": "Paris"}
    <|plamo:end_tool_arguments:plamo|>
    <|plamo:end_tool_request:plamo|>
    <|plamo:end_tool_requests:plamo|>

(without the line breaks). `<|plamo:constrain|>json` is sometimes missing. Only parts of these tags are tokens of the
vocabulary, so they arrive in several chunks; `<|plamo:tag|>` ends the turn. Reasoning is between
`<|plamo:begin_think:plamo|>` and `<|plamo:end_think:plamo|>`; the start marker may be part of the prompt.
"""

from toolfmt.formats.engines.named_json import NamedJson
from toolfmt.formats.format import ToolCallFormat


def _tag(name: str) -> str:
    return f"<|plamo:{name}:plamo|>"


FORMAT = ToolCallFormat(
    name="plamo3",
    engine=NamedJson(
        opener=_tag("begin_tool_requests"),
        closer=_tag("end_tool_requests"),
        call_opener=_tag("begin_tool_request"),
        lead=_tag("begin_tool_name"),
        separator=_tag("end_tool_name") + _tag("begin_tool_arguments") + "<|plamo:constrain|>json<|plamo:msg|>",
        also_separators=tuple(
            _tag("end_tool_name") + newline + _tag("begin_tool_arguments") + kind
            for newline in ("", "\n")
            for kind in ("<|plamo:constrain|>json<|plamo:msg|>", "<|plamo:msg|>", "")
        ),
        call_closer=_tag("end_tool_arguments") + _tag("end_tool_request"),
    ),
    page=__doc__ or "",
    instructions=(
        "To call tools, write <|plamo:begin_tool_requests:plamo|>, then for each call "
        "<|plamo:begin_tool_request:plamo|>, the tool's name between <|plamo:begin_tool_name:plamo|> and "
        "<|plamo:end_tool_name:plamo|>, <|plamo:begin_tool_arguments:plamo|><|plamo:constrain|>json<|plamo:msg|>, its "
        "arguments as a JSON object, <|plamo:end_tool_arguments:plamo|> and <|plamo:end_tool_request:plamo|>, then "
        "<|plamo:end_tool_requests:plamo|>."
    ),
    source=("vLLM's parser plamo3, by the model's authors (vllm-project/vllm#54234, #56575), and its tests",),
    aliases=("plamo", "plamo-3"),
    families=("PLaMo 3",),
    model_types=("plamo3",),
    signatures=(r"plamo:begin_tool_request",),
    runtime_parsers={"vLLM": "plamo3"},
    reasoning=((_tag("begin_think"), _tag("end_think")),),
    ignored_markers=(_tag("end_tool_arguments"), _tag("end_tool_request"), _tag("end_tool_requests"), "<|plamo:tag|>"),
)
