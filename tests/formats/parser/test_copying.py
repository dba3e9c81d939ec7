"""A copy of a parser emits what the parser itself would have emitted, wherever it is made."""

from __future__ import annotations

import json

import pytest
from guarantees import check_copy

TOOLS = [
    {"name": "get_time", "parameters": {"type": "object", "properties": {"zone": {"type": "string"}}}},
    {"name": "print", "parameters": {"type": "object", "properties": {"text": {"type": "string"}}}},
]
CALL = '{"name": "get_time", "arguments": {"zone": "CET"}}'


@pytest.mark.parametrize("format", ["auto", "json", "apriel", "lfm2", "gpt_oss", "xml_function", "phi4"])
@pytest.mark.parametrize(
    "text",
    [
        "n\n```t",
        "```I will do that.",
        f"```I will. {CALL}\n```",
        "x\n[B",
        f"> {CALL}\n\nAs quoted.",
        f"See:\n\n```json\n{CALL}\n```\nThat was it.",
        f"Inline `{CALL}` is text.",
    ],
)
def test_a_copy_made_while_an_example_is_undecided_loses_nothing(format: str, text: str) -> None:
    for place in range(len(text) + 1):
        check_copy(format, text, place, tools=TOOLS)


@pytest.mark.parametrize(
    ("format", "text"),
    [
        ("json", f"<tool_call>Let me see\n[{CALL}, {CALL}]</tool_call>"),
        ("json", f"<tool_call>Let me see\n{CALL}</tool_call>\n<tool_call>[{CALL}, {CALL}]</tool_call>"),
        ("ernie45", f"<tool_call>Let me see\n{CALL}{{n"),
        (
            "kimi_k2",
            "<|tool_call_begin|>0<|tool_call_argument_begin|>{<|tool_call_end|><|tool_call_begin|>",
        ),
        ("hunyuan_v3", "<tool_call>get_time<tool_sep></tool_call>\n<tool_call>print<tool_sep></tool_call>"),
        ("hunyuan_v3", "So.\n<tool_call>get_time<tool_sep></tool_call>\n<tool_call>print<tool_sep></tool_call>"),
        (
            "hunyuan_v3",
            "<tool_calls>\nLet me see.\n<tool_call>get_time<tool_sep></tool_call>"
            "<tool_call>print<tool_sep></tool_call></tool_calls>",
        ),
        (
            "kimi_k2",
            "```\n<|tool_calls_section_begin|><|tool_call_begin|>get_time:0<|tool_call_argument_begin|>{}<|tool_call_end|>"
            "<|tool_call_begin|>print:1<|tool_call_argument_begin|>{}<|tool_call_end|><|tool_calls_section_end|>\n```",
        ),
        ("auto", "<tool_calls><tool_call>e</tool_call><tool_call>"),
        ("auto", "<tool_calls><tool_call>e<tool_sep></tool_call><tool_call>print<tool_sep>"),
        ("hunyuan_v3", f"<tool_calls>[{CALL},{CALL}]</tool_calls>"),
        ("minicpm3", '<|tool_call_start|>\n```pythn\nprint(text="x")\nprint(size="y")\n```\n<|tool_call_end|>'),
        ("dots", '<dots_function_call>\n<<invoke name="run"x>'),
    ],
)
def test_a_copy_made_in_a_later_call_of_a_frame_continues_the_frame(format: str, text: str) -> None:
    for place in range(len(text) + 1):
        check_copy(format, text, place, tools=TOOLS)


def test_a_copy_made_in_a_later_call_of_a_message_does_not_begin_another_message() -> None:
    calls = '<atem:invoke name=""><atem:parameter name="c"> </atem:invoke><atem:invoke name="'
    text = "to=f<|message|><atem:function_calls>" + calls
    for place in range(len(text) + 1):
        check_copy("atem", text, place)


def test_a_copy_made_in_a_later_call_after_a_backtick_takes_no_call_for_inline_code() -> None:
    """The first call, which the copy does not parse again, is too long for inline code."""
    calls = [{"name": "print", "arguments": {"text": text}} for text in ("y" * 450, "a ` b")]
    text = f"See `x`<tool_call>{json.dumps(calls)}</tool_call>"
    for place in range(480, len(text) + 1):
        check_copy("json", text, place, tools=TOOLS)


@pytest.mark.parametrize("format", ["glm4", "json", "auto"])
def test_a_copy_made_after_inline_code_on_the_first_line_of_a_fence_loses_nothing(format: str) -> None:
    text = "```md see `x`\n(more)"
    for place in range(len(text) + 1):
        check_copy(format, text, place, tools=TOOLS)


def test_a_copy_made_after_a_literal_that_may_be_longer() -> None:
    """The beginning of the separator is longer than the trie of literals is deep."""
    name = "<|plamo:begin_tool_name:plamo|>print<|plamo:end_tool_name:plamo|>"
    arguments = '<|plamo:begin_tool_arguments:plamo|><|plamo:msg|>{"text": "a text that is long enough"}'
    text = f"<|plamo:begin_tool_requests:plamo|><|plamo:begin_tool_request:plamo|>{name}{arguments}"
    for place in range(len(text) + 1):
        check_copy("plamo3", text, place, tools=TOOLS)
