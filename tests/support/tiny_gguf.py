"""A model directory of `tiny_models` as a GGUF file: weights (float32), tokenizer and template in one.

Names of tensors and keys: the GGUF specification, and llama.cpp's `convert_hf_to_gguf.py` for Qwen3.
"""

from __future__ import annotations

import importlib
import json
import re
from collections.abc import Collection
from pathlib import Path
from typing import Any

from toolfmt.formats import FORMATS

_TENSORS = {
    "embed_tokens": "token_embd",
    "norm": "output_norm",
    "input_layernorm": "attn_norm",
    "post_attention_layernorm": "ffn_norm",
    "self_attn.q_proj": "attn_q",
    "self_attn.k_proj": "attn_k",
    "self_attn.v_proj": "attn_v",
    "self_attn.o_proj": "attn_output",
    "self_attn.q_norm": "attn_q_norm",
    "self_attn.k_norm": "attn_k_norm",
    "mlp.gate_proj": "ffn_gate",
    "mlp.up_proj": "ffn_up",
    "mlp.down_proj": "ffn_down",
}
_IN_BRACKETS = re.compile(r"<[^\s\"]+>")
_NORMAL, _CONTROL, _USER_DEFINED = 1, 3, 4


def markers(but: Collection[str]) -> list[str]:
    """The markers of all formats that most tokenizers have as control tokens: those in angle brackets."""
    marks = {mark for format in FORMATS for mark in format.markers.output_literals if _IN_BRACKETS.fullmatch(mark)}
    return sorted(marks.difference(but))


def written(directory: Path, file: Path, control: Collection[str] = ()) -> Path:
    """The file, written from the content of the directory; `control` are added tokens that are control tokens in it."""
    gguf: Any = importlib.import_module("gguf")
    numpy: Any = importlib.import_module("numpy")
    config = json.loads((directory / "config.json").read_text("utf-8"))
    writer = gguf.GGUFWriter(str(file), "qwen3")
    writer.add_name("tiny")
    writer.add_context_length(config["max_position_embeddings"])
    writer.add_embedding_length(config["hidden_size"])
    writer.add_block_count(config["num_hidden_layers"])
    writer.add_feed_forward_length(config["intermediate_size"])
    writer.add_head_count(config["num_attention_heads"])
    writer.add_head_count_kv(config["num_key_value_heads"])
    writer.add_key_length(config["head_dim"])
    writer.add_value_length(config["head_dim"])
    writer.add_rope_freq_base(config["rope_theta"])
    writer.add_layer_norm_rms_eps(config["rms_norm_eps"])
    _add_tokenizer(writer, directory, config["eos_token_id"], control)
    writer.add_chat_template((directory / "chat_template.jinja").read_text("utf-8"))
    weights = importlib.import_module("safetensors.numpy").load_file(directory / "model.safetensors")
    for name, values in weights.items():
        writer.add_tensor(_tensor(name), numpy.ascontiguousarray(values.astype(numpy.float32)))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return file


def _add_tokenizer(writer: Any, directory: Path, end: int, control: Collection[str]) -> None:
    tokenizer = json.loads((directory / "tokenizer.json").read_text("utf-8"))
    added = {token["content"]: token for token in tokenizer["added_tokens"]}
    vocabulary = tokenizer["model"]["vocab"] | {text: token["id"] for text, token in added.items()}
    tokens = sorted(vocabulary, key=vocabulary.__getitem__)
    kinds = [_CONTROL if text in control else _kind(added.get(text)) for text in tokens]
    merges = [merge if isinstance(merge, str) else " ".join(merge) for merge in tokenizer["model"]["merges"]]
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("gpt-2")
    writer.add_token_list(tokens)
    writer.add_token_types(kinds)
    writer.add_token_merges(merges)
    writer.add_eos_token_id(end)
    writer.add_add_bos_token(False)


def _tensor(name: str) -> str:
    inner = name.removeprefix("model.").removesuffix(".weight")
    if inner.startswith("layers."):
        _, number, part = inner.split(".", 2)
        return f"blk.{number}.{_TENSORS[part]}.weight"
    return f"{_TENSORS[inner]}.weight"


def _kind(added: Any) -> int:
    if added is None:
        return _NORMAL
    return _CONTROL if added["special"] else _USER_DEFINED
