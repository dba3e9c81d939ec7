"""TRL parses calls with a `response_template` of toolfmt, for chat templates that TRL does not know.

TRL 1.16.0: `GRPOTrainer` with tools calls `add_response_schema` unless `tokenizer.response_template` is set
(`trl/trainer/grpo_trainer.py`). `add_response_schema` compares the chat template with known ones as strings, and raises
for any other (`trl/chat_template_utils.py`). `parse_response` there reads the attribute through
`tokenizer.parse_response`, and returns the whole output as text if that fails.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import pytest
from model_cases import MODELS
from small_tokenizers import by_bytes
from tiny_llama import tiny_llama

import toolfmt

torch = pytest.importorskip("torch", reason="torch is large, and CI does not need it")
trl = pytest.importorskip("trl", reason="TRL needs torch")
datasets = pytest.importorskip("datasets", reason="TRL needs datasets")
transformers = pytest.importorskip("transformers")
tokenizers = pytest.importorskip("tokenizers")

QUESTION = [{"role": "user", "content": "Look at the cat."}]


class Case(NamedTuple):
    model: str
    format: str
    anchor: str
    stop: str
    call: str


CASES = {
    "json-frames": Case(
        "json-frames",
        "json",
        "<|im_start|>assistant\n",
        "<|im_end|>",
        '<tool_call>\n{"name": "look", "arguments": {"at": "the \\"cat\\"", "times": 2}}\n</tool_call>',
    ),
    "glm4-key-value": Case(
        "glm4-key-value",
        "glm4",
        "<|assistant|>\n",
        "<|observation|>",
        '<tool_call>look\n<arg_key>at</arg_key>\n<arg_value>the "cat"</arg_value>\n'
        "<arg_key>times</arg_key>\n<arg_value>2</arg_value>\n</tool_call>",
    ),
}
ARGUMENTS = {"at": 'the "cat"', "times": 2}


@pytest.fixture(params=list(CASES))
def case(request: pytest.FixtureRequest) -> Case:
    return CASES[request.param]


@pytest.fixture
def tokenizer(case: Case) -> Any:
    """A tokenizer without a `response_template`."""
    pieces = tokenizers.Tokenizer.from_str(by_bytes().to_str())
    made = transformers.PreTrainedTokenizerFast(tokenizer_object=pieces, eos_token=case.stop, pad_token="</s>")
    made.chat_template = (MODELS / case.model / "chat_template.jinja").read_text("utf-8")
    return made


def declare(tokenizer: Any, case: Case) -> None:
    """Set the `response_template` of the model's format."""
    from toolfmt.integrations.transformers import response_template

    format = toolfmt.load(MODELS / case.model, trusted=True).profile.tool_call_format
    assert format is not None and format.name == case.format
    tokenizer.response_template = response_template(format, start_anchor=case.anchor, stop=[case.stop])


class RecordingTool:
    """A tool that records the arguments of each call."""

    def __init__(self) -> None:
        self.calls: list[dict[str, Any]] = []

    def function(self) -> Any:
        def look(at: str, times: int) -> str:
            """Look at something.

            Args:
                at: What to look at.
                times: How many times.
            """
            self.calls.append({"at": at, "times": times})
            return "The cat sat."

        return look


def test_trl_does_not_know_the_chat_template(tokenizer: Any) -> None:
    with pytest.raises(ValueError, match="Unrecognized chat template"):
        trl.chat_template_utils.add_response_schema(tokenizer)


def test_trl_parses_a_call(case: Case, tokenizer: Any) -> None:
    declare(tokenizer, case)
    tools = [transformers.utils.get_json_schema(RecordingTool().function())]
    prompt = tokenizer.apply_chat_template(QUESTION, tools=tools, add_generation_prompt=True)["input_ids"]
    for before in ("", "Let me look.\n"):
        ids = tokenizer.encode(before + case.call + case.stop, add_special_tokens=False)
        parsed = trl.chat_template_utils.parse_response(tokenizer, ids, prefix=prompt, tools=tools)
        assert parsed["content"].strip() == before.strip()
        assert [call["function"] for call in parsed["tool_calls"]] == [{"name": "look", "arguments": ARGUMENTS}]
    text = trl.chat_template_utils.parse_response(
        tokenizer, tokenizer.encode("The cat sat." + case.stop, add_special_tokens=False), prefix=prompt, tools=tools
    )
    assert text["content"] == "The cat sat." and not text.get("tool_calls")


def trainer(tokenizer: Any, case: Case, tool: RecordingTool, directory: Path) -> Any:
    """Return a GRPO trainer whose model has random weights. The first output of each rollout is a call."""
    call = tokenizer.encode(case.call + case.stop, add_special_tokens=False)

    def rollout(prompts: list[Any], trainer: Any) -> dict[str, Any]:
        ids, _, _ = trainer._tokenize_prompts(prompts)
        return {"prompt_ids": ids, "completion_ids": [[*call] for _ in ids], "logprobs": None}

    return trl.GRPOTrainer(
        tiny_llama(tokenizer),
        lambda completions, **_: [float(len(completion)) for completion in completions],
        args=trl.GRPOConfig(
            output_dir=str(directory),
            per_device_train_batch_size=2,
            num_generations=2,
            max_completion_length=len(call) + 100,
            max_tool_calling_iterations=1,
            max_steps=1,
            use_cpu=True,
            bf16=False,
            report_to="none",
            save_strategy="no",
            disable_tqdm=True,
        ),
        train_dataset=datasets.Dataset.from_list([{"prompt": QUESTION}] * 2),
        processing_class=tokenizer,
        tools=[tool.function()],
        rollout_func=rollout,
    )


@pytest.mark.filterwarnings("ignore:You are using 'rollout_func'")
def test_grpo_executes_the_call(case: Case, tokenizer: Any, tmp_path: Path) -> None:
    tool = RecordingTool()
    with pytest.raises(ValueError, match="Unrecognized chat template"):
        trainer(tokenizer, case, tool, tmp_path)
    declare(tokenizer, case)
    trainer(tokenizer, case, tool, tmp_path).train()
    assert tool.calls == [ARGUMENTS, ARGUMENTS]
