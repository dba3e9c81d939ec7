"""Tags with quoted names: the calls of a turn are `<invoke>`s in one `<dots_function_call>`.

    <dots_function_call>
    <invoke name="get_weather">
    <parameter name="city">
    Paris
    </parameter>
    </invoke>
    </dots_function_call>

Exactly one newline on each side of a value belongs to the tags; values without newlines are parsed too. Values are raw:
only the tool's schema distinguishes a string `3` from a number. A JSON object with `name` and `arguments` in the same
block is parsed too.
"""

from dataclasses import replace

from toolfmt.formats.engines.alternatives import Choice
from toolfmt.formats.engines.json_object import JsonObject
from toolfmt.formats.engines.tagged import INVOKE_TAGS
from toolfmt.formats.format import ToolCallFormat

_OPENER, _CLOSER = "<dots_function_call>", "</dots_function_call>"

FORMAT = ToolCallFormat(
    name="dots",
    engine=Choice(
        replace(INVOKE_TAGS, opener=_OPENER, closer=_CLOSER, value_newline="\n"),
        JsonObject(opener=_OPENER, closer=_CLOSER, between="\n"),
    ),
    page=__doc__ or "",
    instructions=(
        'To call tools, write <dots_function_call>, then for each call <invoke name="NAME"> with the tool\'s name, '
        'each argument between <parameter name="KEY"> and </parameter> on lines of its own, and </invoke>, then '
        "</dots_function_call>. Write strings as they are, other values as JSON."
    ),
    source=("dots tool parsers of vLLM and SGLang", "descriptions of the chat template of dots-studio/dots3-note-prev"),
    aliases=("dots3", "dots3_note"),
    families=("dots3-note",),
    model_types=("dots3_note", "dots3_note_omni"),
    signatures=(r"<dots_function_call>",),
    runtime_parsers={"vLLM": "dots", "SGLang": "dots"},
)
