"""Find the markers in a tokenizer_config.json: added tokens that always become a single token."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from toolfmt.formats.parser.tokens.added_tokens import is_marker

SPACE_MARK = "▁"
"""SentencePiece's replacement for a space."""


def markers_in_config(config: Mapping[str, Any]) -> Iterator[str]:
    """Yield the markers listed in a tokenizer_config.json. Entries of an unexpected type are skipped."""
    decoder = config.get("added_tokens_decoder")
    listed = list(decoder.values()) if isinstance(decoder, Mapping) else []
    for key in ("additional_special_tokens", "extra_special_tokens"):
        more = config.get(key)
        named = list(more.values()) if isinstance(more, Mapping) else more if isinstance(more, list) else []
        listed += [
            one | {"special": True} if isinstance(one, dict) else {"content": one, "special": True} for one in named
        ]
    for token in listed:
        text = token.get("content") if isinstance(token, Mapping) else None
        if isinstance(text, str) and is_marker(text, special=bool(token.get("special"))):
            yield text.strip()


def ids_in_config(config: Mapping[str, Any]) -> dict[str, int]:
    """Return the markers of a tokenizer_config.json with their ids. Entries of an unexpected type are skipped."""
    decoder = config.get("added_tokens_decoder")
    found = {}
    for number, token in decoder.items() if isinstance(decoder, Mapping) else ():
        text = token.get("content") if isinstance(token, Mapping) else None
        if isinstance(text, str) and str(number).isdecimal() and is_marker(text, special=bool(token.get("special"))):
            found[text] = int(number)
    return found
