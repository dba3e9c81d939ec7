"""The name, then keys and values, between Solar's own tokens.

    <|tool_call:start|>get_weather
    <|tool_arg:start|>city<|tool_arg:value|>Paris<|tool_arg:end|>
    <|tool_call:end|>

Each call starts on its own line. Values are raw, and newlines around them are part of them: only the tool's schema
distinguishes a string `3` from a number. A call without arguments is the name on the line of the start marker.
Reasoning is between `<|think:start|>` and `<|think:end|>`; the start marker is part of the prompt.
"""

from toolfmt.formats.engines.tagged import Tagged
from toolfmt.formats.format import ToolCallFormat
from toolfmt.formats.runtime_parsers import RuntimeParser

FORMAT = ToolCallFormat(
    name="solar_open2",
    engine=Tagged(
        opener="<|tool_call:start|>",
        closer="<|tool_call:end|>",
        key_opener="<|tool_arg:start|>",
        key_closer="<|tool_arg:value|>",
        value_closer="<|tool_arg:end|>",
        enclosing=("", "\n"),
        between_calls="\n<|tool_call:end|>\n<|tool_call:start|>",
    ),
    page=__doc__ or "",
    instructions=(
        "To call a tool, write <|tool_call:start|> and its name, then each argument on a separate line, its key "
        "between <|tool_arg:start|> and <|tool_arg:value|>, its value up to <|tool_arg:end|>, then <|tool_call:end|> "
        "on a separate line. Write strings as they are, other values as JSON."
    ),
    source=("chat template of upstage/Solar-Open2-250B", "Solar Open 2 tool parser of Upstage's vLLM"),
    aliases=("solar-open2",),
    families=("Solar Open 2",),
    model_types=("solar_open2",),
    signatures=(r"<\|tool_arg:start\|>",),
    runtime_parsers={"vLLM": RuntimeParser("solar_open2", only_in="Upstage's fork")},
    reasoning=(("<|think:start|>", "<|think:end|>"),),
)
