"""TRL's `SFTTrainer` trains exactly the tokens that the model writes: shown by the gradients of a real training step.

TRL 1.16.0 turns the columns `input_ids` and `assistant_masks` into labels (`trl/trainer/sft_trainer.py`,
`_prepare_dataset`). The model has two layers with random weights, and nothing is downloaded.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from model_cases import MODELS
from small_tokenizers import by_bytes
from tiny_llama import tiny_llama

import toolfmt
from toolfmt.training import TrainingTokens

torch = pytest.importorskip("torch", reason="torch is large, and CI does not need it")
trl = pytest.importorskip("trl", reason="TRL needs torch")
datasets = pytest.importorskip("datasets", reason="TRL needs datasets")
transformers = pytest.importorskip("transformers")

TOOLS: list[Any] = [{"name": "look", "parameters": {"type": "object", "properties": {"at": {"type": "string"}}}}]
CALL = '<tool_call>\n{"name": "look", "arguments": {"at": "the cat"}}\n</tool_call>'
CONVERSATIONS: list[list[Any]] = [
    [
        {"role": "user", "content": "Look at the cat."},
        {"role": "assistant", "content": "", "tool_calls": [{"name": "look", "arguments": {"at": "the cat"}}]},
        {"role": "tool", "content": "The cat sat."},
        {"role": "assistant", "content": "The cat sat."},
    ],
    [
        {"role": "user", "content": "The mat?"},
        {"role": "assistant", "content": "It is on the mat."},
        {"role": "user", "content": "And now?"},
        {"role": "assistant", "content": "It is gone."},
    ],
]
WRITTEN = [
    [f"{CALL}<|im_end|>", "The cat sat.<|im_end|>"],
    ["It is on the mat.<|im_end|>", "It is gone.<|im_end|>"],
]
"""What the model writes in them, by hand. The same sentence is also a tool result."""


@pytest.fixture(scope="module")
def tokenizer() -> Any:
    return transformers.PreTrainedTokenizerFast(
        tokenizer_object=by_bytes(), eos_token="<|im_end|>", pad_token="</s>", clean_up_tokenization_spaces=False
    )


@pytest.fixture(scope="module")
def conversations(tokenizer: Any) -> list[TrainingTokens]:
    model = toolfmt.load(MODELS / "json-frames", trusted=True)
    texts = [model.render_training(messages, TOOLS, strict=True) for messages in CONVERSATIONS]
    return [text.tokenize(tokenizer) for text in texts]


@pytest.fixture(scope="module")
def expected(tokenizer: Any, conversations: list[TrainingTokens]) -> dict[tuple[int, ...], set[int]]:
    """The indices of the tokens that the model writes, by the ids of the conversation."""
    positions = {}
    for tokens, written in zip(conversations, WRITTEN, strict=True):
        text = tokenizer.decode(tokens.input_ids)
        encoded = tokenizer(text, return_offsets_mapping=True)
        assert encoded["input_ids"] == tokens.input_ids
        header = "<|im_start|>assistant\n"
        begins = [text.index(header + part) + len(header) for part in written]
        positions[tuple(tokens.input_ids)] = {
            index
            for index, (begin, end) in enumerate(encoded["offset_mapping"])
            if any(first <= begin and end <= first + len(part) for first, part in zip(begins, written, strict=True))
        }
    return positions


class Step:
    """What a training step computed: the batch, and the gradients of the loss.

    A hidden state after the last layer affects only the logits of its own position, so its gradient is zero if and only
    if the loss ignores these logits.
    """

    def __init__(self, rows: list[dict[str, list[int]]], tokenizer: Any, directory: Path, **options: Any) -> None:
        torch.manual_seed(0)
        model = tiny_llama(tokenizer)
        model.register_forward_pre_hook(self._called, with_kwargs=True)
        model.model.norm.register_forward_hook(self._normalized)
        arguments = trl.SFTConfig(
            output_dir=str(directory),
            per_device_train_batch_size=len(rows),
            max_steps=1,
            use_cpu=True,
            bf16=False,
            report_to="none",
            save_strategy="no",
            disable_tqdm=True,
            **options,
        )
        self.trainer = trl.SFTTrainer(
            model, arguments, train_dataset=datasets.Dataset.from_list(rows), processing_class=tokenizer
        )
        self.trainer.train()

    def _called(self, model: Any, arguments: Any, options: dict[str, Any]) -> None:
        self._ids, self._labels, self._present = (options[name] for name in ("input_ids", "labels", "attention_mask"))

    def _normalized(self, module: Any, arguments: Any, states: Any) -> None:
        states.retain_grad()
        self._states = states

    def labeled(self) -> dict[tuple[int, ...], set[int]]:
        """Return the indices of the tokens with a label, by the ids of the conversation."""
        return {ids: set(torch.nonzero(labels != -100).flatten().tolist()) for ids, labels in self._rows(self._labels)}

    def trained(self) -> dict[tuple[int, ...], set[int]]:
        """Return the indices of the tokens that the loss depends on. A state predicts the token after it."""
        return {
            ids: {index + 1 for index in torch.nonzero(gradient.abs().sum(-1)).flatten().tolist()}
            for ids, gradient in self._rows(self._states.grad)
        }

    def _rows(self, values: Any) -> list[tuple[tuple[int, ...], Any]]:
        lengths = self._present.sum(-1).tolist()
        return [
            (tuple(ids[:length].tolist()), row) for ids, length, row in zip(self._ids, lengths, values, strict=True)
        ]


def rows(conversations: list[TrainingTokens]) -> list[dict[str, list[int]]]:
    return [{"input_ids": each.input_ids, "assistant_masks": each.assistant_masks} for each in conversations]


@pytest.mark.parametrize("options", [{}, {"loss_type": "dft"}], ids=str)
def test_the_loss_depends_on_what_the_model_writes_and_on_nothing_else(
    options: dict[str, Any],
    conversations: list[TrainingTokens],
    expected: dict[tuple[int, ...], set[int]],
    tokenizer: Any,
    tmp_path: Path,
) -> None:
    step = Step(rows(conversations), tokenizer, tmp_path, **options)
    assert step.labeled() == step.trained() == expected
    assert all(10 < len(indices) < len(ids) / 2 for ids, indices in expected.items())


@pytest.mark.parametrize("by", [-1, 1])
def test_the_gradients_show_a_mask_that_is_shifted_by_one(
    by: int,
    conversations: list[TrainingTokens],
    expected: dict[tuple[int, ...], set[int]],
    tokenizer: Any,
    tmp_path: Path,
) -> None:
    shifted = rows(conversations)
    for row in shifted:
        masks = row["assistant_masks"]
        row["assistant_masks"] = [*masks[-by:], *masks[:-by]]
    trained = Step(shifted, tokenizer, tmp_path).trained()
    assert trained == {
        ids: {index + by for index in indices if index + by < len(ids)} for ids, indices in expected.items()
    }
    assert all(trained[ids] != indices for ids, indices in expected.items())


def test_a_truncated_conversation_is_trained_up_to_its_end(
    conversations: list[TrainingTokens], expected: dict[tuple[int, ...], set[int]], tokenizer: Any, tmp_path: Path
) -> None:
    """Cut by TRL, or by toolfmt before. The first conversation ends inside its call."""
    first = expected[tuple(conversations[0].input_ids)]
    length = min(first) + 10
    assert {length - 1, length} <= first
    known = {ids[:length]: {index for index in indices if index < length} for ids, indices in expected.items()}
    by_trl = Step(rows(conversations), tokenizer, tmp_path, max_length=length)
    assert by_trl.labeled() == by_trl.trained() == known
    model = toolfmt.load(MODELS / "json-frames", trusted=True)
    cut = [model.render_training(messages, TOOLS).tokenize(tokenizer, max_length=length) for messages in CONVERSATIONS]
    before = Step(rows(cut), tokenizer, tmp_path)
    assert before.labeled() == before.trained() == known


def test_a_conversation_is_left_out_if_it_is_cut_before_the_model_writes(
    conversations: list[TrainingTokens], expected: dict[tuple[int, ...], set[int]], tokenizer: Any, tmp_path: Path
) -> None:
    first, second = (expected[tuple(each.input_ids)] for each in conversations)
    length = min(first)
    assert min(second) < length  # the other one is trained
    step = Step(rows(conversations), tokenizer, tmp_path, max_length=length)
    ids = tuple(conversations[1].input_ids[:length])
    assert step.trained() == {ids: {index for index in second if index < length}}
