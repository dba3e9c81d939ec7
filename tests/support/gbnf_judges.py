"""The judges of a grammar in the tests of GBNF: the small reader always, llama.cpp and XGrammar if installed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import pytest
from gbnf_reader import Gbnf
from grammar_engines import LlamaGrammars, XGrammars

from toolfmt.formats.values.nodes import Rules
from toolfmt.grammars.gbnf import gbnf

Accepts: TypeAlias = Callable[[str], bool]
JUDGES = ("reader", "llama.cpp", "xgrammar")


class Judge:
    """One judge: a grammar as a function of texts."""

    def __init__(self, engine: Any) -> None:
        self._engine = engine

    def accepts(self, rules: Rules) -> Accepts:
        text = gbnf(rules).text
        compiled = self._engine.compiled(text)
        assert compiled is not None, text
        return lambda answer: bool(self._engine.accepts(compiled, answer))


class _Reader:
    def compiled(self, text: str) -> Gbnf:
        return Gbnf(text)

    def accepts(self, grammar: Gbnf, answer: str) -> bool:
        return grammar.accepts(answer)


def judge_of(name: str, directories: pytest.TempPathFactory) -> Judge:
    """The judge, or a skip if its engine is not installed."""
    if name == "llama.cpp":
        pytest.importorskip("llama_cpp", reason="asks llama.cpp itself")
        pytest.importorskip("gguf", reason="writes a vocabulary for llama.cpp")
        return Judge(LlamaGrammars(directories.mktemp("vocabulary")))
    if name == "xgrammar":
        pytest.importorskip("xgrammar", reason="asks XGrammar itself")
        return Judge(XGrammars())
    return Judge(_Reader())
