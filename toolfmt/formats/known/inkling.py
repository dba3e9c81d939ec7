"""Every message declares its content; a call names the tool in the message's header and in a JSON object.

    <|message_model|><|content_thinking|>I need the weather.<|end_message|>
    <|message_model|>get_weather<|content_invoke_tool_json|>{"name":"get_weather","args":{"city":"Paris"}}<|end_message|>
    <|content_model_end_sampling|>

(without the line breaks). The name in the header may be missing, and `<|message_model|>` may be part of the prompt.
`<|content_thinking|>` contains reasoning, `<|content_text|>` text for the user. The input of a tool that takes plain
text, `<|content_invoke_tool_text|>`, is content too. The keys of the arguments are sorted.
"""

from toolfmt.formats.engines.alternatives import Choice
from toolfmt.formats.engines.channels import Channels
from toolfmt.formats.engines.json_object import JsonObject
from toolfmt.formats.format import ToolCallFormat
from toolfmt.formats.values.json_layout import WrittenObject
from toolfmt.formats.values.json_style import JsonStyle

_MESSAGE, _CALL, _END = "<|message_model|>", "<|content_invoke_tool_json|>", "<|end_message|>"
_STOP = "<|content_model_end_sampling|>"


_OBJECT = WrittenObject(
    ('{"name":', "name", ',"args":', "arguments", "}"), JsonStyle(comma=",", colon=":", sort_keys=True)
)
_BODY = JsonObject(
    opener=_CALL, closer=_END, also_closers=(_STOP,), separator="", arguments_key="args", written=_OBJECT
)

FORMAT = ToolCallFormat(
    name="inkling",
    engine=Choice(Channels(header=_MESSAGE, opener=_MESSAGE, message="", name_at_start="usual", body=_BODY), _BODY),
    page=__doc__ or "",
    instructions=(
        "To call a tool, write <|message_model|>, the tool's name and <|content_invoke_tool_json|>, then a JSON object "
        "that holds its name and, as args, its arguments, then <|end_message|>. One such message for each call."
    ),
    source=(
        "vLLM's parser inkling and its tests",
        "SGLang, inkling_renderer.py and inkling_detector.py",
    ),
    aliases=("tml", "tml_inkling"),
    families=("Inkling",),
    model_types=("inkling",),
    signatures=(r"<\|content_invoke_tool_json\|>",),
    runtime_parsers={"vLLM": "inkling", "SGLang": "inkling"},
    reasoning=(("<|content_thinking|>", _END), ("<|content_thinking|>", _STOP)),
    ignored_markers=(
        _MESSAGE, _END, _STOP, "<|content_text|>", "<|content_invoke_tool_text|>", "<|content_tool_error|>",
        "<|content_invoke_tool|>", "<|model_trigger_generation|>",
    ),
)  # fmt: skip
