"""Calls written as Python, in a list and without any frame.

    [get_weather(city="Paris", days=3), now()]

The list is read where the answer or a line begins with it, and only where nothing, the line's end or another sentence
follows it: a comparison, a comprehension, a link or a sentence that goes on is content. Until that is known it waits,
400 characters at most. Prompted models leave the brackets out: a call of a declared tool that is all of an answer or of
a line is read, and noted. Llama 4 puts the list between `<|python_start|>` and `<|python_end|>` now and then. The
templates of this family render history that is not Python (strings without quotes, commas left out); it is read as far
as it is clear.
"""

from toolfmt.formats.call_expression import CallExpression
from toolfmt.formats.format import ToolCallFormat
from toolfmt.formats.runtime_parsers import RuntimeParser
from toolfmt.formats.value_writers import PythonValues
from toolfmt.formats.values import CODE_CALL

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
