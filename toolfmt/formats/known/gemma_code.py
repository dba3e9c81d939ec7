"""Python calls in a `tool_code` code fence, which a prompt describes to Gemma 3.

    ```tool_code
    get_weather(city="Paris", days=3)
    now()
    ```

Gemma 3 has no tool calls of its own: neither its template nor its special tokens support them. One call per line,
arguments by name. A fence with a program instead of calls is content, and is rejected if it calls a declared tool.
Results are passed in a `tool_output` fence.
"""

from toolfmt.formats.engines.call_expression import CallExpression
from toolfmt.formats.format import ToolCallFormat
from toolfmt.formats.values.syntaxes import CODE_CALL
from toolfmt.formats.values.value_writers import PythonValues

FORMAT = ToolCallFormat(
    name="gemma_code",
    engine=CallExpression(
        opener="```tool_code",
        closer="```",
        named="(",
        notation=CODE_CALL,
        written=PythonValues(),
        enclosing=("\n", "\n"),
        between="\n",
    ),
    page=__doc__ or "",
    instructions=(
        "To call tools, write a fence that begins with ```tool_code and ends with ```, and in it one Python function "
        "call a line, arguments given by name."
    ),
    source=("Google AI for Developers, Gemma: Meme generator (function calling with Gemma)", "Gemma Cookbook"),
    aliases=("tool_code",),
    families=("Gemma 3 by prompt",),
    model_types=("gemma3", "gemma3n"),
    signatures=(r"```tool_code",),
)
