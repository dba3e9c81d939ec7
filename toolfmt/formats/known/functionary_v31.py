"""The tool's name in a tag, its arguments as JSON after it, then the closing tag.

    <function=get_weather>{"city": "Paris"}</function>

Llama 3.1's format for user-defined tools; Functionary 3.1 and Kanana 1.5 were trained on it. Several calls follow each
other without a separator. Code for the interpreter follows `<|python_tag|>` and is text here.
"""

from toolfmt.formats.engines.named_json import NamedJson
from toolfmt.formats.format import ToolCallFormat

FORMAT = ToolCallFormat(
    name="functionary_v31",
    engine=NamedJson(call_opener="<function=", separator=">", call_closer="</function>"),
    page=__doc__ or "",
    instructions=(
        "To call a tool, write <function=NAME> with the tool's name, its arguments as a JSON object and </function>, "
        "all on one line."
    ),
    source=(
        "chat templates of meetkai/functionary-medium-v3.1, kakaocorp/kanana-1.5-8b-instruct-2505",
        "Llama 3.1, prompt formats: user-defined custom tool calling",
    ),
    aliases=("functionary", "functionary_v3.1", "llama3_function"),
    families=("Functionary 3.1", "Kanana 1.5", "Llama 3.1 with custom functions"),
    signatures=(
        r"<function=example_function_name>\{",
        r"<function=' \+ tool_call\['function'\]\['name'\] \+ '>' \+ tool_call\['function'\]\['arguments'\]",
    ),
    runtime_parsers={"llama.cpp": "auto"},
)
