"""Ten formats, and the constraints for an untrained model in each: calls that the parser reads and the schema accepts.

`tests/grammars/test_masks_untrained_models.py` applies them to the tiny models of mlx-lm and transformers.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from jsonschema import Draft202012Validator

import toolfmt
from toolfmt.formats import Parser, ToolCallFormat, get
from toolfmt.messages.events import Event
from toolfmt.messages.message import Message, ToolCall

FORMATS = (
    "json", "glm4", "mistral", "gpt_oss", "lfm2", "gemma4", "kimi_k2", "xml_function", "minimax_m2", "deepseek_v31",
)  # fmt: skip
MARKERS = (
    "<tool_call>", "</tool_call>", "<arg_key>", "</arg_key>", "<arg_value>", "</arg_value>", "[TOOL_CALLS]", "[ARGS]",
    "<|start|>", "<|channel|>", "<|message|>", "<|call|>", "<|tool_call_start|>", "<|tool_call_end|>", "<|tool_call>",
    "<tool_call|>", '<|"|>', "<|tool_calls_section_begin|>", "<|tool_calls_section_end|>", "<|tool_call_begin|>",
    "<|tool_call_argument_begin|>", "<minimax:tool_call>", "</minimax:tool_call>", "<｜tool▁calls▁begin｜>",
    "<｜tool▁call▁begin｜>", "<｜tool▁sep｜>", "<｜tool▁call▁end｜>", "<｜tool▁calls▁end｜>",
)  # fmt: skip
"""What is one token of the model's."""
_PROPERTIES = {
    "city": {"type": "string", "maxLength": 12},
    "days": {"type": "integer", "minimum": 1, "maximum": 9},
    "units": {"type": "string", "enum": ["c", "f"]},
    "alarm": {"type": "boolean"},
}
_NOTES = {"type": "array", "items": {"type": "string", "maxLength": 4}, "minItems": 1, "maxItems": 2}


def _tool(name: str, properties: Any, required: list[str]) -> dict[str, Any]:
    parameters = {"type": "object", "properties": properties, "required": required, "additionalProperties": False}
    return {"type": "function", "function": {"name": name, "description": "It does.", "parameters": parameters}}


TOOLS = [_tool("get_weather", _PROPERTIES, ["city", "days"]), _tool("note", {"notes": _NOTES}, ["notes"])]
_VALIDATORS = {
    tool["function"]["name"]: Draft202012Validator(tool["function"]["parameters"]) for tool in TOOLS
}  # fmt: skip


def format_of(name: str) -> ToolCallFormat:
    """The format without reasoning, of which an untrained model writes without end."""
    return replace(get(name), reasoning=())


def grammar_of(format: ToolCallFormat, tokenizer: Any, **options: Any) -> toolfmt.Grammar:
    """The grammar of calls, with the markers that the tokenizer has as tokens."""
    added = tokenizer.get_added_vocab()
    tokens = {mark: added[mark] for mark in MARKERS}
    return toolfmt.grammar(format, TOOLS, tokens=tokens, **({"choice": "required"} | options))


def parser_of(format: ToolCallFormat) -> Parser:
    return Parser(format, tools=TOOLS, strict=True)


def assert_valid(name: str, arguments: str) -> None:
    wrong = [*_VALIDATORS[name].iter_errors(json.loads(arguments))]
    assert wrong == [], f"{name} {arguments}"


def valid_calls(events: Iterable[Event]) -> list[ToolCall]:
    """The calls of an output that contains nothing else; raises `AssertionError` if it contains other text, or a call
    is not valid.
    """
    message = Message.from_events([*events])
    assert (message.content, message.rejected) == (None, [])
    for call in message.tool_calls:
        assert_valid(call.name, call.arguments)
    assert message.tool_calls
    return message.tool_calls
