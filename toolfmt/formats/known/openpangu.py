"""A JSON list of calls between control tokens.

    <|tool_call_start|>
    [{"name": "get_weather", "arguments": {"city": "Paris"}}]
    <|tool_call_end|>

All calls of a turn are in one list. openPangu 2.0 writes these tokens, the newlines around the list are optional.
Earlier models write `[unused11]` and `[unused12]` without newlines, and their reasoning between `[unused16]` and
`[unused17]`. A decoder that skips special tokens leaves the bare list, which is parsed as a tolerance. LFM2 has the
same tokens around Python calls (`lfm2`).
"""

from toolfmt.formats.engines.alternatives import Choice
from toolfmt.formats.engines.json_object import JsonObject
from toolfmt.formats.format import THINK, ToolCallFormat
from toolfmt.formats.runtime_parsers import RuntimeParser

_OF_VERSION_1 = JsonObject(opener="[unused11]", closer="[unused12]", enclosing=("[", "]"), separator=", ")

FORMAT = ToolCallFormat(
    name="openpangu",
    engine=Choice(
        JsonObject(
            opener="<|tool_call_start|>",
            closer="<|tool_call_end|>",
            unframed_openers=("[",),
            enclosing=("\n[", "]\n"),
            separator=", ",
        ),
        _OF_VERSION_1,
    ),
    variants={"openPangu 1": _OF_VERSION_1},
    page=__doc__ or "",
    instructions=(
        "To call tools, answer with a JSON list between <|tool_call_start|> and <|tool_call_end|>, on a line of its "
        "own: one object for each call, with the tool's name and its arguments."
    ),
    source=(
        "Huawei's fork of vllm-ascend, parser pangu and its tests",
        "vMLX's parser openpangu, which quotes the chat template of openPangu-2.0",
    ),
    aliases=("pangu", "openpangu_v2"),
    families=("openPangu 2.0", "openPangu Embedded"),
    model_types=("openpangu_v2", "PanguEmbedded", "openpangu_dense"),
    signatures=(r"\[unused11\]", r"<\|tool_call_start\|>(?:\\n|\s)+\["),
    runtime_parsers={"vLLM": RuntimeParser("pangu", only_in="a branch")},
    headers=(r"\[unused9\]助手：",),
    reasoning=(THINK, ("[unused16]", "[unused17]")),
)
