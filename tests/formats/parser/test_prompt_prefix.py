"""Where an output begins in the tail of a prompt: as real templates open it, and in texts without a header."""

from __future__ import annotations

import pytest

from toolfmt.formats.parser.prompt_prefix import answer_prefix


@pytest.mark.parametrize(
    ("prefix", "expected"),
    [
        ("<|im_end|>\n<|im_start|>assistant\n", ""),
        ("<|im_end|>\n<|im_start|>assistant", ""),
        ("<|im_start|>assistant\n<think>\n", "<think>\n"),
        ("<|assistant|></think>", "</think>"),
        ("<|start_of_role|>assistant<|end_of_role|>", ""),
        ("<|start_header_id|>assistant<|end_header_id|>\n\nHello, ", "Hello, "),
        ("<end_of_turn>\n<start_of_turn>model\n", ""),
        ("<role>ASSISTANT</role><think>\n", "<think>\n"),
        ("[e~[\n]~b]ai\n<think>\n", "<think>\n"),
        ("<｜Assistant｜><think>", "<think>"),
        ("<|turn_end|><|assistant_start|>", ""),
        ("\n\nAssistant: <think>", "<think>"),
        ("[INST] Hi [/INST]", ""),
        ("<think>\n", "<think>\n"),
        (
            '<tool_call>{"name": "f", "arguments": {"s": "<model>',
            '<tool_call>{"name": "f", "arguments": {"s": "<model>',
        ),
        ("<parameter=s>\nimport my_model\n", "<parameter=s>\nimport my_model\n"),
        ("I am your assistant", "I am your assistant"),
    ],
)
def test_the_answer_begins_after_the_header(prefix: str, expected: str) -> None:
    assert answer_prefix(prefix).lstrip(" ") == expected
