"""Tokenizers of every kind that models come with, trained here, and the vocabularies of models that other packages
carry, if these are installed (`pip install --no-deps litellm mistral-common`).
"""

from __future__ import annotations

import importlib.util
import json
import shutil
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

from tokenizers import AddedToken, Tokenizer, decoders, models, normalizers, pre_tokenizers, trainers
from transformers import AutoTokenizer, PreTrainedTokenizerFast

SPECIAL = ("<s>", "</s>", "<|im_start|>", "<|im_end|>", "[INST]")
OTHERS = ("<tool_call>", "[TOOL_CALLS]")
NO_MARKERS = ("\n\n", "    ", "<table>")
_TRAINED_ON = [
    "<s>[INST] What is the weather in Oslo? [/INST] It rains. </s>",
    "<|im_start|>user\nTell me <tool_call>the name</tool_call> of it<|im_end|>",
    "the cat sat on the mat, [TOOL_CALLS] and that was all",
] * 3


def _with_tokens(tokenizer: Tokenizer, **flags: bool) -> Tokenizer:
    for text in SPECIAL:
        tokenizer.add_special_tokens([AddedToken(text, special=True, **flags)])
    for text in (*OTHERS, *NO_MARKERS):
        tokenizer.add_tokens([AddedToken(text, special=False, **flags)])
    return tokenizer


@cache
def by_bytes(*, prefixed: bool = False, lower: bool = False, stripping: bool = False) -> Tokenizer:
    """As GPT-2's descendants split; with a space before each text, in lower case, with tokens that absorb spaces."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.normalizer = normalizers.Lowercase() if lower else None
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=prefixed)
    tokenizer.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(vocab_size=360, initial_alphabet=alphabet, show_progress=False)
    tokenizer.train_from_iterator(_TRAINED_ON, trainer)
    return _with_tokens(tokenizer, normalized=lower, lstrip=stripping, rstrip=stripping)


@cache
def by_pieces(scheme: str) -> Tokenizer:
    """As SentencePiece splits, if the markers are pieces of the vocabulary that a text is most easily split into."""
    known = sorted({character for text in _TRAINED_ON for character in text if not character.isspace()} | set("_·"))
    pieces = [("<unk>", 0.0), *((text, 0.0) for text in (*SPECIAL, *OTHERS)), ("▁", -3.0), ("\n", -4.0)]
    pieces += [(character, -5.0) for character in known] + [("▁the", -4.0), ("er", -6.0), ("<|", -6.0), ("im_", -6.0)]
    pieces += [(f"<0x{byte:02X}>", -20.0) for byte in range(256)]
    tokenizer = Tokenizer(models.Unigram(pieces, unk_id=0, byte_fallback=True))
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme=scheme, split=False)
    tokenizer.decoder = decoders.Sequence([decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse()])
    return _with_tokens(tokenizer, normalized=False)


class Plain:
    """A tokenizer that exposes only ids, and which tokens were added."""

    def __init__(self, tokenizer: Tokenizer) -> None:
        self.tokenizer = tokenizer
        self.added_tokens_decoder = tokenizer.get_added_tokens_decoder()

    def encode(self, text: str, *, add_special_tokens: bool) -> list[int]:
        assert not add_special_tokens
        return self.tokenizer.encode(text, add_special_tokens=False).ids


KINDS: dict[str, Any] = {
    "bytes": by_bytes(),
    "bytes, a space before": by_bytes(prefixed=True),
    "bytes, in small letters": by_bytes(lower=True),
    "bytes, tokens that absorb spaces": by_bytes(stripping=True),
    "pieces, never a space before": by_pieces("never"),
    "pieces, a space before the first": by_pieces("first"),
    "pieces, always a space": by_pieces("always"),
    "of transformers": PreTrainedTokenizerFast(tokenizer_object=by_pieces("first")),  # type: ignore[no-untyped-call]  # theirs
    "ids alone": Plain(by_bytes()),
    "ids alone, pieces": Plain(by_pieces("always")),
}


def of_models(folder: Path) -> Iterator[tuple[str, Any]]:
    """The vocabularies of models that are installed; `folder` is for what has to be copied."""
    for name in ("anthropic", "deepseek"):
        path = _bundled("litellm", f"litellm_core_utils/tokenizers/{name}_tokenizer.json")
        if path is not None:
            yield name, Tokenizer.from_file(str(path))
    for version in ("tokenizer.model.v1", "mistral_instruct_tokenizer_240323.model.v3"):
        path = _bundled("mistral_common", f"data/{version}")
        for legacy in (True, False) if path is not None else ():
            home = folder / f"{version}{legacy}"
            home.mkdir()
            shutil.copy(str(path), home / "tokenizer.model")
            tokens = {"bos_token": "<s>", "eos_token": "</s>", "unk_token": "<unk>"}
            config = {"tokenizer_class": "LlamaTokenizer", "legacy": legacy, **tokens}
            (home / "tokenizer_config.json").write_text(json.dumps(config), encoding="utf-8")
            yield f"{version}, legacy {legacy}", AutoTokenizer.from_pretrained(str(home))


def _bundled(package: str, path: str) -> Path | None:
    found = importlib.util.find_spec(package)
    where = None if found is None or found.origin is None else Path(found.origin).parent / path
    return where if where is not None and where.is_file() else None


INSTALLED = any(importlib.util.find_spec(package) is not None for package in ("litellm", "mistral_common"))
