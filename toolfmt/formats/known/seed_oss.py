"""A function tag with parameter tags in it, each value on the line of its tags, inside `<seed:tool_call>`.

    <seed:tool_call>
    <function=get_weather>
    <parameter=city>Paris</parameter>
    </function>
    </seed:tool_call>

Every call has its own block. Newlines around a value are part of it. Values are raw: only the tool's schema
distinguishes a string `3` from a number. The template writes Python's `True`, `None` and `['a', 'b']`. Reasoning is
between `<seed:think>` and `</seed:think>`.
"""

from dataclasses import replace

from toolfmt.formats.engines.tagged import FUNCTION_TAGS
from toolfmt.formats.format import ToolCallFormat

FORMAT = ToolCallFormat(
    name="seed_oss",
    engine=replace(FUNCTION_TAGS, opener="<seed:tool_call>", closer="</seed:tool_call>", value_newline=""),
    page=__doc__ or "",
    instructions=(
        "To call a tool, write <seed:tool_call>, then <function=NAME> with the tool's name, then each argument between "
        "<parameter=KEY> and </parameter>, then </function> and </seed:tool_call>. Write strings as they are, other "
        "values as JSON."
    ),
    source=("chat template of ByteDance-Seed/Seed-OSS-36B-Instruct",),
    aliases=("seed-oss", "seed"),
    families=("Seed-OSS",),
    model_types=("seed_oss",),
    signatures=(r"<seed:tool_call>",),
    runtime_parsers={"vLLM": "seed_oss", "llama.cpp": "auto"},
    reasoning=(("<seed:think>", "</seed:think>"),),
)
