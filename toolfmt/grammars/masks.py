"""Use a grammar for llguidance: check it, and compute which tokens it allows next.

    masks = Masks(grammar, tokenizer)
    masks.bits()                 # which tokens are allowed: a bit for each, the lowest of each byte first
    masks.take(token)            # the token that was chosen
    masks.accepts(text)          # whether the grammar allows a whole text

Contract as in llguidance 1.9, python/llguidance/_lib.pyi. Its matcher never raises. It enters a permanent error state
in which nothing is allowed. So a grammar is checked first, and the matcher's state is checked after every step.
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
"""llguidance's form of a tokenizer, by its size and its end tokens. Creating it takes seconds."""

_IN_NO_MARKER = r"""[^'"<>()=:|/`\[\]{}▷◁\\\x00-\x1F\x7F]"""
_SLICE = f"{_IN_NO_MARKER}{_IN_NO_MARKER}*"
"""An additional class of tokens that are all allowed in raw texts: tokens without the first and last characters of end
markers.

llguidance detects that such a class is contained in a repetition that is one of several alternatives if it is written
as a character and a repetition (derivre/src/relevance.rs).
"""


class Masks:
    """The tokens that a grammar allows, step by step through one output.

    Takes a grammar for llguidance, as a `toolfmt.Grammar` or its text; a tokenizer of transformers, mlx-lm or
    tokenizers; and the end tokens, by default the tokenizer's own. Raises `CannotConstrain` if llguidance rejects the
    grammar, `ToolfmtError` for a grammar of another format or a tokenizer not based on the tokenizers package, and
    `ImportError` without llguidance.
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
            raise _rejected(self._matcher.get_error())

    @property
    def size(self) -> int:
        """The number of tokens in a mask. A model may have more logits, which are not tokens."""
        return int(self._loaded.vocab_size)

    @property
    def complete(self) -> bool:
        """Whether the output may end here."""
        return bool(self._matcher.is_accepting())

    @property
    def ended(self) -> bool:
        """Whether only the end is allowed."""
        return bool(self._matcher.is_stopped())

    def fresh(self) -> Masks:
        """Return masks for another output of the same grammar and tokenizer."""
        other = object.__new__(Masks)
        other._tokenizer, other._loaded, other._ends, other._taken = self._tokenizer, self._loaded, self._ends, []
        other._matcher = self._matcher.deep_copy()
        other._matcher.reset()
        other._make_room()
        return other

    def bits(self) -> bytearray:
        """Return a bit for each token: whether it is allowed next. The next call overwrites the same bytes."""
        self._matcher.unsafe_compute_mask_ptr(self._place, len(self._bits))
        self._check_matcher()
        return self._bits

    def allowed(self) -> list[int]:
        """Return the tokens that are allowed next."""
        bits = self.bits()
        return [8 * at + bit for at, byte in enumerate(bits) if byte for bit in range(8) if byte >> bit & 1]

    def allowed_of(self, tokens: Sequence[int]) -> int:
        """Return how many of these tokens are allowed in sequence."""
        return int(self._matcher.validate_tokens([*tokens]))

    def take(self, token: int) -> None:
        """Advance by a token. Raises `ToolfmtError` if it is not allowed. An allowed end token changes nothing."""
        if token in self._ends and self.complete:
            return
        if self.allowed_of([token]) != 1 or not self._matcher.consume_token(token):
            raise ToolfmtError(f"the grammar does not allow the token {token} {self._loaded.dbg_tokens([token])} here")
        self._taken.append(token)

    def follow(self, tokens: Sequence[int]) -> None:
        """Move to the state after these tokens, also backwards, because speculative decoding may revoke tokens.

        Tokens after an end token are ignored.
        """
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
        """Return whether the grammar allows this text as a whole output, independent of the current state."""
        backend = _backend(self._tokenizer)
        return self.accepts_tokens(backend.encode(text, add_special_tokens=False).ids)

    def accepts_tokens(self, tokens: Sequence[int]) -> bool:
        matcher = self.fresh()._matcher
        return bool(matcher.try_consume_tokens([*tokens]) == len(tokens) and matcher.is_accepting())

    def _make_room(self) -> None:
        """Allocate the buffer for masks, in whole words of 32 bits."""
        self._bits = bytearray((self.size + 31) // 32 * 4)
        self._place = ctypes.addressof(ctypes.c_char.from_buffer(self._bits))

    def _check_matcher(self) -> None:
        if self._matcher.is_error():
            raise CannotConstrain(f"llguidance gives up: {_first_line(self._matcher.get_error())}")


def check(grammar: Any, *, tokenizer: Any = None) -> None:
    """Raise `CannotConstrain` with llguidance's message if it rejects the grammar.

    With the result of `load`, tokens are checked too.
    """
    llguidance = _llguidance()
    lark = llguidance.LLMatcher.grammar_from_lark(_text_of(grammar))
    if why := llguidance.LLMatcher.validate_grammar(lark, tokenizer):
        raise _rejected(why)


def _rejected(why: str) -> CannotConstrain:
    return CannotConstrain(f"llguidance takes no such grammar: {_first_line(why)}")


def load(tokenizer: Any, ends: Iterable[int] | None = None) -> Any:
    """Return the tokenizer in llguidance's form, cached per tokenizer. Creating it takes seconds if it is large."""
    backend = _backend(tokenizer)
    known = _loaded.setdefault(backend, {})
    key = (backend.get_vocab_size(with_added_tokens=True), *_ends(tokenizer, ends))
    if key not in known:
        made = _llguidance().LLTokenizer
        slices = [*made.general_slices(), _SLICE]
        known[key] = made(_unpadded(backend).to_str(), eos_token=[*key[1:]] or None, slices=slices)
    return known[key]


def marker_ids(tokenizer: Any) -> dict[str, int]:
    """Return the tokens of a tokenizer that are not text for llguidance, with their texts. A grammar uses their ids.

    These are control tokens, and all added tokens in angle brackets (toktrie_hf_tokenizers/src/lib.rs).
    """
    return {
        token.content: number
        for number, token in sorted(_backend(tokenizer).get_added_tokens_decoder().items())
        if token.special or (token.content.startswith("<") and token.content.endswith(">"))
    }


def _backend(tokenizer: Any) -> Any:
    """Return the `tokenizers.Tokenizer` of a tokenizer: of transformers' fast ones, and of mlx-lm's wrappers."""
    for _ in range(3):
        if hasattr(tokenizer, "to_str") and hasattr(tokenizer, "get_vocab_size"):
            return tokenizer
        tokenizer = getattr(tokenizer, "backend_tokenizer", None) or getattr(tokenizer, "_tokenizer", None)
    raise ToolfmtError(
        "masks need a tokenizer of the tokenizers package (a fast one of transformers, or tokenizer.json)"
    )


def _unpadded(backend: Any) -> Any:
    """Return a copy without padding and truncation."""
    copied = type(backend).from_str(backend.to_str())
    copied.no_padding()
    copied.no_truncation()
    return copied


def _ends(tokenizer: Any, ends: Iterable[int] | None) -> list[int]:
    """Return the end tokens: mlx-lm's tokenizers have several, others one."""
    if ends is None:
        known = getattr(tokenizer, "eos_token_ids", None) or getattr(tokenizer, "eos_token_id", None)
        ends = [known] if isinstance(known, int) else known or []
    return sorted({*ends})


def _named_tokens(grammar: str) -> set[int]:
    """Return the tokens that a grammar names: an end-of-turn token may end a call, and is then part of it."""
    return {int(token) for token in re.findall(r"<\[([0-9]+)\]>", grammar)}


def _text_of(grammar: Any, tokenizer: Any = None) -> str:
    """Return the text of a grammar. One that was made without a tokenizer gets this one's token ids."""
    syntax = getattr(grammar, "syntax", "llguidance")
    if syntax != "llguidance":
        raise ToolfmtError(f"masks are of grammars of the syntax llguidance, and this one is of {syntax}")
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
