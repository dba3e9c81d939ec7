"""A JSON list of calls after `<|tool_call|>`, without an end marker.

    <|tool_call|>[{"name": "get_weather", "arguments": {"city": "Paris"}}]

The templates of Granite 3 list the tools and drop the calls of earlier turns; vLLM's templates for it print the list on
several lines. Granite 3.1 writes `<tool_call>` before the list, or nothing if a detokenizer drops special tokens. Some
fine-tunes put OpenAI's call objects into the list, others write one object per call with `<|tool_call_end|>` after it.
All of these are parsed. Granite 3.2 writes its reasoning between two sentences, later models between `<think>` tags.
"""

from toolfmt.formats.engines.json_object import JsonObject
from toolfmt.formats.format import THINK, ToolCallFormat
from toolfmt.formats.values.json_layout import WrittenObject
from toolfmt.formats.values.json_style import JsonStyle

_OPENER, _OTHER_CLOSER = "<|tool_call|>", "<|tool_call_end|>"


_INDENTED = WrittenObject(
    ('    {\n        "name": ', "name", ',\n        "arguments": ', "arguments", "\n    }"),
    JsonStyle(comma=",", indent=4, margin=" " * 8),
)
FORMAT = ToolCallFormat(
    name="granite",
    engine=JsonObject(
        opener=_OPENER,
        also=("<tool_call>",),
        also_closers=(_OTHER_CLOSER, "</tool_call>"),
        unframed_openers=("[",),
        enclosing=("[", "]"),
        separator=", ",
    ),
    variants={
        "on several lines": JsonObject(opener=_OPENER, enclosing=("[\n", "\n]"), separator=",\n", written=_INDENTED),
        "one object a frame": JsonObject(opener=_OPENER, closer=_OTHER_CLOSER, between="\n"),
    },
    page=__doc__ or "",
    instructions=(
        "To call tools, answer with <|tool_call|> followed by a JSON list of objects, each of which holds a tool's "
        "name and its arguments."
    ),
    source=(
        "chat templates of ibm-granite/granite-3.0-8b-instruct, granite-3.1-8b-instruct, granite-3.3-2b-instruct",
        "vLLM, examples/tool_chat_template_granite.jinja",
        "chat template of kerzgrr/Monostich-2-base, for OpenAI's call objects",
    ),
    aliases=("granite3",),
    families=("Granite 3.0-3.3", "Granite 4.0 Tiny Preview", "Monostich 2"),
    model_types=("granite", "granitemoe", "granitemoeshared", "granite_speech"),
    signatures=(r"<\|tool_call\|>(?!\\n\{| and <)",),
    runtime_parsers={"vLLM": "granite"},
    reasoning=(THINK, ("Here is my thought process:", "Here is my response:")),
)
