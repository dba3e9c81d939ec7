"""An id, the tool's name and the arguments as JSON, each after its own token.

    <|tool_calls|><|tool_call:begin|>a1b2c3d4e5<|tool_call:name|>get_weather<|tool_call:args|>{"city": "Paris"}
    <|tool_call:end|><|calls|>

There is no whitespace between the tokens. The id, ten lowercase letters and digits, becomes the call's id; results
refer to it in the template. `<|calls|>` is the token at which most runtimes stop, so it may be missing. Reasoning, text
and calls are messages of one response: `<|end|>` and `<|begin|>assistant` between them, and `<|content|>` before text,
are dropped.
"""

from toolfmt.formats.engines.call_headers import IdThenName
from toolfmt.formats.engines.named_json import NamedJson
from toolfmt.formats.format import ToolCallFormat
from toolfmt.formats.runtime_parsers import RuntimeParser

FORMAT = ToolCallFormat(
    name="solar",
    engine=NamedJson(
        opener="<|tool_calls|>",
        call_opener="<|tool_call:begin|>",
        identity=IdThenName("<|tool_call:name|>", "call{number:06d}"),
        separator="<|tool_call:args|>",
        call_closer="<|tool_call:end|>",
    ),
    page=__doc__ or "",
    instructions=(
        "To call tools, write <|tool_calls|>, then for each call <|tool_call:begin|>, an id of ten letters and digits, "
        "<|tool_call:name|>, the tool's name, <|tool_call:args|>, its arguments as a JSON object and <|tool_call:end|>."
    ),
    source=("chat template of upstage/Solar-Open-100B",),
    aliases=("solar_open",),
    families=("Solar Open",),
    model_types=("solar_open",),
    signatures=(r"<\|tool_call:begin\|>",),
    call_id="call{number:06d}",
    runtime_parsers={"vLLM": RuntimeParser("solar_open", only_in="Upstage's fork")},
    reasoning=(("<|think|>", "<|end|>"),),
    ignored_markers=("<|calls|>", "<|begin|>assistant", "<|content|>", "<|end|>", "<|flush|>"),
)
