"""GGUF files with the metadata of a chat model."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import gguf

TEMPLATE = "{% for message in messages %}<|{{ message.role }}|>{{ message.content }}<|end|>{% endfor %}"

TOKENS = ["a", "b", "<s>", "<|end|>", "<|call|>", "<|think|>"]

NORMAL, CONTROL, USER_DEFINED = 1, 3, 4

TYPES = [NORMAL, NORMAL, CONTROL, CONTROL, CONTROL, USER_DEFINED]

IDS = {"bos": 2, "eos": 3, "eot": 4}


def written(path: Path, *, architecture: str = "qwen3", template: Any = TEMPLATE) -> Path:
    """A GGUF file with only metadata, as the package `gguf` writes it."""
    writer = gguf.GGUFWriter(path, architecture)
    writer.add_token_list(TOKENS)
    writer.add_token_types(TYPES)
    for name, number in IDS.items():
        writer.add_uint32(f"tokenizer.ggml.{name}_token_id", number)
    if template is not None:
        writer.add_chat_template(template)
    return _closed(writer)


def of_keys(path: Path, keys: dict[str, Any]) -> Path:
    """A GGUF file that contains only these keys, whatever their types."""
    writer = gguf.GGUFWriter(path, "qwen3")
    del writer.kv_data[0]["general.architecture"]
    for key, value in keys.items():
        kind = gguf.GGUFValueType.UINT32 if type(value) is int else gguf.GGUFValueType.get_type(value)
        writer.add_key_value(key, value, kind)
    return _closed(writer)


def _closed(writer: gguf.GGUFWriter) -> Path:
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.close()
    assert writer.path is not None
    return Path(writer.path)
