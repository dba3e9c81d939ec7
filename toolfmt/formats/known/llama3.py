"""A JSON object with `name` and `parameters` as the response, without markers.

    {"name": "get_weather", "parameters": {"city": "Paris"}}

It may also follow `<|python_tag|>` or Llama 4's `<|python_start|><|python_end|>`; sometimes `"type": "function"` comes
first. The templates render one call per turn. Models that are prompted to write several separate them with `;`, Llama 4
with nothing. An object in the middle of a line is text, and so is one with a name that is not a call. After
`<|python_tag|>`, one call or a list of calls may also be Python: `get_weather(city="Paris")`. Other code after it is
text if tools are passed; without them it looks like calls.
"""

from toolfmt.formats.engines.alternatives import Choice
from toolfmt.formats.engines.call_expression import CallExpression
from toolfmt.formats.engines.json_object import JsonObject
from toolfmt.formats.format import ToolCallFormat
from toolfmt.formats.runtime_parsers import RuntimeParser
from toolfmt.formats.values.syntaxes import CODE_CALL
from toolfmt.formats.values.value_writers import ReprValues

_TAG, _PAIR = "<|python_tag|>", "<|python_start|><|python_end|>"

FORMAT = ToolCallFormat(
    name="llama3",
    engine=Choice(
        JsonObject(also=(_TAG, _PAIR), unframed_openers=("{",), separator="; ", arguments_key="parameters"),
        CallExpression(also=(_TAG,), notation=CODE_CALL, written=ReprValues(), enclosing=("[", "]")),
    ),
    variants={
        "after Llama 4's pair": JsonObject(opener=_PAIR, enclosing=("", ""), separator="", arguments_key="parameters"),
        "without a sign between": JsonObject(separator="", arguments_key="parameters"),
    },
    page=__doc__ or "",
    instructions=(
        "To call a tool, answer with nothing but a JSON object that holds the tool's name and, as parameters, its "
        "arguments. Separate several such objects by semicolons."
    ),
    source=(
        "chat templates of meta-llama/Llama-3.1-8B-Instruct, Llama-3.2-3B-Instruct, Llama-3.3-70B-Instruct, "
        "Llama-4-Scout-17B-16E-Instruct",
        "vLLM, examples/tool_chat_template_llama4_json.jinja",
        "SGLang, llama32_detector.py, for the semicolon; mlx-swift-lm, the tests of its parser llama3, for Python",
    ),
    aliases=("llama3_json", "llama4_json"),
    families=("Llama 3.1-3.3", "Llama 3.2 Vision", "Llama 3.1 Nemotron 70B", "Arcee SuperNova", "KONI"),
    model_types=("mllama",),
    signatures=(
        r"""tool_call\.name \+ '", '\s*-?\}\}\s*\{\{-?\s*'"parameters": '""",
        r"""'\{"name": "' \+ tool_call\.function\.name \+ '", '\s*-?\}\}""",
    ),
    runtime_parsers={
        "vLLM": RuntimeParser("llama3_json", {"llama4_json": ()}),
        "SGLang": "llama3",
        "mlx-swift-lm": "llama3",
        "llama.cpp": "auto",
    },
    ignored_markers=("<|eot_id|>", "<|eom_id|>"),
)
