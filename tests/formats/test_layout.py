"""The layout of calls: how each hole is filled with values, and that grammars fill the same holes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from node_matching import allows

from toolfmt.formats.grammar.constraint import ConstrainedTool, Constraint
from toolfmt.formats.values.json_style import JsonStyle
from toolfmt.formats.values.layout import (
    TOOL_NAME,
    Call,
    CallText,
    EachArgument,
    EachCall,
    IfArguments,
    InnerCalls,
    JsonArguments,
    Key,
    LaidOut,
    NoLayout,
    TaggedValue,
    Value,
    layout_of,
    write_calls,
)
from toolfmt.formats.values.nodes import Node, Pattern, Rules, row
from toolfmt.formats.values.schema_types import Types
from toolfmt.formats.values.value_writers import TEXT_BY_TYPE, JsonValues

PARAMETERS = {"type": "object", "properties": {"b": {"type": "integer"}, "A": {"type": "integer"}}}
CALLS: list[Call] = [("f", {"b": 1, "A": 2}), ("g", {})]


def _written(layout: Node, calls: Sequence[Call] = CALLS) -> str:
    """The text of calls; a grammar for their tools allows it."""
    text = write_calls(layout, calls, lambda name, *path: frozenset({"integer"}))
    tools = (ConstrainedTool("f", PARAMETERS, "f"), ConstrainedTool("g", {}, "g"))
    assert allows(Rules(Constraint("own", tools, several=True).calls(layout)), text)
    return text


def test_each_call_is_between_its_texts() -> None:
    assert _written(row("<", EachCall(TOOL_NAME, ", ", "[", "]"), ">")) == "<[f], [g]>"


def test_a_text_may_depend_on_the_number_of_the_call() -> None:
    assert _written(EachCall(CallText(lambda name, at: f"{name}:{at}"), ";")) == "f:0;g:1"


def test_arguments_are_in_the_given_or_in_alphabetical_order() -> None:
    argument = row(Key(), "=", Value(JsonValues(), ()))
    assert _written(EachCall(row(TOOL_NAME, "(", EachArgument(argument, ", "), ")"))) == "f(b=1, A=2)g()"
    alphabetical = EachCall(row(TOOL_NAME, "(", EachArgument(argument, ", ", True), ")"))
    assert _written(alphabetical) == "f(A=2, b=1)g()"
    assert write_calls(alphabetical, [("f", {"B": 1, "a": 2})], lambda name, *path: None) == "f(a=2, B=1)"


def test_a_part_may_depend_on_whether_there_are_arguments() -> None:
    assert _written(EachCall(row(TOOL_NAME, IfArguments(row(" ", JsonArguments(JsonStyle()))), "."))) == (
        'f {"b": 1, "A": 2}.g.'
    )


def test_json_in_a_string_is_escaped_as_the_rest_is() -> None:
    layout = EachCall(JsonArguments(JsonStyle(ascii=True), in_string=True))
    assert write_calls(layout, [("f", {"é": 1})], lambda name, *path: None) == r'"{\"\\u00e9\": 1}"'


def test_an_inner_layout_is_filled_with_one_call() -> None:
    inner = row("{", EachCall(TOOL_NAME, "|"), "}")
    layout = EachCall(row(TOOL_NAME, InnerCalls(inner)), ", ")
    assert _written(layout) == "f{f}, g{g}"
    constraint = Constraint("own", (ConstrainedTool("f", PARAMETERS, "f"), ConstrainedTool("g", {}, "g")), several=True)
    assert not allows(Rules(constraint.calls(layout)), "f{f|f}")
    assert not allows(Rules(constraint.calls(layout)), "f{g}")


def test_a_tag_may_depend_on_value_and_place_and_a_value_on_its_types() -> None:
    def start(key: str, value: Any, at: int) -> str:
        return f"<{key} {type(value).__name__} {at}>"

    layout = EachCall(EachArgument(TaggedValue(start, TEXT_BY_TYPE, "</>", ("</>",))))

    def types(name: str, *path: str) -> Types:
        return frozenset({"string"}) if (name, *path) == ("f", "s") else None

    assert write_calls(layout, [("f", {"s": "1", "t": "1"})], types) == '<s str 0>1</><t str 1>"1"</>'


def test_an_engine_without_a_layout_is_named() -> None:
    class OnlyWrites(LaidOut):
        """It has no layout."""

    with pytest.raises(NoLayout, match=r"its engine .*OnlyWrites has no layout"):
        layout_of(OnlyWrites())


def test_another_node_has_no_value() -> None:
    with pytest.raises(TypeError, match="not a node of a layout"):
        write_calls(EachCall(Pattern("a")), CALLS, lambda name, *path: None)
