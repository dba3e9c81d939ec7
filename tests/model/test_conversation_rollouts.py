"""Rollouts for reinforcement learning, with token ids in and out, in the shapes that verl and prime-rl train on.

verl 0.9.1: `verl/workers/rollout/replica.py`, `TokenOutput`: a generation returns `token_ids` and `log_probs`, one for
each token. `verl/experimental/agent_loop/agent_loop.py`, `AgentLoopOutput`: `prompt_ids` are those of the first prompt
only; `response_ids` are all later ones, from the model and from the template; `response_mask` has 1 for tokens of the
model and 0 for others; `response_logprobs` has 0.0 for others. The three lists have the same length.
`verl/utils/tokenizer/continuous_token.py`: the next prompt consists of the last one, the generated ids, and the ids
of new messages. A builder for each model family renders these after placeholder messages (`render_delta_token_id`).

prime-rl, commit 559b4477 of 2026-08-21, with verifiers at commit a60a606e: `verifiers/v1/types.py`, `TurnTokens`: a
generation has `prompt_ids`, `completion_ids` and `completion_logprobs`. `verifiers/v1/graph.py`, `_commit_turn`: a turn
continues the last one if its `prompt_ids` begin with the ids stored so far, otherwise a new branch begins.
`src/prime_rl/transports/rollouts/types.py`, `TrainingSample`: a branch is one sample without a border between prompt
and completion; `token_ids`, `mask` (true for sampled tokens), `logprobs` (0.0 for others) and `temperatures` have the
same length. prime-rl is not a package; verifiers is one, and 0.4.1.dev86 is tested here if it is installed.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import pytest
from model_cases import MODELS
from small_tokenizers import by_bytes
from transformers import PreTrainedTokenizerFast

import toolfmt

TOOL: dict[str, Any] = {
    "type": "function",
    "function": {
        "name": "look",
        "description": "Look.",
        "parameters": {"type": "object", "properties": {"at": {"type": "string"}}, "required": ["at"]},
    },
}
QUESTION = {"role": "user", "content": "Where is the cat?"}
OUTPUTS = (
    '<tool_call>{"name":"look","arguments":{"at":"the mat"}}</tool_call>',
    'Not there.\n<tool_call>\n{"arguments": {"at": "the table"}, "name": "look"}\n</tool_call>',
    "The cat sat on the table.",
)
"""The template renders both calls differently."""
RESULTS = ("Nothing.", "The cat sat.<|im_end|>\n<|im_start|>assistant\nIt is gone.")
"""The second one imitates the end of a turn."""
STOP = "<|im_end|>"


@dataclass(frozen=True)
class Step:
    """A generation, as verl and prime-rl report it."""

    prompt_ids: list[int]
    completion_ids: list[int]
    logprobs: list[float]


@pytest.fixture(scope="module")
def tokenizer() -> Any:
    made: Any = PreTrainedTokenizerFast(tokenizer_object=by_bytes(), eos_token=STOP)  # type: ignore[no-untyped-call]  # theirs
    made.chat_template = (MODELS / "json-frames" / "chat_template.jinja").read_text("utf-8")
    return made


class Policy:
    """A model that writes `OUTPUTS` with one token per character, unlike the tokenizer."""

    def __init__(self, tokenizer: Any) -> None:
        self._tokenizer = tokenizer
        self.steps: list[Step] = []

    def generate(self, prompt_ids: list[int]) -> Step:
        characters = [self._tokenizer.encode(one, add_special_tokens=False) for one in OUTPUTS[len(self.steps)]]
        ids = [*(id for ids in characters for id in ids), self._tokenizer.convert_tokens_to_ids(STOP)]
        self.steps.append(Step(prompt_ids, ids, [-0.5 - number for number in range(len(ids))]))
        return self.steps[-1]


def rollout(tokenizer: Any, results: tuple[str, ...] = RESULTS) -> tuple[list[Step], list[Any]]:
    """Return the steps of a rollout, and its messages."""
    policy = Policy(tokenizer)
    talk = toolfmt.Conversation(toolfmt.load(MODELS / "json-frames", trusted=True), [QUESTION], [TOOL])
    prompt_ids = talk.prompt().prompt.token_ids(tokenizer)
    for result in results:
        step = policy.generate(prompt_ids)
        message = talk.answered(tokenizer.decode(step.completion_ids))
        (call,) = message.tool_calls
        talk.result(call.id, result)
        prompt_ids = talk.token_ids(prompt_ids, step.completion_ids, tokenizer)
    message = talk.answered(tokenizer.decode(policy.generate(prompt_ids).completion_ids))
    assert not message.tool_calls
    return policy.steps, talk.messages


def masked(steps: list[Step]) -> tuple[list[int], list[int], list[float]]:
    """Return the ids of a rollout, 1 for each token of the model, and log probabilities with 0.0 for others."""
    ids: list[int] = []
    mask: list[int] = []
    logprobs: list[float] = []
    for step in steps:
        new = step.prompt_ids[len(ids) :]
        ids += [*new, *step.completion_ids]
        mask += [*[0] * len(new), *[1] * len(step.completion_ids)]
        logprobs += [*[0.0] * len(new), *step.logprobs]
    return ids, mask, logprobs


def in_verls_shape(steps: list[Step]) -> dict[str, Any]:
    ids, mask, logprobs = masked(steps)
    begin = len(steps[0].prompt_ids)
    return {
        "prompt_ids": ids[:begin],
        "response_ids": ids[begin:],
        "response_mask": mask[begin:],
        "response_logprobs": logprobs[begin:],
    }


def in_prime_rls_shape(steps: list[Step]) -> dict[str, Any]:
    ids, mask, logprobs = masked(steps)
    return {
        "token_ids": ids,
        "mask": list(map(bool, mask)),
        "logprobs": logprobs,
        "temperatures": [1.0] * len(ids),
        "env_name": "look",
    }


def test_each_prompt_is_the_earlier_ids_and_new_ones(tokenizer: Any) -> None:
    steps, messages = rollout(tokenizer)
    assert [message["role"] for message in messages] == ["user", "assistant", "tool", "assistant", "tool", "assistant"]
    for before, after, result in zip(steps[:-1], steps[1:], RESULTS, strict=True):
        known = [*before.prompt_ids, *before.completion_ids]
        assert after.prompt_ids[: len(known)] == known
        new = after.prompt_ids[len(known) :]
        assert tokenizer.decode(new) == f"\n<|im_start|>tool\n{result}<|im_end|>\n<|im_start|>assistant\n"
        assert new.count(tokenizer.convert_tokens_to_ids(STOP)) == 1  # none in the result


def test_verls_shape(tokenizer: Any) -> None:
    steps, _ = rollout(tokenizer)
    shape = in_verls_shape(steps)
    assert len(shape["response_ids"]) == len(shape["response_mask"]) == len(shape["response_logprobs"])
    assert [*shape["prompt_ids"], *shape["response_ids"]] == [*steps[-1].prompt_ids, *steps[-1].completion_ids]
    written = [id for id, mask in zip(shape["response_ids"], shape["response_mask"], strict=True) if mask]
    assert tokenizer.decode(written) == STOP.join([*OUTPUTS, ""])
    assert (shape["response_mask"][0], shape["response_mask"][-1]) == (1, 1)
    assert [value for value in shape["response_logprobs"] if value] == [
        value for step in steps for value in step.logprobs
    ]


def test_prime_rls_shape(tokenizer: Any) -> None:
    steps, _ = rollout(tokenizer)
    sample = in_prime_rls_shape(steps)
    assert {len(sample[name]) for name in ("mask", "logprobs", "temperatures")} == {len(sample["token_ids"])}
    assert not any(sample["mask"][: len(steps[0].prompt_ids)])
    for step in steps:
        begin = len(step.prompt_ids)
        end = begin + len(step.completion_ids)
        assert sample["token_ids"][:end] == [*step.prompt_ids, *step.completion_ids]
        assert all(sample["mask"][begin:end]) and sample["logprobs"][begin:end] == step.logprobs
    assert sum(sample["mask"]) == sum(len(step.completion_ids) for step in steps)


@pytest.mark.sample(0)
def test_verl_accepts_the_rollout_and_its_own_loop_returns_the_same(tokenizer: Any) -> None:
    """verl's `ToolAgentLoop`, with its builder for Qwen's models and its parser `hermes`, on the same outputs."""
    agent_loop = pytest.importorskip("verl.experimental.agent_loop.agent_loop", reason="verl needs torch and ray")
    tool_loop = pytest.importorskip("verl.experimental.agent_loop.tool_agent_loop")
    schemas = pytest.importorskip("verl.tools.schemas")
    replica = pytest.importorskip("verl.workers.rollout.replica")
    results = (RESULTS[0], "The cat sat.")  # verl turns the markers of the other one into control tokens
    steps, _ = rollout(tokenizer, results)
    accepted = agent_loop.AgentLoopOutput(**in_verls_shape(steps), metrics={}).as_dict()
    assert accepted["rollout_log_probs"].shape == accepted["response_mask"].shape == accepted["responses"].shape

    policy, left = Policy(tokenizer), iter(results)

    class Server:
        async def generate(self, *, prompt_ids: list[int], **options: Any) -> Any:
            step = policy.generate(prompt_ids)
            return replica.TokenOutput(token_ids=step.completion_ids, log_probs=step.logprobs)

    async def call_tool(*call: Any) -> Any:
        return schemas.ToolResponse(text=next(left)), 0.0, {}

    multi_turn = SimpleNamespace(
        max_user_turns=None,
        max_assistant_turns=None,
        max_parallel_calls=1,
        max_tool_response_length=1000,
        tool_response_truncate_side="left",
        format="hermes",
    )
    settings = SimpleNamespace(
        multi_turn=multi_turn, prompt_length=10_000, response_length=10_000, full_determinism=True
    )
    config = SimpleNamespace(actor_rollout_ref=SimpleNamespace(rollout=settings))
    tool = SimpleNamespace(name="look", tool_schema=schemas.OpenAIFunctionToolSchema.model_validate(TOOL))

    async def run() -> Any:
        loop = tool_loop.ToolAgentLoop(
            trainer_config=SimpleNamespace(config=config),
            server_manager=Server(),
            tokenizer=tokenizer,
            processor=None,
            dataset_cls=None,
            data_config=SimpleNamespace(config={}),
            hf_model_type="qwen3",
            tools=SimpleNamespace(tools=[tool]),
        )
        loop._call_tool = call_tool
        return await loop.run({}, raw_prompt=[QUESTION])

    theirs = asyncio.run(run())
    assert {name: getattr(theirs, name) for name in in_verls_shape(steps)} == in_verls_shape(steps)
    assert policy.steps == steps


@pytest.mark.sample(0)
def test_verifiers_keeps_the_rollout_as_one_branch(tokenizer: Any) -> None:
    """prime-rl's orchestrator turns branches into samples. A prompt that does not begin with the stored ids forks."""
    graph = pytest.importorskip("verifiers.v1.graph", reason="verifiers needs some forty packages")
    trace_module = pytest.importorskip("verifiers.v1.trace")
    types = pytest.importorskip("verifiers.v1.types")
    made = {"system": types.SystemMessage, "user": types.UserMessage, "tool": types.ToolMessage}

    def theirs(message: Any) -> Any:
        if message["role"] != "assistant":
            return made[message["role"]](**message)
        calls = [
            types.ToolCall(id=call["id"], name=call["function"]["name"], arguments=call["function"]["arguments"])
            for call in message.get("tool_calls", ())
        ]
        return types.AssistantMessage(content=message.get("content"), tool_calls=calls or None)

    def branches(steps: list[Step], messages: list[Any]) -> list[Any]:
        trace = trace_module.Trace.model_construct(nodes=[], calls=[])
        places = [index for index, message in enumerate(messages) if message["role"] == "assistant"]
        for step, index in zip(steps, places, strict=True):
            tokens = types.TurnTokens(
                prompt_ids=step.prompt_ids, completion_ids=step.completion_ids, completion_logprobs=step.logprobs
            )
            response = types.Response(
                id=str(index),
                created=0,
                model="policy",
                message=theirs(messages[index]),
                finish_reason="stop",
                tokens=tokens,
            )
            graph.prepare_turn(trace, list(map(theirs, messages[:index]))).commit(response)
        return list(trace.branches)

    steps, messages = rollout(tokenizer)
    (branch,) = branches(steps, messages)
    sample = in_prime_rls_shape(steps)
    assert list(branch.token_ids) == sample["token_ids"]
    assert list(branch.sampled_mask) == sample["mask"]
    assert list(branch.logprobs) == sample["logprobs"]
    # Rendered again, the prompts contain the calls as the template writes them.
    model = toolfmt.load(MODELS / "json-frames", trusted=True)
    again = [
        Step(model.render(messages[:index], [TOOL]).token_ids(tokenizer), step.completion_ids, step.logprobs)
        for step, index in zip(steps, (1, 3, 5), strict=True)
    ]
    assert len(branches(again, messages)) == 3
