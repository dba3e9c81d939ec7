"""The real mlx-lm at the edge: a tiny model, trained here to one answer, streams a tool call token by token."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import toolfmt
from toolfmt.events import ToolCallArguments, merge
from toolfmt.message import Message

mx = pytest.importorskip("mlx.core", reason="mlx is there on Linux and macOS only")
mlx_lm = pytest.importorskip("mlx_lm", reason="mlx-lm is there on Linux and macOS only")

TEMPLATE = """\
{%- if tools %}{{- '<|im_start|>system\\n# Tools\\n' }}{%- for tool in tools %}{{- tool | tojson + '\\n' }}{%- endfor %}
{{- '<|im_end|>\\n' }}{%- endif %}
{%- for message in messages %}
{{- '<|im_start|>' + message.role + '\\n' + (message.content or '') }}
{%- for call in message.tool_calls or [] %}
{{- '<tool_call>\\n{"name": "' + call.function.name + '", "arguments": ' + call.function.arguments | tojson }}
{{- '}\\n</tool_call>' }}
{%- endfor %}
{{- '<|im_end|>\\n' }}
{%- endfor %}
{%- if add_generation_prompt %}{{- '<|im_start|>assistant\\n' }}{%- endif %}
"""
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
    """A Qwen3-shaped model directory: random weights, a tokenizer trained on the answer."""
    qwen3: Any = pytest.importorskip("mlx_lm.models.qwen3")
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

    directory = tmp_path_factory.mktemp("tiny-qwen3")
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    special = ["<|im_start|>", "<|im_end|>"]
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(vocab_size=320, special_tokens=special, initial_alphabet=alphabet)
    tokenizer.train_from_iterator(
        [json.dumps(TOOLS), toolfmt.write("json", [("run", ARGUMENTS)]), "user assistant"], trainer
    )
    tokenizer.save(str(directory / "tokenizer.json"))
    config = {
        "model_type": "qwen3",
        "hidden_size": 64,
        "num_hidden_layers": 2,
        "intermediate_size": 128,
        "num_attention_heads": 2,
        "num_key_value_heads": 2,
        "head_dim": 32,
        "rms_norm_eps": 1e-6,
        "vocab_size": tokenizer.get_vocab_size(),
        "max_position_embeddings": 2048,
        "rope_theta": 10000.0,
        "tie_word_embeddings": True,
        "eos_token_id": tokenizer.token_to_id("<|im_end|>"),
    }
    (directory / "config.json").write_text(json.dumps(config), encoding="utf-8")
    tokenizer_config = {
        "tokenizer_class": "PreTrainedTokenizerFast",
        "eos_token": "<|im_end|>",
        "clean_up_tokenization_spaces": False,
        "chat_template": TEMPLATE,
    }
    (directory / "tokenizer_config.json").write_text(json.dumps(tokenizer_config), encoding="utf-8")
    mx.random.seed(0)
    model = qwen3.Model(qwen3.ModelArgs.from_dict(config))
    train(model, tokenizer, toolfmt.load(directory).render(MESSAGES, tools=TOOLS).text)
    from mlx.utils import tree_flatten

    mx.save_safetensors(str(directory / "model.safetensors"), dict(tree_flatten(model.parameters())))
    return directory


def train(model: Any, tokenizer: Any, prompt: str) -> None:
    """Overfit the model on one answer to the prompt."""
    nn: Any = pytest.importorskip("mlx.nn")
    optimizers: Any = pytest.importorskip("mlx.optimizers")

    text = prompt + toolfmt.write("json", [("run", ARGUMENTS)]) + "<|im_end|>"
    ids = mx.array([tokenizer.encode(text).ids])
    begin = len(tokenizer.encode(prompt).ids) - 1

    def loss(model: Any) -> Any:
        logits = model(ids[:, :-1])[:, begin:]
        return nn.losses.cross_entropy(logits, ids[:, 1:][:, begin:], reduction="mean")

    optimizer = optimizers.Adam(learning_rate=3e-3)
    step = nn.value_and_grad(model, loss)
    for _ in range(400):
        value, gradients = step(model)
        optimizer.update(model, gradients)
        mx.eval(model.parameters(), optimizer.state, value)
        if value.item() < 1e-3:
            return
    raise AssertionError(f"the model did not learn its answer: loss {value.item():.3f}")


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
        said = parser.feed(response.text)
        pieces += sum(isinstance(event, ToolCallArguments) for event in said)
        events += said
    events += parser.finish()
    message = Message.from_events(merge(events))
    assert [(call.name, json.loads(call.arguments)) for call in message.tool_calls] == [("run", ARGUMENTS)]
    assert pieces > 3 and not message.rejected
