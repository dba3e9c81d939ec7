"""Grammars of engines with random parameters allow what the writer writes."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain
from typing import Any

import depth
import drawn_engines
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from node_calls import CALLS, TOOLS
from node_matching import allows

from toolfmt.errors import CannotConstrain, CannotWrite
from toolfmt.formats import write
from toolfmt.formats.engines.call_expression import CallExpression
from toolfmt.formats.engines.tagged import Tagged
from toolfmt.formats.grammar.answer_grammar import answer_grammar
from toolfmt.formats.values.syntaxes import QUOTED_JSON
from toolfmt.formats.values.value_writers import QuotedJsonValues


@pytest.mark.sample(1)
@pytest.mark.parametrize("kind", drawn_engines.ENGINES)
def test_a_grammar_of_random_parameters_allows_written_calls(kind: str) -> None:
    @settings(max_examples=depth.examples(60), suppress_health_check=list(HealthCheck))
    @given(drawn_engines.ENGINES[kind], st.lists(CALLS, min_size=1, max_size=2))
    def allowed(engine: Any, calls: list[Any]) -> None:
        format = drawn_engines.format_of(engine)
        try:
            found = answer_grammar(format, TOOLS, choice="required")
        except CannotConstrain as error:
            assert "as JSON in quotes" in str(error)
            assume(False)
        try:
            text = write(format, calls, TOOLS)
        except CannotWrite:
            assume(False)
        if not allows(found.rules, text):
            assert "markers-in-texts" in found.rules.narrower, (engine, text)
            assert any(marker in value for marker in markers(engine) for value in strings(calls)), (engine, text)

    allowed()


def markers(engine: Any) -> set[str]:
    """The strings in the engine's parameters, without whitespace at their ends."""
    return {value.strip() for value in vars(engine).values() if isinstance(value, str) and value.strip()}


def strings(value: Any) -> Iterator[str]:
    """The strings in a JSON value."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        yield from strings([*value.values()])
    elif isinstance(value, list | tuple):
        yield from chain.from_iterable(map(strings, value))


def test_a_string_with_a_marker_of_the_format_is_written_but_not_allowed() -> None:
    """The grammar names this limit. Without an end marker of its own, a call's `}` could end the string."""
    engine = Tagged(
        opener="",
        closer="",
        name_opener="<name>",
        name_closer="</name>",
        key_opener="<key>",
        key_closer="</key>",
        value_closer="</value>",
        call_closer="}",
    )
    format = drawn_engines.format_of(engine)
    text = write(format, [("get_weather", {"city": "{}"})], TOOLS)
    rules = answer_grammar(format, TOOLS, choice="required").rules
    assert not allows(rules, text)
    assert "markers-in-texts" in rules.narrower
    assert allows(rules, text.replace("{}", "[]"))


def test_every_value_is_quoted_if_the_syntax_requires_it() -> None:
    engine = CallExpression(opener="<t>", closer="</t>", notation=QUOTED_JSON, written=QuotedJsonValues())
    properties = {"n": {"type": "integer"}, "b": {"type": "boolean"}, "s": {"type": "string"}}
    tools = [{"name": "f", "parameters": {"type": "object", "properties": properties}}]
    format = drawn_engines.format_of(engine)
    rules = answer_grammar(format, tools, choice="required").rules
    assert allows(rules, write(format, [("f", {"n": -3, "b": True, "s": "x"})], tools))
    assert not allows(rules, '<t>f(n=-3, b="true", s="x")</t>')
    with pytest.raises(CannotConstrain, match="as JSON in quotes"):
        answer_grammar(format, [{"name": "f", "parameters": {"properties": {"o": {"type": "array"}}}}])
