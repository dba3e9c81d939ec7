"""The tool's name on the first line of the output, its arguments as JSON on the next.

    get_weather
    {"city": "Paris"}<|assistant|>now
    {}

GLM-4 writes the name in the place of a message's metadata, directly after `<|assistant|>`, which is part of the prompt.
Text for the user starts with a newline instead (a newline before a call is skipped). So a call is only possible at the
start of the output or after another `<|assistant|>`, and only if the next line starts with a brace. The templates take
results under the role `observation` and render calls from a message's `metadata`, not from `tool_calls`. (The format of
GLM-4.5 and later is `glm4`.)
"""

from toolfmt.formats.engines.alternatives import Choice
from toolfmt.formats.engines.named_json import NamedJson
from toolfmt.formats.format import ToolCallFormat

_MESSAGE = "<|assistant|>"

FORMAT = ToolCallFormat(
    name="glm4_legacy",
    engine=Choice(
        NamedJson(separator="\n", between=_MESSAGE, name_at_start="usual"),
        NamedJson(call_opener=_MESSAGE, separator="\n"),
    ),
    page=__doc__ or "",
    instructions=(
        "To call a tool, begin your answer with the tool's name alone on the first line, and write its arguments as a "
        "JSON object below it."
    ),
    source=(
        "chat templates and model cards of zai-org/GLM-4-9B-0414, GLM-Z1-32B-0414, glm-4-9b-chat",
        "modeling code of glm-4-9b-chat: a response is split at <|assistant|>",
    ),
    aliases=("glm4_0414", "glm4_chat", "chatglm4", "glm4_bare", "glm4Bare"),
    families=("GLM-4 9B", "GLM-4 0414", "GLM-Z1 0414"),
    model_types=("glm", "glm4"),
    signatures=(
        r"在调用上述函数时，请使用 Json 格式表示调用的参数。",
        r"message\.get\(.metadata.",
        r"item\['metadata'\]",
    ),
    ignored_markers=(_MESSAGE + "\n",),
)
