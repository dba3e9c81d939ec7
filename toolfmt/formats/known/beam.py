"""Harmony's messages with parameter tags: the header of a message names the tool, the body contains the arguments.

    <|channel|>analysis<|message|>I need the weather.<|end|><|start|>assistant
     to=get_weather<|channel|>analysis <|constrain|>xml<|message|><rfl:parameter name="city">
    Paris
    </rfl:parameter><|call|>

(without the line break before ` to=`). The prompt ends with `<|start|>assistant`, so the output starts with a space and
the recipient, or with a channel. Exactly one newline on each side of a value belongs to the tags; values without
newlines are parsed too. Values are raw: only the tool's schema distinguishes a string `3` from a number. Messages in
the channel `analysis` without a recipient are reasoning, `final` is content. One call per message. The last message
ends with the stop token `<|call|>`, which many runtimes strip. Therefore a call at the end of the output is accepted
without it, as by the parsers of vLLM and SGLang. `finish(cut=True)` rejects such a call, because arguments may be
missing. The writer ends every call with `<|call|>`; models end all but the last one with `<|end|>`.
"""

from toolfmt.formats.engines.tag_attributes import QUOTED
from toolfmt.formats.engines.tagged import Tagged
from toolfmt.formats.format import ToolCallFormat

_NEXT = "<|start|>assistant"
_THINKING = "<|channel|>analysis<|message|>"

FORMAT = ToolCallFormat(
    name="beam",
    engine=Tagged(
        closer="<|call|>",
        also_closers=("<|end|>", "<|return|>"),
        start_only_openers=("to=",),
        name_opener=" to=",
        name_closer="<|channel|>analysis <|constrain|>xml<|message|>",
        key_opener='<rfl:parameter name="',
        key_closer=">",
        key_header=QUOTED,
        value_closer="</rfl:parameter>",
        value_newline="\n",
        skipped=(_NEXT,),
        end_is_stop_token=True,
        between="",
        between_calls=_NEXT,
    ),
    page=__doc__ or "",
    instructions=(
        "To call a tool, write to=NAME<|channel|>analysis <|constrain|>xml<|message|> with its name, then each "
        'argument between <rfl:parameter name="KEY"> and </rfl:parameter> on lines of its own, then <|call|>. Write '
        "strings as they are, other values as JSON. One call a message."
    ),
    source=(
        "SGLang, srt/parser/beam.py: the response_template for Beam",
        "vLLM's parser beam, which reads the response_template of reflection/Beam-1.0-501B-A23B",
    ),
    families=("Beam",),
    model_types=("beam",),
    signatures=(r"<rfl:parameter",),
    runtime_parsers={"vLLM": "beam", "SGLang": "beam"},
    reasoning=((_THINKING, "<|end|>"), (_THINKING, _NEXT)),
    ignored_markers=("<|channel|>final<|message|>", _NEXT, "<|end|>", "<|return|>", "<|call|>"),
)
