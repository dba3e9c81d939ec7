"""Nested tags, each after the delimiter `]<]minimax[>[`: a parameter's name is the tag, lists are tags of items.

    ]<]minimax[>[<tool_call>
    ]<]minimax[>[<invoke name="get_weather">]<]minimax[>[<city>Paris]<]minimax[>[</city>]<]minimax[>[</invoke>
    ]<]minimax[>[</tool_call>

Objects nest, and the elements of a list are `<item>`s: `[{"id": 1}]` is `<item><id>1</id></item>`, each tag with its
delimiter. All calls of a turn are `<invoke>`s in one block. Newlines around a value are part of it; at every depth only
the tool's schema distinguishes a string `3` from a number. Reasoning is in `<mm:think>`; a response without reasoning
starts with its end marker.
"""

from toolfmt.formats.engines.nested_tags import NestedTags
from toolfmt.formats.format import ToolCallFormat

_SIGN = "]<]minimax[>["

FORMAT = ToolCallFormat(
    name="minimax_m3",
    engine=NestedTags(
        sign=_SIGN,
        opener=_SIGN + "<tool_call>",
        closer=_SIGN + "</tool_call>",
        unframed_openers=(_SIGN + '<invoke name="',),
    ),
    page=__doc__ or "",
    instructions=(
        "To call tools, write the tags below, each with ]<]minimax[>[ before it: <tool_call>, then for each call "
        '<invoke name="NAME"> with the tool\'s name, each argument between <KEY> and </KEY>, and </invoke>, then '
        "</tool_call>. Write the members of an object as tags inside its tag and the elements of a list as <item> "
        "tags; write strings as they are, other values as JSON."
    ),
    source=("chat template of MiniMaxAI/MiniMax-M3",),
    aliases=("minimax-m3", "minimaxM3"),
    families=("MiniMax M3",),
    model_types=("minimax_m3", "minimax_m3_vl", "minimax_m3_vl_text"),
    signatures=(r"\]<\]minimax\[>\[",),
    runtime_parsers={"vLLM": "minimax_m3", "SGLang": "minimax-m3", "llama.cpp": "auto"},
    reasoning=(("<mm:think>", "</mm:think>"),),
    ignored_markers=("</mm:think>",),
)
