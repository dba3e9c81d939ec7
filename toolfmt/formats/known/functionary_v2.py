"""A message for every recipient: a tool's name and its arguments, or `all` and text for the user.

    <|from|>assistant
    <|recipient|>get_weather
    <|content|>{"city": "Paris"}

The prompt ends with `<|recipient|>` already, so the answer usually begins with a name. Text for the user stands behind
`<|recipient|>all`, a newline and `<|content|>`. Nothing closes a call: a message ends where the next one begins or at
`<|stop|>`. A call that goes wrong is rejected up to there, and so is code behind `<|recipient|>python`, which is no
JSON object. Where the answer begins behind `<|recipient|>` the parser must be given the prompt's tail to know that. The
templates want arguments as a JSON string.
"""

from toolfmt.formats.format import ToolCallFormat
from toolfmt.formats.named_json import NamedJson

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
        "To call a tool, write <|recipient|> and the tool's name on a line of its own, then <|content|> and its "
        "arguments as a JSON object. Write a line <|from|>assistant before every further call. To answer the user, "
        "write <|recipient|>all on a line of its own, then <|content|> and the answer."
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
