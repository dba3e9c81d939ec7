"""The added tokens of a tokenizer that are markers: strings that always become a single token."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

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


def added_tokens(tokenizer: Any) -> dict[int, str]:
    """Return the added tokens that untrusted text must not produce, by id.

    These are markers, and special tokens even if they are plain words. Empty if the tokenizer does not list its added
    tokens.
    """
    get_added = getattr(tokenizer, "get_added_tokens_decoder", None)
    added = get_added() if callable(get_added) else getattr(tokenizer, "added_tokens_decoder", None)
    found = {}
    for number, token in added.items() if isinstance(added, Mapping) else ():
        text, special = str(getattr(token, "content", token)), bool(getattr(token, "special", True))
        if len(text.strip()) > 1 and (special or is_marker(text, special=False)):
            found[int(number)] = text
    return found
