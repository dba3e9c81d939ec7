"""StepFun's XML, all calls of a turn between `<｜tool_calls_begin｜>` and `<｜tool_calls_end｜>`.

    <｜tool_calls_begin｜>
    <｜tool_call_begin｜>
    function<｜tool_sep｜><steptml:invoke name="get_weather"><steptml:parameter name="city">Paris</steptml:parameter>
    </steptml:invoke><｜tool_call_end｜>
    <｜tool_calls_end｜>

There is no newline within an invoke. The template describes this format, but misspells the marker in the calls of
earlier turns, `<｜tool_call_begin>｜>`; both are parsed, the correct one is written. Values are raw: only the tool's
schema distinguishes a string `3` from a number, and the template writes Python's `True`, `None` and quotes. Newlines
around a value are part of it.
"""

from toolfmt.formats.engines.tag_attributes import QUOTED
from toolfmt.formats.engines.tagged import Tagged
from toolfmt.formats.format import ToolCallFormat

FORMAT = ToolCallFormat(
    name="step3",
    engine=Tagged(
        opener="<｜tool_calls_begin｜>",
        closer="<｜tool_calls_end｜>",
        enclosing=("\n", "\n"),
        name_opener='<steptml:invoke name="',
        name_closer=">",
        name_header=QUOTED,
        call_closer="</steptml:invoke>",
        key_opener='<steptml:parameter name="',
        key_closer=">",
        key_header=QUOTED,
        value_closer="</steptml:parameter>",
        before_name="<｜tool_call_begin｜>\nfunction<｜tool_sep｜>",
        after_call="<｜tool_call_end｜>",
        skipped=(
            "<｜tool_call_begin｜>", "<｜tool_call_begin>｜>", "function", "<｜tool_sep｜>", "<｜tool_call_end｜>",
        ),
        between="",
    ),
    page=__doc__ or "",
    instructions=(
        "To call tools, write <｜tool_calls_begin｜> on a separate line. For each call write <｜tool_call_begin｜> "
        'on a separate line, then function<｜tool_sep｜><steptml:invoke name="NAME"> with the tool\'s name, each '
        'argument between <steptml:parameter name="KEY"> and </steptml:parameter>, </steptml:invoke> and '
        "<｜tool_call_end｜>. End with <｜tool_calls_end｜>. Write strings as they are, other values as JSON."
    ),
    source=("chat template of stepfun-ai/step3", "Step 3 tool parsers of vLLM and SGLang"),
    aliases=("steptml",),
    families=("Step 3",),
    model_types=("step3_vl", "step3_text"),
    signatures=(r"<steptml:invoke",),
    runtime_parsers={"vLLM": "step3", "SGLang": "step3", "llama.cpp": "auto"},
)  # fmt: skip
