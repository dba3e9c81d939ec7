"""MiniCPM 3's calls: Python in a code fence, between `<|tool_call_start|>` and `<|tool_call_end|>`.

    <|tool_call_start|>
    ```python
    get_weather(city="Paris",days=3)
    now()
    ```
    <|tool_call_end|>

One call per line. Values are JSON (`true`, `null`); Python's literals are parsed too, and so are calls without the
fence. Text between `<|thought_start|>` and `<|thought_end|>` is reasoning.
"""

from toolfmt.formats.engines.call_expression import CallExpression
from toolfmt.formats.format import THINK, ToolCallFormat
from toolfmt.formats.runtime_parsers import RuntimeParser
from toolfmt.formats.values.syntaxes import CODE_CALL
from toolfmt.formats.values.value_writers import JsonValues

FORMAT = ToolCallFormat(
    name="minicpm3",
    engine=CallExpression(
        opener="<|tool_call_start|>",
        closer="<|tool_call_end|>",
        named="(",
        notation=CODE_CALL,
        written=JsonValues(),
        separator=",",
        enclosing=("\n```python\n", "\n```\n"),
        between="\n",
    ),
    page=__doc__ or "",
    instructions=(
        "To call tools, write <|tool_call_start|>, then a ```python fence with one function call a line, arguments "
        "given by name, then <|tool_call_end|>."
    ),
    source=("chat template of openbmb/MiniCPM3-4B", "OpenBMB's parser for vLLM, minicpm"),
    aliases=("minicpm",),
    families=("MiniCPM 3", "MiniCPM 4 MCP"),
    model_types=("minicpm3",),
    signatures=(r"<\|thought_start\|>",),
    runtime_parsers={"vLLM": RuntimeParser("minicpm", only_in="OpenBMB's fork")},
    reasoning=(("<|thought_start|>", "<|thought_end|>"), THINK),
)
