"""Channels and tags built from three tokens; an attribute has the type of each argument.

    <|open|>tools<|sep|><|open|>call tool="get_weather" index="1"<|sep|>
    <|open|>argument key="city" type="string"<|sep|>Paris<|close|>argument<|sep|>
    <|close|>call<|sep|><|close|>tools<|sep|>

There are no newlines between tags. Only `<|open|>`, `<|close|>` and `<|sep|>` are special tokens. With `type="string"`
the raw text is the string, with any other type it is JSON. In names and keys, `&` and `"` are escaped as `&amp;` and
`&quot;`; in a value, nothing is escaped. Before the calls comes the text for the user in a channel `response`, often
empty, and before that the channel `think`, which the prompt starts. The tags of both are dropped. `index` counts from 1
and is not an id.
"""

from toolfmt.formats.engines.tag_attributes import EscapedAttributes
from toolfmt.formats.engines.tagged import Tagged
from toolfmt.formats.format import ToolCallFormat
from toolfmt.formats.values.value_writers import TextBesideType

_OTHER_TYPES = ("number", "integer", "boolean", "object", "array", "null")
_THINK, _RESPONSE = "<|open|>think<|sep|>", "<|open|>response<|sep|>"

FORMAT = ToolCallFormat(
    name="kimi_k3",
    engine=Tagged(
        opener="<|open|>tools<|sep|>",
        closer="<|close|>tools<|sep|>",
        enclosing=("", ""),
        name_opener='<|open|>call tool="',
        name_closer="<|sep|>",
        name_header=EscapedAttributes(index_attribute="index"),
        call_closer="<|close|>call<|sep|>",
        key_opener='<|open|>argument key="',
        key_closer="<|sep|>",
        key_header=EscapedAttributes(type_attribute="type", string="string", other_types=_OTHER_TYPES),
        value_closer="<|close|>argument<|sep|>",
        json_arguments=('<|open|>json type="object"<|sep|>', "<|close|>json<|sep|>"),
        write_value=TextBesideType(),
        between="", between_calls="",
    ),
    page=__doc__ or "",
    instructions=(
        'To call tools, write <|open|>tools<|sep|>, then for each call <|open|>call tool="NAME" index="1"<|sep|> with '
        'the tool\'s name and the call\'s number, each argument between <|open|>argument key="KEY" type="string"<|sep|>'
        " and <|close|>argument<|sep|>, and <|close|>call<|sep|>, then <|close|>tools<|sep|>. Write strings as they "
        "are; write any other value as JSON, with its JSON type for `string`."
    ),
    source=("chat template of moonshotai/Kimi-K3", "Kimi K3 tool parsers of SGLang and mlx-lm"),
    aliases=("kimi_k3_xtml",),
    families=("Kimi K3",),
    model_types=("kimi_k3",),
    signatures=(r"<\|open\|>",),
    runtime_parsers={"vLLM": "kimi_k3", "SGLang": "kimi_k3", "mlx-lm": "kimi_k3", "llama.cpp": "auto"},
    reasoning=((_THINK, "<|close|>think<|sep|>"), (_THINK, _RESPONSE)),
    ignored_markers=(_RESPONSE, "<|close|>response<|sep|>", "<|close|>message<|sep|>"),
    headers=(r'<\|open\|>message role="assistant"<\|sep\|>',),
)  # fmt: skip
