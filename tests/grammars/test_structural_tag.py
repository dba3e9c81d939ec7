"""Structural tags allow what GBNF does, with markers as text and as tokens. A reader judges, and XGrammar."""

from __future__ import annotations

import importlib
import json
import random
from collections.abc import Iterator, Sequence
from typing import Any

import depth
import pytest
from gbnf_reader import Gbnf
from oracle import SPELLINGS, spelling
from structural_tag_reader import StructuralTag

import toolfmt
from toolfmt.formats import ToolCallFormat
from toolfmt.formats.values.schema_types import Types, parameter_types
from toolfmt.grammars.gbnf import BOUNDED_TEXT
from toolfmt.messages.tools import tool_schemas

WEATHER = {
    "city": {"type": "string"},
    "days": {"type": "integer"},
    "tags": {"type": "array", "items": {"type": "string"}},
}
TOOLS: list[Any] = [
    {"name": "get_weather", "parameters": {"type": "object", "properties": WEATHER, "required": ["city"]}},
    {"name": "now", "parameters": {"type": "object", "properties": {}}},
]
EMPTY = {"type": "object", "properties": {"a": {"type": "string", "maxLength": 0}}}
SCHEMAS = tool_schemas(TOOLS)
CALLS: list[list[tuple[str, dict[str, Any]]]] = [
    [("now", {})],
    [("get_weather", {"city": 'x"y', "days": 3, "tags": ["a"]}), ("now", {})],
]
CHOICES = ("auto", "required", "get_weather")


def _types(name: str, *path: str) -> Types:
    return parameter_types(SCHEMAS[name], *path)


def _damaged(text: str, seed: str) -> Iterator[str]:
    drawn = random.Random(seed)
    for _ in range(6):
        at = drawn.randrange(len(text))
        end = min(len(text), at + drawn.randrange(1, 6))
        yield drawn.choice(
            [
                text[:at] + text[end:],
                text[:at] + drawn.choice('{}"<>x1,:') + text[at:],
                text[:end] + text[at:],
                text[:at],
            ]
        )


def _texts(format: ToolCallFormat, choice: str) -> list[str]:
    allowed = [[call for call in calls if choice in ("auto", "required", call[0])] for calls in CALLS]
    written = [format.writer.write(calls, _types) for calls in allowed if calls]
    texts = [*written, *(f"{before}{text}" for before in ("Let me see. ", "\n\n") for text in written), "No call.", ""]
    for start, end in format.reasoning[:1]:
        opener = next((opener for opener in format.openers if len(opener) > 3), "")
        texts += [f"{start}Hm.{end}{written[0]}", f"{start}Hm {opener} Hm.{end}{written[0]}"]
    return [*texts, *(broken for text in written for broken in _damaged(text, text))]


class _Xgrammar:
    """XGrammar's compiler over bytes and these markers as tokens."""

    def __init__(self, markers: Sequence[str]) -> None:
        self._engine: Any = importlib.import_module("xgrammar")
        vocabulary = [*(bytes([byte]) for byte in range(256)), b"<the end>", *(marker.encode() for marker in markers)]
        information = self._engine.TokenizerInfo(
            vocabulary, self._engine.VocabType.RAW, vocab_size=len(vocabulary), stop_token_ids=[256]
        )
        self._compiler = self._engine.GrammarCompiler(information, max_threads=1, cache_enabled=False)

    def matcher(self, tag: str) -> Any:
        return self._engine.GrammarMatcher(self._compiler.compile_structural_tag(tag))

    @staticmethod
    def accepts(matcher: Any, text: str, tokens: dict[int, tuple[int, int]]) -> bool:
        matcher.reset()
        at = 0
        while at < len(text):
            id, length = tokens.get(at, (None, 1))
            if not all(matcher.accept_token(token) for token in ([id] if id else text[at].encode())):
                return False
            at += length
        return bool(matcher.accept_token(256))


def _tokens(text: str, ids: dict[str, int]) -> dict[int, tuple[int, int]]:
    """Each marker in a text as one token, longest first."""
    found, at = {}, 0
    while at < len(text):
        marker = max((marker for marker in ids if text.startswith(marker, at)), key=len, default="")
        if marker:
            found[at] = ids[marker], len(marker)
        at += len(marker) or 1
    return found


@pytest.mark.sample(1)
@pytest.mark.parametrize(("name", "variant"), SPELLINGS)
def test_a_structural_tag_allows_what_gbnf_does(name: str, variant: str) -> None:
    format = spelling(name, variant)
    for choice in CHOICES:
        try:
            tag = toolfmt.grammar(format, TOOLS, syntax="structural-tag", choice=choice)
        except toolfmt.CannotConstrain:
            assert (name, choice) == ("glm4_legacy", "auto")
            continue
        ids = {marker: 257 + at for at, marker in enumerate(tag.preserved)}
        of_text, of_tokens = StructuralTag(tag.text), StructuralTag(tag.for_tokens(ids).text)
        whole = Gbnf(toolfmt.grammar(format, TOOLS, syntax="gbnf", choice=choice).text)
        texts = _texts(format, choice)
        expected = {text: whole.accepts(text) for text in texts}
        assert set(expected.values()) == {True, False}
        assert {text: of_text.accepts(text) for text in texts} == expected
        assert {text: of_tokens.accepts(text, _tokens(text, ids)) for text in texts} == expected
        if choice != "auto":
            calls = next(text for text in texts if expected[text])
            assert of_tokens.accepts(calls) == (not _tokens(calls, ids)), "markers that are spelled are no markers"


def test_the_end_of_a_text_is_not_the_beginning_of_a_marker() -> None:
    """`>>>>now`: the parser sees the marker `>>>` first, and then no tool's name."""
    format = spelling("functionary_v32", "")
    tag = StructuralTag(toolfmt.grammar(format, TOOLS, syntax="structural-tag").text)
    assert [tag.accepts(text) for text in (">>>now\n{}", "x>>>now\n{}", ">>>>now\n{}")] == [True, True, False]


def test_text_that_excludes_more_than_one_token_is_part_of_one_grammar() -> None:
    """Otherwise XGrammar 0.2.8 rejects valid outputs (`test_xgrammar_agrees`)."""

    def kinds(name: str) -> list[str]:
        made = toolfmt.grammar(name, TOOLS, syntax="structural-tag")
        ids = {marker: 300 + at for at, marker in enumerate(made.preserved)}
        return [json.loads(text)["format"]["type"] for text in (made.text, made.for_tokens(ids).text)]

    assert (kinds("gpt_oss"), kinds("glm4")) == (["sequence", "grammar"], ["sequence", "sequence"])


def test_a_marker_that_overlaps_itself_is_text_for_xgrammar() -> None:
    made = toolfmt.grammar("functionary_v32", TOOLS, syntax="structural-tag")
    assert made.for_tokens({"<think>": 300, "</think>": 301}).text == made.text


def test_a_text_of_limited_length_before_a_token_has_no_first_character_of_a_marker() -> None:
    tools = [{"name": "f", "parameters": {"type": "object", "properties": {"a": {"type": "string", "maxLength": 3}}}}]
    made = toolfmt.grammar("glm4", tools, syntax="structural-tag", choice="required")
    ids = {marker: 300 + at for at, marker in enumerate(made.preserved)}
    of_tokens = made.for_tokens(ids)
    assert (BOUNDED_TEXT in made.narrower, BOUNDED_TEXT in of_tokens.narrower) == (False, True)
    empty = toolfmt.grammar("glm4", [{"name": "f", "parameters": EMPTY}], syntax="structural-tag", choice="f")
    for value, accepted in (("", True), ("abc", True), ("abcd", False), ("a<b", False)):
        text = spelling("glm4", "").writer.write([("f", {"a": value})], lambda name, *path: frozenset({"string"}))
        assert StructuralTag(of_tokens.text).accepts(text, _tokens(text, ids)) == accepted, value
        assert StructuralTag(empty.for_tokens(ids).text).accepts(text, _tokens(text, ids)) == (not value), value


@pytest.mark.parametrize(("most", "expected"), [(10, False), (40, True)])
def test_a_longer_string_with_a_limited_length_leaves_characters_out(most: int, expected: bool) -> None:
    """XGrammar would compile all its states for many seconds; llama.cpp does not compile."""
    tools = [
        {"name": "f", "parameters": {"type": "object", "properties": {"a": {"type": "string", "maxLength": most}}}}
    ]
    for_xgrammar = [toolfmt.grammar("glm4", tools, syntax=syntax) for syntax in ("structural-tag", "xgrammar")]
    assert [BOUNDED_TEXT in made.narrower for made in for_xgrammar] == [expected, expected]
    assert BOUNDED_TEXT not in toolfmt.grammar("glm4", tools, syntax="gbnf").narrower


def test_a_text_contains_its_end_marker_neither_as_a_token_nor_spelled() -> None:
    made = toolfmt.grammar("glm4", TOOLS, syntax="structural-tag", choice="get_weather")
    ids = {marker: 300 + at for at, marker in enumerate(made.preserved)}
    tag = StructuralTag(made.for_tokens(ids).text)
    text = spelling("glm4", "").writer.write([("get_weather", {"city": "a|b"})], _types)
    for inserted, accepted in (("|", True), ("<tool", True), ("</arg_value>", False), ("<arg_key>", False)):
        longer = text.replace("|", inserted)
        tokens = {at: token for at, token in _tokens(longer, ids).items() if at != text.index("|")}
        assert tag.accepts(longer, tokens) == accepted, inserted


@pytest.mark.parametrize(("name", "variant"), depth.spread(SPELLINGS, 3))
def test_xgrammar_agrees(name: str, variant: str) -> None:
    pytest.importorskip("xgrammar", reason="asks XGrammar itself")
    format = spelling(name, variant)
    for choice in ("auto", "required") if name != "glm4_legacy" else ("required",):
        tag = toolfmt.grammar(format, TOOLS, syntax="structural-tag", choice=choice)
        ids = {marker: 257 + at for at, marker in enumerate(tag.preserved)}
        engine = _Xgrammar(tag.preserved)
        for of_tokens in (False, True):
            made = tag.for_tokens(ids) if of_tokens else tag
            matcher, reader = engine.matcher(made.text), StructuralTag(made.text)
            for text in _texts(format, choice):
                tokens = _tokens(text, ids) if of_tokens else {}
                assert engine.accepts(matcher, text, tokens) == reader.accepts(text, tokens), (choice, of_tokens, text)
