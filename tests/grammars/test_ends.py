"""Grammars of outputs that a runtime ends at the last marker of a call: with that marker, and without it."""

from __future__ import annotations

from pathlib import Path

import pytest
from gbnf_reader import Gbnf
from grammar_calls import TOOLS, misread, named, variants
from grammar_engines import LlamaGrammars

from toolfmt.errors import CannotConstrain, CannotWrite
from toolfmt.formats import ToolCallFormat, write
from toolfmt.formats.grammar.answer_grammar import answer_grammar
from toolfmt.formats.values.nodes import EMPTY, Node, Pattern, Repeated, Rules, Text, either, maybe, row
from toolfmt.grammars.ends import may_end_early
from toolfmt.grammars.gbnf import gbnf

_END = "<|call|>"
_CALLS = [("get_weather", {"city": "Oslo"}), ("now", {})]


def _ending(format: ToolCallFormat) -> str:
    """A call as the format writes it, if it ends with the marker that ends an output."""
    try:
        text = write(format, _CALLS[:1], TOOLS)
    except CannotWrite:
        return ""
    return text if may_end_early(Text(text)) != Text(text) else ""


_ENDING = [format for format in variants() if _ending(format)]


def test_there_are_such_formats() -> None:
    assert _ENDING


@pytest.mark.sample(3)
@pytest.mark.parametrize("choice", ["required", "auto"])
@pytest.mark.parametrize("format", _ENDING, ids=named)
def test_the_end_marker_of_a_call_is_optional_at_the_end(format: ToolCallFormat, choice: str) -> None:
    """Strict reads both alike; between two calls the end marker is required."""
    grammar = Gbnf(gbnf(answer_grammar(format, TOOLS, choice=choice).rules).text)
    one, two = (write(format, _CALLS[:count], TOOLS) for count in (1, 2))
    assert [two.startswith(one), one.endswith(_END), two.count(_END)] == [True, True, 2]
    assert [grammar.accepts(text) for text in (one, two)] == [True, True]
    for text in (one, two):
        shorter = text.removesuffix(_END)
        assert grammar.accepts(shorter)
        assert misread(format, shorter) is None
    assert not grammar.accepts(two.replace(_END, "", 1))


@pytest.mark.parametrize("choice", ["required", "auto"])
@pytest.mark.parametrize("format", _ENDING, ids=named)
def test_llama_cpp_ends_at_the_token(format: ToolCallFormat, choice: str, tmp_path: Path) -> None:
    """It knows the end by its text: the token is allowed only where the grammar may end."""
    pytest.importorskip("llama_cpp", reason="asks llama.cpp itself")
    pytest.importorskip("gguf", reason="writes a vocabulary for llama.cpp")
    engine = LlamaGrammars(tmp_path, ["<|channel|>", "<|message|>", "<|start|>", _END])
    assert [engine.ends_at(marker) for marker in ("<|channel|>", _END)] == [False, True]
    sampler = engine.compiled(gbnf(answer_grammar(format, TOOLS, choice=choice).rules).text)
    text = write(format, _CALLS[:1], TOOLS)
    assert engine.accepts(sampler, text)
    assert not engine.accepts(sampler, text.replace("}<|call|>", "<|call|>"))


@pytest.mark.parametrize("format", [*variants()], ids=named)
def test_other_formats_keep_their_grammar(format: ToolCallFormat) -> None:
    if format in _ENDING:
        return
    try:
        start = answer_grammar(format, TOOLS, choice="auto").rules.start
    except CannotConstrain:
        start = answer_grammar(format, TOOLS, choice="required").rules.start
    assert may_end_early(start) == start


@pytest.mark.parametrize(
    "node",
    [
        Text("a<|call|>"),
        row("a", either("b<|call|>", "c<|call|>")),
        either("a<|call|>", "b"),
        Repeated(Text("a<|call|>"), Text(",")),
        Repeated(Text("a<|call|>")),
        Repeated(Text("a<|call|>"), Text(","), 2, 3),
        Repeated(Text("a<|call|>"), Text(","), 3, 3),
        Repeated(Text("a<|call|>"), EMPTY, 1, 1),
        row(Text("b"), Repeated(either(row(Pattern("a"), "<|call|>"), "c<|call|>"), Text(","))),
        row("a<|call|>", maybe(Repeated(Text(",b<|call|>")))),
        either(row("b", "a<|call|>", maybe(Text("b<|call|>"))), "c"),
        maybe(Text("a<|call|>")),
    ],
    ids=repr,
)
def test_the_last_end_may_be_missing_and_no_other(node: Node) -> None:
    """For all rows of short pieces: same result as without this, and without the end if the output ends with one."""
    whole = Gbnf(gbnf(Rules(row(node, "!"))).text)  # ends differently, so that nothing may be missing
    early = Gbnf(gbnf(Rules(node)).text)
    full = {text for text in ["", *_further(whole, [""], 9)] if whole.accepts(text + "!")}
    assert any(text.endswith(_END) for text in full)
    expected = {text for text in full | {text.removesuffix(_END) for text in full} if _pieces(text) < 9}
    assert {text for text in ["", *_further(early, [""], 8)] if early.accepts(text)} == expected


def _pieces(text: str) -> int:
    return len(text.replace(_END, "."))


def _further(grammar: Gbnf, texts: list[str], pieces: int) -> list[str]:
    """Prefixes of texts of the grammar, up to so many pieces."""
    if not pieces:
        return []
    more = [text + piece for text in texts for piece in ("a", "b", "c", ",", _END)]
    partial = [text for text in more if grammar.may_begin(text)]
    return partial + _further(grammar, partial, pieces - 1)
