"""Calls written as code, one per line, between `<function_calls>` and `</function_calls>`.

    <function_calls>get_weather(city="Paris", days=3)
    now()</function_calls>

Values are JSON (`true`, `null`), strings are in double quotes. Newlines inside the tags and Python's quotes and
literals are parsed too. The OLMo 3 templates write no newlines next to the tags, vLLM's copy does.
"""

from dataclasses import replace

from toolfmt.formats.engines.call_expression import CallExpression
from toolfmt.formats.format import ToolCallFormat
from toolfmt.formats.values.syntaxes import CODE_CALL
from toolfmt.formats.values.value_writers import JsonValues, ReprValues

_ENGINE = CallExpression(
    opener="<function_calls>",
    closer="</function_calls>",
    named="(",
    notation=CODE_CALL,
    written=JsonValues(),
    enclosing=("", ""),
    between="\n",
)
FORMAT = ToolCallFormat(
    name="olmo3",
    engine=_ENGINE,
    variants={"on lines of their own, as Python": replace(_ENGINE, enclosing=("\n", "\n"), written=ReprValues())},
    page=__doc__ or "",
    instructions=(
        "To call tools, write <function_calls>, then one function call a line, arguments given by name and values as "
        "JSON, then </function_calls>."
    ),
    source=(
        "chat templates of allenai/Olmo-3-7B-Instruct, Olmo-3.1-32B-Instruct, Olmo-Hybrid-Instruct-SFT-7B",
        "vLLM's tool_chat_template_olmo3",
    ),
    aliases=("olmo_3", "olmo3_pythonic"),
    families=("OLMo 3", "OLMo 3.1", "OLMo Hybrid"),
    model_types=("olmo3", "olmo_hybrid"),
    signatures=(r"<function_calls>",),
    runtime_parsers={"vLLM": "olmo3"},
)
