"""Find the markers among a tokenizer's added tokens: strings that always become a single token.

Tokenizer readers call `is_marker`; `markers_in_config` and `ids_in_config` read a tokenizer_config.json.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

SPACE_MARK = "▁"
"""SentencePiece's replacement for a space."""

_PUNCTUATION = re.compile(r"[^\w\s▁]")
_LETTER = re.compile(r"\w")
# Gemma's vocabularies contain these as whole tokens; they are plain HTML, not markers.
_HTML = frozenset(
    [
        "a",
        "b",
        "blockquote",
        "body",
        "br",
        "caption",
        "code",
        "div",
        "em",
        "h1",
        "h2",
        "h3",
        "h4",
        "h5",
        "h6",
        "head",
        "hr",
        "html",
        "i",
        "img",
        "li",
        "ol",
        "p",
        "pre",
        "s",
        "span",
        "strong",
        "sub",
        "sup",
        "table",
        "tbody",
        "td",
        "tfoot",
        "th",
        "thead",
        "tr",
        "u",
        "ul",
    ]
)
_TAG = re.compile(r"</?(\w+)/?>")


def is_marker(text: str, *, special: bool) -> bool:
    """Return whether an added token is a marker: two or more characters, at least one of them punctuation.

    Words, runs of whitespace, single characters and HTML tags (whole tokens in some vocabularies) are not markers. A
    special token may consist of punctuation alone.
    """
    text = text.strip()
    if len(text) < 2 or not _PUNCTUATION.search(text):
        return False
    tag = _TAG.fullmatch(text)
    return special or (bool(_LETTER.search(text)) and not (tag and tag[1].lower() in _HTML))


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
