"""Whether a grammar accepts a text, according to the engines: llama.cpp's own sampler and XGrammar's matcher.

llama.cpp runs in llama-cpp-python with a vocabulary of the 256 bytes and the markers that are one token: each token of
the text must be among those the grammar allows, and after the last one the end of the output.
"""

from __future__ import annotations

import ctypes
import importlib
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

_BYTE_CHARACTERS = {
    byte: chr(byte) if byte in (*range(33, 127), *range(161, 173), *range(174, 256)) else None for byte in range(256)
}
_END = "<|end of the answer|>"


def byte_tokens() -> list[str]:
    """The 256 bytes as byte-level tokenizers write them, in order of the byte."""
    spelt, next_free = [], 256
    for byte in range(256):
        character = _BYTE_CHARACTERS[byte]
        if character is None:
            character, next_free = chr(next_free), next_free + 1
        spelt.append(character)
    return spelt


class LlamaGrammars:
    """llama.cpp's grammar engine over bytes and these markers; its vocabulary is written into `directory`."""

    def __init__(self, directory: Path, markers: Sequence[str] = ()) -> None:
        self._engine: Any = importlib.import_module("llama_cpp")
        self._markers = {marker: 257 + at for at, marker in enumerate(markers)}
        file = directory / f"bytes-{len(markers)}.gguf"
        self._write(file)
        self._model = self._engine.Llama(str(file), vocab_only=True, verbose=False)
        self._vocabulary = self._engine.llama_model_get_vocab(self._model._model.model)
        self._end = self._engine.llama_vocab_eos(self._vocabulary)
        self._one = (self._engine.llama_token_data * 1)()
        array = self._engine.llama_token_data_array(data=self._one, size=1, selected=-1, sorted=False)
        self._candidates = ctypes.byref(array)

    def compiled(self, grammar: str) -> Any:
        """A sampler for the grammar, or None if llama.cpp rejects it."""
        return self._engine.llama_sampler_init_grammar(self._vocabulary, grammar.encode(), b"root") or None

    def sampler_for(self, fields: Mapping[str, Any]) -> Any:
        """A sampler for the fields of a request, made of them as llama.cpp's server makes it: a trigger that is one
        token is that token, and must be preserved; a longer one is a pattern."""
        if not fields.get("grammar_lazy"):
            return self.compiled(fields["grammar"])
        words = [trigger["value"] for trigger in fields["grammar_triggers"]]
        assert all(trigger["type"] == 1 for trigger in fields["grammar_triggers"])
        assert all(word in fields["preserved_tokens"] for word in words if word in self._markers)
        patterns = [re.escape(word).encode() for word in words if word not in self._markers]
        tokens = [self._markers[word] for word in words if word in self._markers]
        return self._engine.llama_sampler_init_grammar_lazy_patterns(
            self._vocabulary, fields["grammar"].encode(), b"root",
            (ctypes.c_char_p * len(patterns))(*patterns), len(patterns),
            (self._engine.llama_token * len(tokens))(*tokens), len(tokens),
        )  # fmt: skip

    def accepts(self, sampler: Any, text: str) -> bool:
        sampler = self._engine.llama_sampler_clone(sampler)
        try:
            tokens = self.tokens(text)
            if tokens and self._engine.llama_vocab_is_eog(self._vocabulary, tokens[-1]):
                tokens.pop()  # the end of the text is the end of the output to llama.cpp
            for token in tokens:
                if self._engine.llama_vocab_is_eog(self._vocabulary, token) or not self._allowed(sampler, token):
                    return False
                self._engine.llama_sampler_accept(sampler, token)
            return self._allowed(sampler, self._end)
        finally:
            self._engine.llama_sampler_free(sampler)

    def taken(self, sampler: Any, text: str) -> str:
        """For a text that is not accepted: the last part that is allowed, and what follows it."""
        tokens = self.tokens(text)
        sampler = self._engine.llama_sampler_clone(sampler)
        for at, token in enumerate(tokens):
            if not self._allowed(sampler, token):
                before, after = (bytes(part for part in parts if part < 256) for parts in (tokens[:at], tokens[at:]))
                return f"{before[-40:]!r} -> {after[:20]!r}"
            self._engine.llama_sampler_accept(sampler, token)
        return f"{text[-40:]!r} -> the end"

    def ends_at(self, marker: str) -> bool:
        """Whether the marker is a token that ends an output."""
        return marker in self._markers and self._engine.llama_vocab_is_eog(self._vocabulary, self._markers[marker])

    def tokens(self, text: str) -> list[int]:
        """The markers as one token each, longest first, and everything else as bytes."""
        tokens: list[int] = []
        at = 0
        while at < len(text):
            marker = max((mark for mark in self._markers if text.startswith(mark, at)), key=len, default="")
            tokens += [self._markers[marker]] if marker else text[at].encode()
            at += len(marker) or 1
        return tokens

    def _allowed(self, sampler: Any, token: int) -> bool:
        self._one[0].id, self._one[0].logit = token, 1.0
        self._engine.llama_sampler_apply(sampler, self._candidates)
        return bool(self._one[0].logit > 0)

    def _write(self, file: Path) -> None:
        gguf: Any = importlib.import_module("gguf")
        writer = gguf.GGUFWriter(str(file), "llama")
        writer.add_tokenizer_model("gpt2")
        writer.add_tokenizer_pre("gpt-2")
        writer.add_token_list([*byte_tokens(), _END, *self._markers])
        writer.add_token_types([1] * 256 + [3] * (1 + len(self._markers)))
        writer.add_token_merges(["e f"])  # at least one is required; texts are passed as bytes, so none is used
        writer.add_eos_token_id(256)
        writer.write_header_to_file()
        writer.write_kv_data_to_file()
        writer.write_tensors_to_file()
        writer.close()


class XGrammars:
    """XGrammar's engine, over characters."""

    def __init__(self) -> None:
        self._engine: Any = importlib.import_module("xgrammar")
        self._testing: Any = importlib.import_module("xgrammar.testing")

    def compiled(self, grammar: str) -> Any:
        """A matcher for the grammar, or None if XGrammar rejects it."""
        try:
            parsed = self._engine.Grammar.from_ebnf(grammar)
        except RuntimeError:
            return None
        return self._testing._get_matcher_from_grammar(parsed)

    def accepts(self, matcher: Any, text: str) -> bool:
        matcher.reset()
        return bool(matcher.accept_string(text) and matcher.is_terminated())

    def taken(self, matcher: Any, text: str) -> str:
        """For a text that is not accepted: the last part that is allowed, and what follows it."""
        matcher.reset()
        at = next((at for at, character in enumerate(text) if not matcher.accept_string(character)), len(text))
        return f"{text[max(0, at - 40) : at]!r} -> {text[at : at + 20]!r}"
