"""Rows of conversations, and the function that tokenizes one. Other processes import this module by its name."""

from __future__ import annotations

import json
from typing import Any

from model_cases import MODELS

import toolfmt

TOOLS: list[Any] = [{"name": "look", "parameters": {"type": "object", "properties": {"at": {"type": "string"}}}}]
Row = dict[str, Any]


def conversation(number: int) -> list[Any]:
    call = {"name": "look", "arguments": {"at": f"the cat {number}"}}
    return [
        {"role": "user", "content": f"Look at the cat {number}."},
        {"role": "assistant", "content": "", "tool_calls": [call]},
        {"role": "tool", "content": "The cat sat."},
        {"role": "assistant", "content": f"The cat {number} sat."},
    ]


ROWS: list[Row] = [{"number": number, "messages": json.dumps(conversation(number))} for number in range(6)]


def tokens(row: Row, model: toolfmt.Model, tokenizer: Any) -> Row:
    found = model.render_training(json.loads(row["messages"]), TOOLS, strict=True).tokenize(tokenizer)
    return {"input_ids": found.input_ids, "assistant_masks": found.assistant_masks}


def tokens_of_a_loaded_model(row: Row, tokenizer: Any) -> Row:
    return tokens(row, toolfmt.load(MODELS / "json-frames"), tokenizer)
