"""A recipient on a separate line, then the content for it: a tool's name and its arguments, or `all` and text.

    >>>get_weather
    {"city": "Paris"}

Every part of a response has a recipient: text for the user follows `>>>all` and a newline, which is not content.
The prompt already ends with the first `>>>`, so the output usually starts with the name. A call has no end marker.
Code after `>>>python` is not a JSON object and stays text. The template requires arguments as a JSON string.
"""

from toolfmt.formats.engines.named_json import NamedJson
from toolfmt.formats.format import ToolCallFormat

FORMAT = ToolCallFormat(
    name="functionary_v32",
    engine=NamedJson(call_opener=">>>", separator="\n", name_at_start="usual"),
    page=__doc__ or "",
    instructions=(
        "To call a tool, write >>> and the tool's name on a separate line, then its arguments as a JSON object. To "
        "answer the user, write >>>all on a separate line, then the answer."
    ),
    source=("chat template of meetkai/functionary-medium-v3.2",),
    aliases=("functionary_v3.2",),
    families=("Functionary 3.2",),
    signatures=(r">>>\$\{recipient\}", r"'>>>all\\n'"),
    runtime_parsers={"llama.cpp": "auto"},
    ignored_markers=(">>>all\n",),
    ignored_at_start=("all\n",),
)
