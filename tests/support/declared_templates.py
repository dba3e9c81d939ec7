"""What models declare as `response_template`, and what belongs to no format; tests and a benchmark read it.

`REAL` are the wire facts of real models with the format that each is: the templates with which transformers 5.23 tests
its parser (`tests/utils/test_chat_parsing.py`). `OWN` are composed: each has the structure of another engine, with
markers that no format has.
"""

from __future__ import annotations

from typing import Any

NAMED = {"type": "function", "function": {"name": "{name}", "arguments": "{content}"}}
WHOLE = {"type": "function", "function": "{content}"}
THINK = {"open": "<think>", "close": "</think>", "content": "text"}
HEADER = r"(?:<\|message_model\|>)?[^<]*"
STRINGS = {"unquoted_keys": True, "string_delims": [['<|"|>', '<|"|>']]}
GPT_OSS_CALL = r"<\|channel\|>commentary to=functions\.(?P<name>\w+).*?<\|message\|>"
QWEN_TAG = r"<parameter=(?P<key>\w+)>\s*(?P<value>.*?)\s*</parameter>"


def declared(calls: dict[str, Any], anchor: Any = "<|assistant|>", **fields: Any) -> dict[str, Any]:
    return {"defaults": {"role": "assistant"}, "start_anchor": anchor, "fields": {**fields, "tool_calls": calls}}


REAL: dict[str, tuple[str, dict[str, Any]]] = {
    "Cohere Command A": (
        "command_a",
        declared(
            {
                "open": "<|START_ACTION|>",
                "close": "<|END_ACTION|>",
                "content": "json",
                "transform_each": True,
                "transform": {"type": "function", "function": {"name": "{tool_name}", "arguments": "{parameters}"}},
            },
            "<|START_OF_TURN_TOKEN|><|CHATBOT_TOKEN|>",
            content={"open": "<|START_RESPONSE|>", "close": "<|END_RESPONSE|>", "content": "text"},
            thinking={"open": "<|START_THINKING|>", "close": "<|END_THINKING|>", "content": "text"},
        ),
    ),
    "ERNIE 4.5": (
        "json",
        declared(
            {"open": "<tool_call>", "close": "</tool_call>", "repeats": True, "content": "json", "transform": WHOLE},
            "Assistant:",
            thinking={"open_pattern": r"(?:^|<think>\s*)", "close": "</think>", "content": "text"},
            content={"open": "<response>\n", "close_pattern": r"\n?</response>", "content": "text"},
        ),
    ),
    "gpt-oss": (
        "gpt_oss",
        declared(
            {"open_pattern": GPT_OSS_CALL, "close": "<|call|>", "repeats": True, "content": "json", "transform": NAMED},
            "<|start|>assistant",
            thinking={"open": "<|channel|>analysis<|message|>", "close": "<|end|>", "content": "text"},
            content={"open": "<|channel|>final<|message|>", "close": "<|end|>", "content": "text"},
        ),
    ),
    "SmolLM3": (
        "json",
        declared(
            {"open": "<tool_call>", "close": "</tool_call>", "repeats": True, "content": "json", "transform": WHOLE},
            "<|im_start|>assistant\n",
            thinking=THINK,
            content={"close": "<|im_end|>", "content": "text"},
        ),
    ),
    "Qwen3 Coder": (
        "qwen3_5",
        declared(
            {
                "open_pattern": r"<tool_call>\s*<function=(?P<name>\w+)>",
                "close": "</tool_call>",
                "repeats": True,
                "content": "xml-inline",
                "content_args": {
                    "tag_pattern": QWEN_TAG,
                    "value_parser": {"name": "json", "args": {"allow_non_json": True}},
                },
                "transform": NAMED,
            },
            "<|im_start|>assistant\n",
            thinking=THINK,
        ),
    ),
    "Gemma 4": (
        "gemma4",
        declared(
            {
                "open_pattern": r"<\|tool_call>call:(?P<name>\w+)",
                "close": "<tool_call|>",
                "repeats": True,
                "content": "json",
                "content_args": STRINGS,
                "transform": NAMED,
            },
            ["<|turn>model\n", "<tool_response|>"],
            thinking={"open": "<|channel>thought\n", "close": "<channel|>", "content": "text"},
            content={"close": ["<turn|>", "<|tool_response>", "<eos>"], "content": "text"},
        ),
    ),
    "Inkling": (
        "inkling",
        declared(
            {
                "open_pattern": HEADER + r"<\|content_invoke_tool_json\|>",
                "close": "<|end_message|>",
                "repeats": True,
                "content": "json",
                "transform": {
                    "type": "function",
                    "function": {"name": "{content.name}", "arguments": "{content.args}"},
                },
            },
            "<|message_model|>",
            thinking={"open_pattern": HEADER + r"<\|content_thinking\|>", "close": "<|end_message|>"},
            content={"open_pattern": HEADER + r"<\|content_text\|>", "close": "<|end_message|>"},
        ),
    ),
}
OWN: dict[str, dict[str, Any]] = {
    "tool": declared(
        {
            "open_pattern": r"(?:<\|turn\|>bot)?<\|tool\|>(?P<name>[A-Za-z_][A-Za-z0-9_.]*)<\|args\|>",
            "close": ["<|done|>", "<|eos|>"],
            "repeats": True,
            "content": "xml-inline",
            "content_args": {"tag_pattern": r'<arg name="(?P<key>[^"]+)">(?P<value>.*?)</arg>'},
            "transform": NAMED,
        },
        thinking={"open_pattern": r"<\|think\|>", "close": "<|done|>", "content": "text"},
        content={"open_pattern": r"<\|say\|>", "close": "<|done|>", "content": "text"},
    ),
    "JSON": declared(
        {
            "open": "<my_call>",
            "close": "</my_call>",
            "repeats": True,
            "content": "json",
            "transform": {"type": "function", "function": {"name": "{content.fn}", "arguments": "{content.given}"}},
        },
        reasoning_content=THINK,
    ),
    "a list": declared(
        {
            "open": "<my_calls>",
            "close": "</my_calls>",
            "content": "json",
            "transform_each": True,
            "transform": {"type": "function", "function": {"name": "{fn}", "arguments": "{given}"}},
        }
    ),
    "a name and JSON": declared(
        {
            "open_pattern": r"\s*\[my call (?P<name>[\w-]+)\]\s*",
            "close_pattern": r"\s*\[end of it\]",
            "repeats": True,
            "content": "json",
            "transform": NAMED,
        }
    ),
    "a name and tags": declared(
        {
            "open_pattern": r"\s*<my_call>\s*<tool=(?P<name>[^>\n]+)>",
            "close_pattern": r"</tool>\s*</my_call>",
            "repeats": True,
            "content": "xml-inline",
            "content_args": {"tag_pattern": r"<is=(?P<key>[^>\n]+)>\n?(?P<value>.*?)\n?</is>"},
            "transform": NAMED,
        }
    ),
    "keys and values": declared(
        {
            "open_pattern": r"<my_call>(?P<name>\w+)",
            "close": "</my_call>",
            "repeats": True,
            "content": "xml-inline",
            "content_args": {"tag_pattern": r"<my_key>(?P<key>.*?)</my_key>\s*<my_value>(?P<value>.*?)</my_value>"},
            "transform": NAMED,
        }
    ),
    "strings between marks": declared(
        {
            "open_pattern": r"<my_call>do:(?P<name>\w+)",
            "close": "</my_call>",
            "repeats": True,
            "content": "json",
            "content_args": {"unquoted_keys": True, "string_delims": [["<my_mark>", "<my_mark>"]]},
            "transform": NAMED,
        }
    ),
}
