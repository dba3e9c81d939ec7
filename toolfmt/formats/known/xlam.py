"""A JSON list of calls, usually without markers.

    [{"name": "get_weather", "arguments": {"city": "Paris"}}]

The templates of xLAM 2 write the bare list as the whole turn. Its models, and others with the same template, also put
it into a Markdown code fence, after `[TOOL_CALLS]`, or between `<tool_call>` and `</tool_call>`. All are parsed.
Without markers, a list is a call only at the start of the output or of a line, and only if it starts with a call: an
empty list, or a list of anything else, is content.
"""

from toolfmt.formats.engines.json_object import JsonObject
from toolfmt.formats.format import ToolCallFormat

FORMAT = ToolCallFormat(
    name="xlam",
    engine=JsonObject(
        opener="",
        also=("[TOOL_CALLS]", "<tool_call>"),
        also_closers=("</tool_call>",),
        unframed_openers=("[", "```"),
        enclosing=("[", "]"),
        separator=", ",
    ),
    page=__doc__ or "",
    instructions=(
        "To call tools, answer with nothing but a JSON list; each call in it is an object that holds the tool's name "
        "and its arguments."
    ),
    source=(
        "chat templates of Salesforce/Llama-xLAM-2-8b-fc-r, Salesforce/xLAM-2-32b-fc-r, DeepHat/DeepHat-V1-7B, "
        "arcee-ai/Virtuoso-Lite",
        "vLLM, tests of the tool parser xlam",
    ),
    aliases=("xlam2", "xlam-2"),
    families=("xLAM 2", "DeepHat", "Virtuoso Lite"),
    model_types=(),
    signatures=(r"make calls in a single JSON array", r'"\]<\|eot_id\|>"', r"<tool_call>\[(?:\\n|\s)*\{"),
    runtime_parsers={"vLLM": "xlam"},
)
