"""The text `function`, the tool's name and its arguments as JSON, each on its own line, between two tokens.

    <|CALL_START|>function
    get_weather
    {"city": "Paris"}<|CALL_END|>

Several calls follow each other without a separator. Step-Audio 2 writes the same between `<tool_call>` and
`</tool_call>`. The prompt starts a `<think>` block; results are passed under the role `function_output`.
"""

from toolfmt.formats.engines.alternatives import Choice
from toolfmt.formats.engines.named_json import NamedJson
from toolfmt.formats.format import ToolCallFormat
from toolfmt.formats.runtime_parsers import RuntimeParser

FORMAT = ToolCallFormat(
    name="step_audio",
    engine=Choice(
        NamedJson(call_opener="<|CALL_START|>", lead="function\n", separator="\n", call_closer="<|CALL_END|>"),
        NamedJson(call_opener="<tool_call>", lead="function\n", separator="\n", call_closer="</tool_call>"),
    ),
    page=__doc__ or "",
    instructions=(
        "To call a tool, write <|CALL_START|>function, the tool's name on the next line, its arguments as a JSON "
        "object on the line below and <|CALL_END|>."
    ),
    source=("chat template of stepfun-ai/Step-Audio-R1.1", "SGLang and vLLM forks for Step-Audio 2: step_audio_2"),
    aliases=("step_audio_2", "step_audio2"),
    families=("Step-Audio R1", "Step-Audio 2"),
    model_types=("step_audio_2",),
    signatures=(r"<\|CALL_START\|>",),
    runtime_parsers={
        "vLLM": RuntimeParser("step_audio_2", only_in="StepFun's forks"),
        "SGLang": RuntimeParser("step_audio_2", only_in="StepFun's forks"),
    },
)
