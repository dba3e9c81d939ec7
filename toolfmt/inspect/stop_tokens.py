"""The end-of-sequence ids that a model directory names, and what each of them stands for.

The stop strings and the check for unknown ids ask. generation_config.json names the ids, or config.json where that one
does not: transformers makes the generation settings from it then.
"""

from __future__ import annotations

from collections.abc import Mapping

from toolfmt.inspect.tokenizer_file import TokenizerFailure, TokenizerFile
from toolfmt.templates import ModelFiles
from toolfmt.templates.reading import LONGEST_TOKEN

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
    ids = [
        number
        for number in (named if isinstance(named, list) else [named])[:_MOST]
        if isinstance(number, int) and not isinstance(number, bool)
    ]
    return {number: _added(files, number) or _known(tokenizer, number) for number in ids}


def _added(files: ModelFiles, number: int) -> str | None:
    added = files.tokenizer_config.get("added_tokens_decoder")
    token = added.get(str(number)) if isinstance(added, Mapping) else None
    text = token.get("content") if isinstance(token, Mapping) else None
    return text if isinstance(text, str) and len(text) <= LONGEST_TOKEN else None


def _known(tokenizer: TokenizerFile | None, number: int) -> str | None:
    try:
        text = None if tokenizer is None else tokenizer.text(number)
    except TokenizerFailure:
        return None
    return text if text is not None and len(text) <= LONGEST_TOKEN else None
