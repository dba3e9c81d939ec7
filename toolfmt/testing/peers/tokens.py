"""A tokenizer for servers that parse tokens as well as text: markers are tokens, everything else is bytes.

A server never sees a part of a token's text. So a marker that is a token in such models' vocabularies must reach its
parser in one piece, wherever the fuzz kit splits an output: `WholeMarkers` holds a part back until the rest arrives.
Formats do not define which markers are tokens. This is decided by their form, in the parser's favor: a tag without
attributes and upper-case words in brackets count as tokens.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from typing import Any

from toolfmt.errors import CannotWrite
from toolfmt.formats import Call, get, write
from toolfmt.testing.peers.claims import OTHER_VOCABULARY

MARKER = re.compile(r"</?[^<>\s=/]{2,60}>|\]<\][a-z]+\[>\[|\[/?[A-Z_]{4,30}\]")
"""The form of a token."""
_CALLS: tuple[list[Call], ...] = ([("f", {"a": "b", "c": 1}), ("f", {})], [("f", {"a": [1, {"b": None}]})])


def markers_of(variants: Mapping[str, Sequence[str]]) -> tuple[str, ...]:
    """Return the markers that count as tokens: in calls, and around reasoning and turns, of these formats and variants.

    If a family adds a suffix to all of its markers, pass one variant: a vocabulary has them either with or without it.
    """
    return _markers(tuple((name, tuple(written)) for name, written in variants.items()))


@cache
def _markers(variants: tuple[tuple[str, tuple[str, ...]], ...]) -> tuple[str, ...]:
    texts: list[str] = []
    for name, written in variants:
        format = get(name)
        for variant in written:
            for calls in _CALLS:
                try:
                    texts.append(write(format.with_variant(variant), calls))
                except CannotWrite:
                    continue
        texts += [marker for pair in (*format.reasoning[:1], *format.content_markers) for marker in pair]
        texts += format.ignored_markers
        if not any(name == format.name for name, _ in OTHER_VOCABULARY):
            texts += [*format.openers, *format.closers]
    return tuple(sorted({marker for text in texts for marker in MARKER.findall(text)}))


class WholeMarkers:
    """A stream of texts in which no marker is split."""

    def __init__(self, markers: Iterable[str]) -> None:
        parts = {marker[:end] for marker in markers for end in range(1, len(marker))}
        self._parts = frozenset(parts)
        self._longest = max(map(len, parts), default=0)
        self._held = ""

    def feed(self, text: str) -> str:
        """Return the text to pass on now: all except the longest end that may become a marker."""
        text = self._held + text
        most = min(self._longest, len(text))
        partial = next((length for length in range(most, 0, -1) if text[-length:] in self._parts), 0)
        end = len(text) - partial
        self._held = text[end:]
        return text[:end]

    def finish(self) -> str:
        """Return the text that was held back and did not become a marker."""
        held, self._held = self._held, ""
        return held


@cache
def tokenizer_of(markers: tuple[str, ...]) -> Any:
    """Return a tokenizer of transformers with these tokens, the bytes, `<s>` and `</s>`. Needs `transformers`."""
    from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    alphabet = {character: number for number, character in enumerate(sorted(pre_tokenizers.ByteLevel.alphabet()))}
    tokenizer = Tokenizer(models.BPE(vocab=alphabet, merges=[]))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.add_special_tokens(
        [AddedToken(marker, special=True, normalized=False) for marker in ("<s>", "</s>", *markers)]
    )
    made: Any = PreTrainedTokenizerFast
    return made(tokenizer_object=tokenizer, bos_token="<s>", eos_token="</s>")
