"""One of Llama 3's reserved tokens, the tool's name on a line, its arguments as JSON on the next.

    <|reserved_special_token_249|>get_weather
    {"city": "Paris"}

Text for the user comes before the first call, without markers. Several calls follow each other without a separator; a
call has no end marker. A detokenizer that drops special tokens drops the start marker; the call is then content. Code
after the name `python` is not a JSON object and stays text. The template requires arguments as a JSON string.
"""

from toolfmt.formats.engines.named_json import NamedJson
from toolfmt.formats.format import ToolCallFormat

FORMAT = ToolCallFormat(
    name="functionary_v25",
    engine=NamedJson(call_opener="<|reserved_special_token_249|>", separator="\n"),
    page=__doc__ or "",
    instructions=(
        "To call a tool, write <|reserved_special_token_249|> and the tool's name on a separate line, then its "
        "arguments as a JSON object on the next line."
    ),
    source=(
        "chat template of meetkai/functionary-small-v2.5",
        "meetkai/functionary: the prompt template called v2.llama3",
    ),
    aliases=("functionary_v2.5", "functionary_small_v2.5", "functionary_small_v25", "functionary_v2.llama3"),
    families=("Functionary 2.5",),
    signatures=(r"<\|reserved_special_token_249\|>['\"] ?\+ ?tool_call",),
)
