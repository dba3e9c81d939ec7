"""Grammars at work: which tokens a grammar of llguidance's dialect allows next, and whether it is one at all.

    masks = Masks(grammar, tokenizer)
    masks.bits()                 # which tokens may come: a bit for each, the lowest of each byte first
    masks.take(token)            # the one that was chosen
    masks.accepts(text)          # whether the grammar allows a whole text

Contract as in llguidance 1.9, python/llguidance/_lib.pyi. Its matcher never raises: it falls into an error that it
never leaves, in which no text is allowed. So a grammar is checked before, and the matcher asked behind every step.
"""

from __future__ import annotations

import ctypes
import re
from collections.abc import Iterable, Sequence
from typing import Any
from weakref import WeakKeyDictionary

from toolfmt.errors import CannotConstrain, ToolfmtError
from toolfmt.grammars.grammar import Grammar

_loaded: WeakKeyDictionary[Any, dict[tuple[int, ...], Any]] = WeakKeyDictionary()
"""What llguidance makes of a tokenizer, by its size and the tokens that end an answer: that takes seconds."""

_IN_NO_MARKER = r"""[^'"<>()=:|/`\[\]{}▷◁\\\x00-\x1F\x7F]"""
_SLICE = f"{_IN_NO_MARKER}{_IN_NO_MARKER}*"
"""A kind of tokens, besides llguidance's own, that all may come in raw texts: of characters that begin or end none of
what closes these. It is found to be contained in a repetition that is one of several alternatives when it is written as
a character and a repetition (derivre/src/relevance.rs)."""


class Masks:
    """The tokens that a grammar allows, step by step through one answer.

    Takes a grammar of the dialect llguidance, as a `toolfmt.Grammar` or its text; a tokenizer of transformers, of
    mlx-lm, or of tokenizers; and the tokens that end an answer, unless they are the tokenizer's own. Raises
    `CannotConstrain` for what llguidance does not take as a grammar, `ToolfmtError` for a grammar of another dialect or
    a tokenizer that is not of the tokenizers package, and `ImportError` without llguidance.
    """

    def __init__(self, grammar: Any, tokenizer: Any, ends: Iterable[int] | None = None) -> None:
        text = _text_of(grammar, tokenizer)
        named = _named_tokens(text)
        self._tokenizer = tokenizer
        self._ends = frozenset(_ends(tokenizer, ends)) - named
        self._loaded = load(tokenizer, self._ends)
        matcher = _llguidance().LLMatcher
        self._matcher = matcher(self._loaded, matcher.grammar_from_lark(text), log_level=0)
        self._taken: list[int] = []
        self._make_room()
        if self._matcher.is_error():
            raise _refused(self._matcher.get_error())

    @property
    def size(self) -> int:
        """How many tokens the masks are of; a model may tell of more, which are none."""
        return int(self._loaded.vocab_size)

    @property
    def complete(self) -> bool:
        """Whether the answer may end here."""
        return bool(self._matcher.is_accepting())

    @property
    def ended(self) -> bool:
        """Whether nothing but the end may come."""
        return bool(self._matcher.is_stopped())

    def fresh(self) -> Masks:
        """Masks for another answer of the same grammar and tokenizer."""
        other = object.__new__(Masks)
        other._tokenizer, other._loaded, other._ends, other._taken = self._tokenizer, self._loaded, self._ends, []
        other._matcher = self._matcher.deep_copy()
        other._matcher.reset()
        other._make_room()
        return other

    def bits(self) -> bytearray:
        """A bit for each token: whether it may come next. The next call writes into the same bytes."""
        self._matcher.unsafe_compute_mask_ptr(self._place, len(self._bits))
        self._asked()
        return self._bits

    def allowed(self) -> list[int]:
        """The tokens that may come next."""
        bits = self.bits()
        return [8 * at + bit for at, byte in enumerate(bits) if byte for bit in range(8) if byte >> bit & 1]

    def allowed_of(self, tokens: Sequence[int]) -> int:
        """How many of these tokens may come, one behind the other."""
        return int(self._matcher.validate_tokens([*tokens]))

    def take(self, token: int) -> None:
        """Goes on by a token; raises `ToolfmtError` where it may not come. An end that may come changes nothing."""
        if token in self._ends and self.complete:
            return
        if self.allowed_of([token]) != 1 or not self._matcher.consume_token(token):
            raise ToolfmtError(f"the grammar does not allow the token {token} {self._loaded.dbg_tokens([token])} here")
        self._taken.append(token)

    def follow(self, tokens: Sequence[int]) -> None:
        """Goes to where the answer consists of these tokens, back too: a model that guesses ahead takes some back.
        Nothing counts behind an end."""
        ended = next((at for at, token in enumerate(tokens) if token in self._ends), len(tokens))
        tokens, same = tokens[:ended], 0
        while same < min(len(tokens), len(self._taken)) and tokens[same] == self._taken[same]:
            same += 1
        if same < len(self._taken):
            self._matcher.rollback(len(self._taken) - same)
            del self._taken[same:]
        for token in tokens[same:]:
            self.take(token)

    def accepts(self, text: str) -> bool:
        """Whether the grammar allows this text as a whole answer; where one is in the masks does not matter."""
        backend = _backend(self._tokenizer)
        return self.accepts_tokens(backend.encode(text, add_special_tokens=False).ids)

    def accepts_tokens(self, tokens: Sequence[int]) -> bool:
        matcher = self.fresh()._matcher
        return bool(matcher.try_consume_tokens([*tokens]) == len(tokens) and matcher.is_accepting())

    def _make_room(self) -> None:
        """The bytes that masks are written into: whole words of 32 bits."""
        self._bits = bytearray((self.size + 31) // 32 * 4)
        self._place = ctypes.addressof(ctypes.c_char.from_buffer(self._bits))

    def _asked(self) -> None:
        if self._matcher.is_error():
            raise CannotConstrain(f"llguidance gives up: {_first_line(self._matcher.get_error())}")


def check(grammar: Any, *, tokenizer: Any = None) -> None:
    """Raises `CannotConstrain`, in llguidance's words, for what it does not take as a grammar. With what `load` gives,
    tokens are looked for too."""
    llguidance = _llguidance()
    lark = llguidance.LLMatcher.grammar_from_lark(_text_of(grammar))
    if why := llguidance.LLMatcher.validate_grammar(lark, tokenizer):
        raise _refused(why)


def _refused(why: str) -> CannotConstrain:
    return CannotConstrain(f"llguidance takes no such grammar: {_first_line(why)}")


def load(tokenizer: Any, ends: Iterable[int] | None = None) -> Any:
    """The tokenizer as llguidance takes it: made once, which takes seconds where it is large, and kept with it."""
    backend = _backend(tokenizer)
    known = _loaded.setdefault(backend, {})
    key = (backend.get_vocab_size(with_added_tokens=True), *_ends(tokenizer, ends))
    if key not in known:
        made = _llguidance().LLTokenizer
        slices = [*made.general_slices(), _SLICE]
        known[key] = made(_unpadded(backend).to_str(), eos_token=[*key[1:]] or None, slices=slices)
    return known[key]


def marker_ids(tokenizer: Any) -> dict[str, int]:
    """The tokens of a tokenizer that are no text to llguidance, with their texts: a grammar names them by their ids.

    These are control tokens, and all that were added and stand in angle brackets (toktrie_hf_tokenizers/src/lib.rs).
    """
    return {
        token.content: number
        for number, token in sorted(_backend(tokenizer).get_added_tokens_decoder().items())
        if token.special or (token.content.startswith("<") and token.content.endswith(">"))
    }


def _backend(tokenizer: Any) -> Any:
    """The `tokenizers.Tokenizer` of a tokenizer: of transformers' fast ones, and of mlx-lm's around these."""
    for _ in range(3):
        if hasattr(tokenizer, "to_str") and hasattr(tokenizer, "get_vocab_size"):
            return tokenizer
        tokenizer = getattr(tokenizer, "backend_tokenizer", None) or getattr(tokenizer, "_tokenizer", None)
    raise ToolfmtError(
        "masks need a tokenizer of the tokenizers package (a fast one of transformers, or tokenizer.json)"
    )


def _unpadded(backend: Any) -> Any:
    """A copy that neither pads nor cuts."""
    copied = type(backend).from_str(backend.to_str())
    copied.no_padding()
    copied.no_truncation()
    return copied


def _ends(tokenizer: Any, ends: Iterable[int] | None) -> list[int]:
    """The tokens that end an answer: mlx-lm's tokenizers know several, others one."""
    if ends is None:
        known = getattr(tokenizer, "eos_token_ids", None) or getattr(tokenizer, "eos_token_id", None)
        ends = [known] if isinstance(known, int) else known or []
    return sorted({*ends})


def _named_tokens(grammar: str) -> set[int]:
    """The tokens that a grammar names: what ends a turn may end a call, and is part of it then."""
    return {int(token) for token in re.findall(r"<\[([0-9]+)\]>", grammar)}


def _text_of(grammar: Any, tokenizer: Any = None) -> str:
    """The text of a grammar; one that was made without a tokenizer names this one's tokens."""
    dialect = getattr(grammar, "dialect", "llguidance")
    if dialect != "llguidance":
        raise ToolfmtError(f"masks are of grammars of the dialect llguidance, and this one is of {dialect}")
    if tokenizer is not None and isinstance(grammar, Grammar) and grammar.tokens is None:
        grammar = grammar.for_tokens(marker_ids(tokenizer))
    return str(getattr(grammar, "text", grammar))


def _first_line(words: str) -> str:
    return words.strip().partition("\n")[0]


def _llguidance() -> Any:
    try:
        import llguidance
    except ModuleNotFoundError as error:
        raise ImportError(f"masks need llguidance: pip install llguidance ({error})") from error
    return llguidance
