"""Walks through grammars: texts that a mask allows, token by token, with damaging texts offered at every step.

The tests of grammars and the benchmarks share this. The tokenizer knows the 256 bytes, the markers, and no words: every
text is reached, in small steps. A walk prefers to end what is open, or it would not terminate.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Sequence
from typing import Any

from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers

from toolfmt.grammars.masks import Masks

END = "<|the end|>"
_LONG, _LONGEST = 160, 900
"""Tokens after which a walk only ends what is open, and after which it is given up."""


def byte_tokenizer(markers: Iterable[str] = (), *, special: bool = True) -> Tokenizer:
    """A tokenizer of bytes, in which each marker is one token: a control token, or one that was added."""
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    tokenizer = Tokenizer(models.BPE(vocab={character: at for at, character in enumerate(alphabet)}, merges=[]))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.add_special_tokens([AddedToken(END, special=True, normalized=False)])
    added = [AddedToken(marker, special=special, normalized=False) for marker in markers]
    (tokenizer.add_special_tokens if special else tokenizer.add_tokens)(added)
    return tokenizer


def ids_of(tokenizer: Tokenizer, markers: Iterable[str]) -> dict[str, int]:
    """The markers with their tokens."""
    found = {marker: tokenizer.token_to_id(marker) for marker in markers}
    return {marker: token for marker, token in found.items() if token is not None}


def end_of(tokenizer: Tokenizer) -> int:
    return ids_of(tokenizer, [END])[END]


def masks_of(grammar: Any, tokenizer: Tokenizer) -> Masks:
    return Masks(grammar, tokenizer, [end_of(tokenizer)])


def encoded(tokenizer: Tokenizer, text: str) -> list[int]:
    ids: list[int] = tokenizer.encode(text, add_special_tokens=False).ids
    return ids


def decoded(tokenizer: Tokenizer, tokens: Sequence[int]) -> str:
    return str(tokenizer.decode(tokens, skip_special_tokens=False))


class Walker:
    """Walks through the texts of one grammar. `closers` are the end markers of its parts, tried in this order;
    `offered` are texts that a walk writes wherever the grammar allows, as far as it allows.
    """

    def __init__(self, masks: Masks, tokenizer: Tokenizer, closers: Iterable[str], offered: Iterable[str]) -> None:
        self.masks, self.tokenizer = masks, tokenizer
        self._end = end_of(tokenizer)
        bytewise = byte_tokenizer()
        ways = (tokenizer, bytewise)
        self._closers = [[encoded(way, text) for way in ways] for text in dict.fromkeys(closers) if text]
        self._offered = [[encoded(way, text) for way in ways] for text in dict.fromkeys(offered) if text]

    def walk(self, chance: random.Random) -> str | None:
        """A text of the grammar, or None if it did not terminate. Raises `AssertionError` if nothing may follow."""
        masks = self.masks.fresh()
        tokens: list[int] = []
        while len(tokens) < _LONGEST:
            ending = len(tokens) >= _LONG
            if masks.ended or (ending and masks.complete):
                break
            step = self._step(masks, chance, ending)
            if step is None:
                break
            for token in step:
                masks.take(token)
            tokens += step
        return decoded(self.tokenizer, tokens) if masks.complete else None

    def _step(self, masks: Masks, chance: random.Random, ending: bool) -> list[int] | None:
        """The next tokens; None for the end."""
        draw = chance.random()
        if not ending and draw < 0.12:
            offered = chance.choice(chance.choice(self._offered)) if self._offered else []
            if allowed := self._so_far(masks, offered):
                return allowed
        if ending or draw < 0.35:
            for closer in self._in_turn(chance) if ending else chance.sample(self._closers, 1):
                whole = chance.choice(closer)
                if len(self._so_far(masks, whole)) == len(whole):
                    return whole
        allowed = masks.allowed()
        assert allowed, "nothing may follow"
        markers = [token for token in allowed if token > self._end]
        if markers and chance.random() < 0.6:
            return [chance.choice(markers)]
        token = chance.choice([token for token in allowed if token != self._end] or allowed)
        if self._end in allowed and (token == self._end or chance.random() < 0.2):
            return None
        return [token]

    def _in_turn(self, chance: random.Random) -> list[list[list[int]]]:
        """The end markers in order, backwards, or in none: a character ends a quoted text, and continues a raw one."""
        order = chance.randrange(3)
        return chance.sample(self._closers, len(self._closers)) if order == 2 else self._closers[:: 1 - 2 * order]

    @staticmethod
    def _so_far(masks: Masks, tokens: list[int]) -> list[int]:
        return tokens[: masks.allowed_of(tokens)]
