"""The mask equals that of transformers, for a template with `{% generation %}` around exactly what the model writes.

transformers 5.24.0, `PreTrainedTokenizerBase.apply_chat_template(return_assistant_tokens_mask=True)`: its masks have 1
for the tokens of the text between `{% generation %}` and `{% endgeneration %}`.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from model_cases import MODELS
from small_tokenizers import by_bytes, by_pieces
from transformers import PreTrainedTokenizerFast

import toolfmt

TEMPLATE = (MODELS / "json-frames" / "chat_template.jinja").read_text("utf-8")
HEADER = "{{- '<|im_start|>assistant\\n' }}\n        "
FIRST = "{%- if message.reasoning_content %}"
STOP, BREAK = "{{- '<|im_end|>' }}", "{{- '\\n' }}"
NEXT = "\n    {%- elif message.role == 'tool' %}"
BEGIN, END = "{%- generation %}", "{%- endgeneration %}"


def tagged(header: str, stop: str) -> str:
    """Return the template with another header and another stop string of a response."""
    changes = {HEADER + FIRST: header + FIRST, "{{- '<|im_end|>\\n' }}" + NEXT: stop + NEXT}
    assert all(TEMPLATE.count(text) == 1 for text in changes)
    template = TEMPLATE
    for text, instead in changes.items():
        template = template.replace(text, instead)
    return template


RIGHT = tagged(HEADER + BEGIN, STOP + END + BREAK)
WRONG = {
    "with the header": tagged(BEGIN + HEADER, STOP + END + BREAK),
    "without the stop token": tagged(HEADER + BEGIN, END + STOP + BREAK),
    "with the line break after it": tagged(HEADER + BEGIN, STOP + BREAK + END),
}
TOKENIZERS: dict[str, Any] = {
    "bytes": by_bytes(),
    "bytes with a space before": by_bytes(prefixed=True),
    "pieces": by_pieces("never"),
    "pieces with a space before": by_pieces("always"),
}
TOOLS: list[Any] = [
    {
        "type": "function",
        "function": {
            "name": "look",
            "description": "Look at the cat.",
            "parameters": {"type": "object", "properties": {"at": {"type": "string"}, "times": {"type": "integer"}}},
        },
    }
]


def call(id: str, **arguments: Any) -> dict[str, Any]:
    return {"id": id, "type": "function", "function": {"name": "look", "arguments": arguments}}


CONVERSATIONS: dict[str, list[Any]] = {
    "text": [{"role": "user", "content": "the cat?"}, {"role": "assistant", "content": "on the mat"}],
    "call and result": [
        {"role": "system", "content": "Look at it."},
        {"role": "user", "content": "the cat?"},
        {"role": "assistant", "content": "", "tool_calls": [call("a", at="the café 🐈", times=2)]},
        {"role": "tool", "tool_call_id": "a", "content": "on the mat"},
        {"role": "assistant", "content": "on the mat"},
    ],
    "parallel calls after text and reasoning": [
        {"role": "user", "content": "the cat?"},
        {
            "role": "assistant",
            "content": "Let me look.",
            "reasoning_content": "It may be\n\non the mat.",
            "tool_calls": [call("a", at="the mat"), call("b", at="the table")],
        },
        {"role": "tool", "tool_call_id": "a", "content": "no"},
        {"role": "tool", "tool_call_id": "b", "content": "the cat"},
        {"role": "assistant", "content": "on the table"},
        {"role": "user", "content": "and now?"},
        {"role": "assistant", "content": "  gone  ", "reasoning_content": "Again."},
    ],
}


def masks(template: str, name: str, kind: str, directory: Path) -> tuple[tuple[list[int], list[int]], ...]:
    """Return ids and masks of toolfmt, and those of transformers."""
    (directory / "chat_template.jinja").write_text(template, "utf-8")
    tokenizer: Any = PreTrainedTokenizerFast(tokenizer_object=TOKENIZERS[kind])  # type: ignore[no-untyped-call]  # theirs
    tools = TOOLS if "call" in name else None
    model = toolfmt.load(directory, trusted=True)
    ours = model.render_training(CONVERSATIONS[name], tools, strict=True).tokenize(tokenizer)
    theirs = tokenizer.apply_chat_template(
        CONVERSATIONS[name],
        tools=tools,
        chat_template=template,
        return_dict=True,
        return_assistant_tokens_mask=True,
    )
    return (ours.input_ids, ours.assistant_masks), (theirs["input_ids"], theirs["assistant_masks"])


@pytest.mark.parametrize("kind", TOKENIZERS)
@pytest.mark.parametrize("name", CONVERSATIONS)
def test_the_mask_of_transformers_is_the_same(name: str, kind: str, tmp_path: Path) -> None:
    ours, theirs = masks(RIGHT, name, kind, tmp_path)
    assert ours == theirs
    assert 0 < sum(ours[1]) < len(ours[0])


@pytest.mark.parametrize("name", CONVERSATIONS)
@pytest.mark.parametrize("wrong", WRONG)
def test_the_masks_differ_if_the_tags_are_wrong(wrong: str, name: str, tmp_path: Path) -> None:
    """The tags have no effect on toolfmt's mask."""
    ours, theirs = masks(WRONG[wrong], name, "bytes", tmp_path)
    assert ours[0] == theirs[0] and ours[1] != theirs[1]
    assert ours == masks(RIGHT, name, "bytes", tmp_path)[0]
