"""The end-of-sequence ids that a model directory names, and what each of them stands for.

The stop strings and the checks of what ends an answer ask. generation_config.json names the ids, or config.json where
that one does not: transformers makes the generation settings from it then.
"""

from __future__ import annotations

from toolfmt.inspect.probe.tokenizer_file import TokenizerFailure, TokenizerFile
from toolfmt.templates import ModelFiles
from toolfmt.templates.files.read_text import LONGEST_TOKEN

_KEY = "eos_token_id"
_MOST = 100
"""Ids that are read. Models of today have up to five."""


def eos_place(files: ModelFiles) -> str:
    """The file that names the ids."""
    return "generation_config.json" if files.generation_config.get(_KEY) is not None else "config.json"


def eos_texts(files: ModelFiles, tokenizer: TokenizerFile | None) -> dict[int, str | None]:
    """The ids, each with its token: by tokenizer_config.json, else by tokenizer.json; None where neither knows it."""
    named = files.generation_config.get(_KEY)
    if named is None:
        named = files.config.get(_KEY)
    added = files.added_tokens or {}
    ids = [
        number
        for number in (named if isinstance(named, list) else [named])[:_MOST]
        if isinstance(number, int) and not isinstance(number, bool)
    ]
    return {number: added.get(str(number)) or _known(tokenizer, number) for number in ids}


def eos_tokens(files: ModelFiles, tokenizer: TokenizerFile | None) -> tuple[str, ...]:
    """The tokens of these ids, each once, as far as they are known."""
    return tuple(dict.fromkeys(text for text in eos_texts(files, tokenizer).values() if text))


def token_of(files: ModelFiles, tokenizer: TokenizerFile | None, text: str) -> bool | None:
    """Whether this text is one token of the model, as far as its files tell; None where they do not."""
    if tokenizer is not None and not tokenizer.problem:
        try:
            return len(tokenizer.pieces(text)) == 1
        except TokenizerFailure:
            return None
    added = files.added_tokens
    return text in added.values() if added else None


def _known(tokenizer: TokenizerFile | None, number: int) -> str | None:
    try:
        text = None if tokenizer is None else tokenizer.text(number)
    except TokenizerFailure:
        return None
    return text if text is not None and len(text) <= LONGEST_TOKEN else None
