"""ATEM: every message has a recipient. A message to a tool contains the call, in tags with quoted names.

     to=self<|message|>I need the weather.<|eom|><|start|>assistant to=get_weather<|message|><atem:function_calls>
    <atem:invoke name="get_weather">
    <atem:parameter name="city">Paris</atem:parameter>
    </atem:invoke>
    </atem:function_calls><|eot|>

The prompt ends with `<|start|>assistant`, so the output starts with a space and its recipient. Messages of Muse to
itself are reasoning, messages to the user are content. Tags in either of them are not calls. Values are raw, including
all whitespace: only the tool's schema distinguishes a string `3` from a number. Each call is a message of its own.
"""

from toolfmt.formats.engines.channels import Channels
from toolfmt.formats.engines.tag_attributes import QUOTED
from toolfmt.formats.engines.tagged import Tagged
from toolfmt.formats.format import ToolCallFormat
from toolfmt.formats.runtime_parsers import RuntimeParser

FORMAT = ToolCallFormat(
    name="atem",
    engine=Channels(
        header=" to=",
        start_only_openers=("to=",),
        also_closers=("<|eom|>", "<|eot|>"),
        message="<|message|>",
        others=("self", "user", "commentary"),
        between="<|eom|><|start|>assistant",
        name_at_start="tolerated",
        body=Tagged(
            opener="<atem:function_calls>",
            closer="</atem:function_calls>",
            name_opener='<atem:invoke name="',
            name_closer=">",
            name_header=QUOTED,
            call_closer="</atem:invoke>",
            key_opener='<atem:parameter name="',
            key_closer=">",
            key_header=QUOTED,
            value_closer="</atem:parameter>",
        ),
    ),
    page=__doc__ or "",
    instructions=(
        'To call a tool, write to=NAME<|message|><atem:function_calls>, then <atem:invoke name="NAME">, each argument '
        'between <atem:parameter name="KEY"> and </atem:parameter>, then </atem:invoke> and </atem:function_calls>. '
        "Write strings as they are, other values as JSON."
    ),
    source=("chat template of meta-models/Muse-Glimmer-30B", "vLLM's parser muse_glimmer, which ports the model's own"),
    aliases=("muse", "muse_glimmer", "muse_spark", "musespark1x", "muse-atem"),
    families=("Muse Glimmer", "Muse Spark"),
    model_types=("muse_glimmer", "muse_spark"),
    signatures=(r"<atem:",),
    runtime_parsers={
        "vLLM": RuntimeParser("muse_glimmer", {"muse": (), "musespark1x": ()}),
        "SGLang": "muse", "mlx-lm": "muse_spark", "mlx-swift-lm": "atem", "llama.cpp": "auto",
    },
    reasoning=tuple(("to=self<|message|>", closer) for closer in ("<|eom|>", "<|eot|>", "<|start|>assistant")),
    ignored_at_start=("<|message|>",),
    between=("to=self<|message|>", "to="),
    ignored_markers=(
        "to=user<|message|>", "to=commentary<|message|>", "<|start|>assistant<|message|>", "<|start|>assistant",
        "<|eom|>", "<|eot|>",
    ),
)  # fmt: skip
