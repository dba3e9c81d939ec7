"""One message for each recipient: a tool's name and its arguments, or `all` and text for the user.

    <|from|>assistant
    <|recipient|>get_weather
    <|content|>{"city": "Paris"}

The prompt already ends with `<|recipient|>`, so the output usually starts with a name. Text for the user follows
`<|recipient|>all`, a newline and `<|content|>`. A call has no end marker: a message ends where the next one starts or
at `<|stop|>`. An invalid call is rejected up to there, and so is code after `<|recipient|>python`, which is not a JSON
object. If the output starts after `<|recipient|>`, the parser needs the end of the prompt (`prefix`) to know that. The
templates require arguments as a JSON string.
"""

from toolfmt.formats.engines.named_json import NamedJson
from toolfmt.formats.format import ToolCallFormat

_RECIPIENT = "<|recipient|>"
_SENDER = "<|from|>assistant\n"

FORMAT = ToolCallFormat(
    name="functionary_v2",
    engine=NamedJson(
        call_opener=_RECIPIENT,
        start_only_openers=(_RECIPIENT,),
        separator="\n<|content|>",
        also_separators=("<|content|>",),
        between="\n" + _SENDER,
        name_at_start="usual",
    ),
    page=__doc__ or "",
    instructions=(
        "To call a tool, write <|recipient|> and the tool's name on a separate line, then <|content|> and its "
        "arguments as a JSON object. Write a line <|from|>assistant before every further call. To answer the user, "
        "write <|recipient|>all on a separate line, then <|content|> and the answer."
    ),
    source=(
        "chat template of meetkai/functionary-medium-v2.2",
        "meetkai/functionary: the prompt template called v2, which reads 2.0 to 2.4",
    ),
    aliases=("functionary-v2", "functionary_v2.2", "functionary_v2.4"),
    families=("Functionary 2.0 to 2.4",),
    signatures=(r"<\|from\|>assistant(?:\n|\\n)<\|recipient\|>",),
    ignored_markers=(
        _SENDER,
        "<|from|> assistant\n",
        "<|recipient|>all\n<|content|>",
        "<|recipient|> all\n<|content|>",
        "<|stop|>",
    ),
    ignored_at_start=("all\n<|content|>",),
)
