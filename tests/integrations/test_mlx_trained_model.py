"""The real mlx-lm: a tiny model, trained here to one output, streams a tool call token by token."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import toolfmt
from toolfmt.messages.events import ToolCallArguments, merge
from toolfmt.messages.message import Message

pytest.importorskip("mlx.core", reason="mlx is there on Linux and macOS only")
mlx_lm = pytest.importorskip("mlx_lm", reason="mlx-lm is there on Linux and macOS only")
import tiny_models  # noqa: E402  it needs mlx

TOOLS: list[Any] = [
    {
        "type": "function",
        "function": {
            "name": "run",
            "description": "Run Python.",
            "parameters": {"type": "object", "properties": {"code": {"type": "string"}}, "required": ["code"]},
        },
    }
]
ARGUMENTS = {"code": 'print("{</tool_call>}")\n'}
MESSAGES = [{"role": "user", "content": "Say it."}]


@pytest.fixture(scope="module")
def directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny_models.build(
        tmp_path_factory.mktemp("tiny-qwen3"),
        template=tiny_models.TEMPLATE,
        messages=MESSAGES,
        tools=TOOLS,
        answer=toolfmt.write("json", [("run", ARGUMENTS)]),
        special=["<|im_start|>"],
    )


def test_a_real_stream_becomes_a_call(directory: Path) -> None:
    """Inspect, render, stream, parse: the whole way once, with the runtime's own generation in the middle."""
    ours = toolfmt.load(directory)
    assert ours.inspect().format.confidence == "verified"
    prompt = ours.render(MESSAGES, tools=TOOLS)
    model, tokenizer = mlx_lm.load(str(directory))
    expected = tokenizer.apply_chat_template(MESSAGES, tools=TOOLS, add_generation_prompt=True, tokenize=False)
    assert prompt.text == expected
    parser, events, pieces = prompt.parser(), [], 0
    for response in mlx_lm.stream_generate(model, tokenizer, prompt.text, max_tokens=120):
        new_events = parser.feed(response.text)
        pieces += sum(isinstance(event, ToolCallArguments) for event in new_events)
        events += new_events
    events += parser.finish()
    message = Message.from_events(merge(events))
    assert [(call.name, json.loads(call.arguments)) for call in message.tool_calls] == [("run", ARGUMENTS)]
    assert pieces > 3 and not message.rejected
