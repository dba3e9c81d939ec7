"""Model directories of some 300 KB with scripted outputs: real runtimes generate from them, token by token.

`build` trains a Qwen3-shaped model on the CPU, in seconds, until it knows its outputs for its prompts by heart.
`recite` makes one without training, which generates one output, of any length, for every prompt; `untrained` makes one
with random weights. The directories load in mlx-lm and in transformers. Needs mlx, mlx-lm and transformers; a test
module that imports this one first calls `pytest.importorskip`.
"""

from __future__ import annotations

import importlib
import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

mx: Any = importlib.import_module("mlx.core")
nn: Any = importlib.import_module("mlx.nn")
optimizers: Any = importlib.import_module("mlx.optimizers")

PADDING = "<|endoftext|>"
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
"""A template like Qwen3's, with few tokens: each takes time to learn."""
_LEARNT, _SURE = 0.02, 0.2
"""Losses: of all tokens together, and of the one that is known least, which has four fifths of the probability."""


def build(
    directory: Path,
    *,
    template: str,
    messages: Sequence[Mapping[str, Any]],
    tools: Sequence[Mapping[str, Any]],
    answer: str,
    later: Sequence[tuple[Sequence[Mapping[str, Any]], str]] = (),
    end: str = "<|im_end|>",
    special: Iterable[str] = (),
    added: Iterable[str] = (),
    steps: int = 400,
    **variables: Any,
) -> Path:
    """A model directory with this template, whose model generates `answer` and `end` for `messages` and `tools`; and
    for other messages what `later` lists, pairs of both.

    `special` are control tokens, which a detokenizer may drop, `added` are tokens like any other that are one piece;
    `end` and the padding are control tokens in any case. `variables` are the template's. Outputs for other prompts are
    arbitrary. Raises `AssertionError` if the output was not learned within `steps`.
    """
    directory.mkdir(parents=True, exist_ok=True)
    template_options = {"tools": tools, "add_generation_prompt": True, **variables}
    base = _tokenizer([], template, end, special, added)
    dialogs = [(messages, answer), *later]
    learnt = [
        (base.apply_chat_template(dialog, tokenize=False, **template_options), answer) for dialog, answer in dialogs
    ]
    tokenizer = _tokenizer([text for both in learnt for text in both], template, end, special, added)
    tokenizer.save_pretrained(directory)
    config = _config(len(tokenizer), tokenizer.eos_token_id)
    (directory / "config.json").write_text(json.dumps(config, indent=1), encoding="utf-8")
    model = _model(config)
    texts = [[tokenizer.encode(text, add_special_tokens=False) for text in both] for both in learnt]
    _train(model, [(prompt, [*reply, tokenizer.eos_token_id]) for prompt, reply in texts], steps)
    weights = dict(importlib.import_module("mlx.utils").tree_flatten(model.parameters()))
    mx.save_safetensors(str(directory / "model.safetensors"), weights, metadata={"format": "pt"})
    return directory


def recite(
    directory: Path, *, template: str, answer: str, end: str = "<|im_end|>", special: Iterable[str] = ()
) -> Path:
    """A model directory with this template, whose model generates `answer` and `end` for every prompt.

    Nothing is learned: the output is split into pieces that are all different, each is a token, and each leads to the
    next; every other token leads to the first. The pieces have two characters or more, and more for a long output.
    """
    directory.mkdir(parents=True, exist_ok=True)
    pieces = _different_pieces(answer)
    tokenizer = _tokenizer([], template, end, special, pieces)
    tokenizer.save_pretrained(directory)
    chain = [*tokenizer.convert_tokens_to_ids(pieces), tokenizer.eos_token_id]
    prompt = tokenizer.apply_chat_template([{"role": "user", "content": "?"}], add_generation_prompt=True)["input_ids"]
    assert prompt[-1] not in chain, f"the prompt's last token {tokenizer.decode(prompt[-1:])!r} is in the output"
    config = _config(len(tokenizer), tokenizer.eos_token_id) | {"tie_word_embeddings": False}
    (directory / "config.json").write_text(json.dumps(config, indent=1), encoding="utf-8")
    weights = dict(importlib.import_module("mlx.utils").tree_flatten(_model(config).parameters()))
    for adding in [name for name in weights if name.endswith(("o_proj.weight", "down_proj.weight"))]:
        weights[adding] = mx.zeros_like(weights[adding])
    directions = mx.random.normal((len(chain), config["hidden_size"]))
    directions /= mx.linalg.norm(directions, axis=1, keepdims=True)
    # The last direction is that of all tokens that are not in the output.
    embeddings = mx.repeat(directions[-1:], config["vocab_size"], axis=0)
    embeddings[mx.array(chain[:-1])] = directions[:-1]
    follows = mx.zeros_like(embeddings)
    follows[mx.array(chain)] = mx.concatenate([directions[-1:], directions[:-1]])
    weights |= {"model.embed_tokens.weight": embeddings, "lm_head.weight": follows}
    mx.save_safetensors(str(directory / "model.safetensors"), weights, metadata={"format": "pt"})
    return directory


def untrained(directory: Path, *, template: str, end: str = "<|im_end|>", special: Iterable[str] = ()) -> Path:
    """A model directory with this template, whose model is untrained; it declares more tokens than there are."""
    directory.mkdir(parents=True, exist_ok=True)
    tokenizer = _tokenizer([template], template, end, special, ())
    tokenizer.save_pretrained(directory)
    config = _config(len(tokenizer) + 20, tokenizer.eos_token_id)
    (directory / "config.json").write_text(json.dumps(config, indent=1), encoding="utf-8")
    weights = dict(importlib.import_module("mlx.utils").tree_flatten(_model(config).parameters()))
    mx.save_safetensors(str(directory / "model.safetensors"), weights, metadata={"format": "pt"})
    return directory


def _different_pieces(text: str) -> list[str]:
    """The text in pieces of at least two characters, none of them twice."""
    assert text.isascii(), "the text of a token is not assembled from bytes here"
    pieces: dict[str, None] = {}
    begin = 0
    while begin < len(text):
        end = begin + 2
        while text[begin:end] in pieces and end < len(text):
            end += 1
        piece = text[begin:end]
        if piece in pieces or len(piece) < 2:  # the rest of it
            piece = pieces.popitem()[0] + piece
            assert piece not in pieces
        pieces[piece] = None
        begin = end
    return list(pieces)


def _tokenizer(learnt: list[str], template: str, end: str, special: Iterable[str], added: Iterable[str]) -> Any:
    """A tokenizer with long pieces: fewer tokens are learned faster, and an output still has many."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

    pieces = Tokenizer(models.BPE())
    pieces.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    pieces.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=512,
        special_tokens=[PADDING, end, *(token for token in special if token != end)],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    pieces.train_from_iterator(learnt, trainer)
    fast: Any = importlib.import_module("transformers").PreTrainedTokenizerFast
    tokenizer = fast(tokenizer_object=pieces, eos_token=end, pad_token=PADDING, clean_up_tokenization_spaces=False)
    tokenizer.add_tokens(list(added))
    tokenizer.chat_template = template
    return tokenizer


def _config(vocabulary: int, end: int) -> dict[str, Any]:
    return {
        "architectures": ["Qwen3ForCausalLM"],
        "model_type": "qwen3",
        "dtype": "float32",
        "hidden_size": 64,
        "num_hidden_layers": 1,
        "intermediate_size": 128,
        "num_attention_heads": 2,
        "num_key_value_heads": 2,
        "head_dim": 32,
        "rms_norm_eps": 1e-6,
        "vocab_size": vocabulary,
        "max_position_embeddings": 8192,
        "rope_theta": 10000.0,
        "tie_word_embeddings": True,
        "eos_token_id": end,
        "bos_token_id": None,
    }


def _model(config: Mapping[str, Any]) -> Any:
    qwen3: Any = importlib.import_module("mlx_lm.models.qwen3")
    mx.random.seed(0)
    model = qwen3.Model(qwen3.ModelArgs.from_dict(config))
    mx.eval(model.parameters())
    return model


def _train(model: Any, learnt: Sequence[tuple[list[int], list[int]]], steps: int) -> None:
    """Train until the model is sure of every token of its output, prompt by prompt."""
    examples = [(mx.array([prompt + answer]), len(prompt) - 1) for prompt, answer in learnt]

    def losses(model: Any) -> Any:
        each = []
        for ids, begin in examples:
            logits = model(ids[:, :-1])[:, begin:]
            each.append(nn.losses.cross_entropy(logits, ids[:, 1:][:, begin:]).flatten())
        return mx.concatenate(each)

    optimizer = optimizers.Adam(learning_rate=1e-2)
    step = nn.value_and_grad(model, lambda model: losses(model).mean())
    for _ in range(steps):
        loss, gradients = step(model)
        optimizer.update(model, gradients)
        mx.eval(model.parameters(), optimizer.state, loss)
        if loss.item() < _LEARNT and losses(model).max().item() < _SURE:
            return
    raise AssertionError(f"the model did not learn its answer in {steps} steps: loss {losses(model).mean().item():.3f}")
