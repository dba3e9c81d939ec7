"""Read the end-of-sequence ids of a model directory and the token of each id.

The ids come from generation_config.json; if it has none, from config.json, as in transformers.
"""

from __future__ import annotations

from toolfmt.inspect.probe.tokenizer_file import TokenizerFailure, TokenizerFile
from toolfmt.templates import ModelFiles
from toolfmt.templates.files.read_text import LONGEST_TOKEN

_KEY = "eos_token_id"
_MOST = 100
"""Maximum number of ids that are read. Current models have up to five."""


def eos_place(files: ModelFiles) -> str:
    """Return the name of the file that lists the ids."""
    return "generation_config.json" if files.generation_config.get(_KEY) is not None else "config.json"


def eos_texts(files: ModelFiles, tokenizer: TokenizerFile | None) -> dict[int, str | None]:
    """Return the ids with their tokens, from tokenizer_config.json, else tokenizer.json, else None."""
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
    """Return the known tokens of these ids, without duplicates."""
    return tuple(dict.fromkeys(text for text in eos_texts(files, tokenizer).values() if text))


def token_of(files: ModelFiles, tokenizer: TokenizerFile | None, text: str) -> bool | None:
    """Return whether this string is a single token of the model, or None if the model's files do not show it."""
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
