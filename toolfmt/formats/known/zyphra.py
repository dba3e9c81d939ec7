"""A function tag with parameter tags and raw values in it, inside `<zyphra_tool_call>`.

    <zyphra_tool_call>
    <function=get_weather>
    <parameter=city>
    Paris
    </parameter>
    </function>
    </zyphra_tool_call>

The body is that of `xml_function`; only the outer tags are ZAYA's. Exactly one newline on each side of a value belongs
to the tags. Values are raw: only the tool's schema distinguishes a string `3` from a number, and the template writes
Python's `True` and `None`.
"""

from dataclasses import replace

from toolfmt.formats.engines.tagged import FUNCTION_TAGS
from toolfmt.formats.format import ToolCallFormat
from toolfmt.formats.runtime_parsers import RuntimeParser

FORMAT = ToolCallFormat(
    name="zyphra",
    engine=replace(FUNCTION_TAGS, opener="<zyphra_tool_call>", closer="</zyphra_tool_call>"),
    page=__doc__ or "",
    instructions=(
        "To call a tool, write <zyphra_tool_call>, then <function=NAME> with the tool's name, then each argument "
        "between <parameter=KEY> and </parameter> on lines of its own, then </function> and </zyphra_tool_call>. Write "
        "strings as they are, other values as JSON."
    ),
    source=("chat template of OsaurusAI/Osaurus-AppleScript-8B-JANG_6M", "ZAYA tool parser of Zyphra's vLLM"),
    aliases=("zaya_xml", "zaya"),
    families=("ZAYA1", "Osaurus-AppleScript"),
    model_types=("zaya", "zaya1_vl"),
    signatures=(r"<zyphra_tool_call>",),
    runtime_parsers={"vLLM": RuntimeParser("zaya_xml", only_in="Zyphra's fork"), "llama.cpp": "auto"},
)
