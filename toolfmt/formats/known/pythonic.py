"""Calls written as Python, in a list without markers.

    [get_weather(city="Paris", days=3), now()]

The list is parsed if the output or a line starts with it, and only if nothing, a newline or another sentence follows: a
comparison, a comprehension, a link or the start of a sentence is content. The parser waits for at most 400 characters
to decide this. Prompted models omit the brackets: a call of a declared tool that is a whole output or line is parsed,
as a tolerance. Llama 4 sometimes puts the list between `<|python_start|>` and `<|python_end|>`. The templates of this
family render history that is not valid Python (strings without quotes, missing commas); it is parsed as far as it is
unambiguous.
"""

from toolfmt.formats.engines.call_expression import CallExpression
from toolfmt.formats.format import ToolCallFormat
from toolfmt.formats.runtime_parsers import RuntimeParser
from toolfmt.formats.values.syntaxes import CODE_CALL
from toolfmt.formats.values.value_writers import PythonValues

FORMAT = ToolCallFormat(
    name="pythonic",
    engine=CallExpression(
        also=("<|python_start|>",),
        also_closers=("<|python_end|>",),
        unframed_openers=("[",),
        named="(",
        notation=CODE_CALL,
        written=PythonValues(),
        enclosing=("[", "]"),
    ),
    page=__doc__ or "",
    instructions=(
        "To call tools, answer with a list of Python function calls, arguments given by name, in the format "
        "[NAME(KEY=VALUE, …), …] and with nothing else on these lines."
    ),
    source=(
        "Llama 4 and Llama 3.2 prompt formats, section Zero-shot function calling",
        "chat templates of Team-ACE/ToolACE-8B (vLLM), typhoon-ai/typhoon2.1-gemma3-4b, google/gemma-3 (vLLM)",
    ),
    aliases=("llama4_pythonic", "toolace"),
    families=("Llama 4", "Llama 3.2 (lightweight)", "ToolACE", "Typhoon 2.1 Gemma 3"),
    signatures=(r"\[func_name1\(params_name1=",),
    runtime_parsers={
        "vLLM": RuntimeParser("pythonic", {"llama4_pythonic": ("llama4", "llama4_text")}),
        "SGLang": "pythonic",
    },
)
