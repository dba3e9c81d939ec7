"""The nodes of every engine, compared with the writer, the strict parser and the schemas, without a grammar syntax.

`node_matching` defines what nodes mean.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from node_calls import CALLS, TOOLS, _tool
from node_matching import allows

from toolfmt.errors import CannotConstrain, CannotWrite
from toolfmt.formats import FORMATS, Call, Parser, ToolCallFormat, get, write
from toolfmt.formats.engines.engine import Engine
from toolfmt.formats.engines.tagged import Tagged
from toolfmt.formats.grammar.answer_grammar import answer_grammar
from toolfmt.formats.grammar.constraint import ConstrainedTool, Constraint, constrained_calls
from toolfmt.formats.grammar.json_nodes import json_nodes
from toolfmt.formats.grammar.schemas import Schemas
from toolfmt.formats.parse import parse
from toolfmt.formats.values.nodes import JsonValue, Node, Rules, inner_nodes
from toolfmt.messages.events import Content, Reasoning, ToolCallEnd, ToolCallRejected, ToolCallStart
from toolfmt.messages.tools import tool_schemas
from toolfmt.testing.material import literals_of

ALL = [format.with_variant(variant) for format in FORMATS for variant in ("", *format.variants)]
NAMES = [f"{format.name}{':' if format.variant else ''}{format.variant}" for format in ALL]
UNFRAMED = {
    # The parser reports `missing_opener` for these: with their frame they are the format's own syntax.
    ("phi4", "bare objects"),
    ("xml_function", "without a frame"),
}
BY_FIRST_CHARACTER = {"glm4_legacy"}
"""Formats whose calls begin with only the tool's name. Nothing separates such calls from text."""


def _rules(format: ToolCallFormat, tools: Any = TOOLS, choice: str = "required", parallel: bool = True) -> Rules:
    return answer_grammar(format, tools, choice=choice, parallel=parallel).rules


@pytest.mark.parametrize("format", ALL, ids=NAMES)
def test_written_calls_are_allowed(format: ToolCallFormat) -> None:
    found = answer_grammar(format, TOOLS, choice="required")
    most = 1 if "one-call" in found.rules.narrower else 3

    @settings(max_examples=12)
    @given(st.lists(CALLS, min_size=1, max_size=most))
    def written(calls: list[Any]) -> None:
        try:
            text = write(format, calls, TOOLS)
        except CannotWrite:
            return
        assert allows(found.rules, text)

    written()


_INNER: list[tuple[Any, Any]] = [
    ({}, [1, {"a": None}]),
    ({}, {"a": [{"b": "it's"}, True]}),
    ({"type": "array"}, [[{"a": "x"}], None]),
    ({"type": "array", "items": {"type": "object", "properties": {"é": {"type": "null"}}}}, [{"é": None}]),
    ({"type": "array", "items": {"enum": [{"a": None}, 1]}}, [{"a": None}, 1]),
    ({"type": "object"}, {"é": 1}),
    ({"type": "object", "properties": {"名": {"type": "integer"}, "1": {}}}, {"名": 1, "1": None}),
    ({"type": ["object", "null"], "properties": {"a": {"type": "integer"}}, "additionalProperties": False}, {"a": 1}),
]
"""Schemas, and values with objects inside of lists or with unusual keys."""


@pytest.mark.parametrize(("schema", "value"), _INNER, ids=repr)
def test_inner_values_are_allowed_as_they_are_written(schema: Any, value: Any) -> None:
    """If the grammar lacks a value as the format writes it, `narrower` contains the reason."""
    tools = [_tool("f", {"x": schema})]
    missing = {}
    for name, format in zip(NAMES, ALL, strict=True):
        try:
            text, found = write(format, [("f", {"x": value})], tools), answer_grammar(format, tools, choice="required")
        except (CannotConstrain, CannotWrite):
            continue
        if not allows(found.rules, text) and not {"objects-as-json", "plain-keys"} & {*found.rules.narrower}:
            missing[name] = text
    assert missing == {}


@pytest.mark.parametrize("format", ALL, ids=NAMES)
def test_an_allowed_string_of_markers_is_parsed(format: ToolCallFormat) -> None:
    """The test writes it directly, without the check of `toolfmt.write` that it parses back."""
    tools = [_tool("f", {"a": {"type": "string", "minLength": 1}, "b": {}}, "a")]
    rules = _rules(format, tools)
    ends = ('" string="true">', '" string="false">', '" type="string"<|sep|>')
    damaged = (f'x<{at}parameter name="b{end}' for at in ("", "｜DSML｜") for end in ends)
    for value in ("\n", "x\n", "\nx", "\r\n", *damaged, *literals_of(format)):
        text = format.writer.write([("f", {"a": value})], _types(tool_schemas(tools)))
        if allows(rules, text) and (format.name, format.variant) not in UNFRAMED:
            (call,) = parse(text, format, tools=tools, strict=True).tool_calls
            assert json.loads(call.arguments)["a"], text


@pytest.mark.parametrize("format", ALL, ids=NAMES)
def test_an_allowed_listed_value_is_parsed(format: ToolCallFormat) -> None:
    """Values of an enum are left out, and `narrower` says so, if parsing would change them."""
    values = ["k", "\n", "x\n", "\nx", *dict.fromkeys(f"x{marker}" for marker in literals_of(format))]
    tools = [_tool("f", {"a": {"enum": values}}, "a")]
    found = answer_grammar(format, tools, choice="required").rules
    allowed = []
    for value in values:
        text = format.writer.write([("f", {"a": value})], _types(tool_schemas(tools)))
        if allows(found, text):
            (call,) = parse(text, format, tools=tools).tool_calls
            assert json.loads(call.arguments) == {"a": value}, text
            allowed.append(value)
    assert "k" in allowed
    assert allowed == values or "markers-in-texts" in found.narrower
    if format.name == "minicpm5":  # with CDATA, a string may contain the end marker
        assert "x</param>" in allowed
    if format.name == "glm4":  # newlines are parsed as they are
        assert allowed[:4] == values[:4]
    if format.name == "lfm2":  # strings are quoted
        assert allowed == values


@pytest.mark.parametrize(("values", "expected"), [([3, "3", "k"], True), (["3", "k"], False)])
def test_a_listed_value_that_looks_like_another_type_is_named(values: list[Any], expected: bool) -> None:
    found = answer_grammar(get("glm4"), [_tool("f", {"a": {"enum": values}}, "a")], choice="required").rules
    assert ("listed-values" in found.narrower) == expected


@pytest.mark.parametrize(("least", "expected"), [(0, True), (1, False)])
def test_newlines_that_parsing_drops_are_left_out_if_the_length_is_limited(least: int, expected: bool) -> None:
    format = get("xml_function").with_variant("values on the line of their tags")
    tools = [_tool("f", {"a": {"type": "string", "minLength": least}}, "a")]
    text = format.writer.write([("f", {"a": "x\ny"})], _types(tool_schemas(tools)))
    assert allows(_rules(format, tools), text) == expected


@pytest.mark.parametrize("name", ["glm4", "gemma4", "minimax_m3"])
def test_a_list_of_nothing_but_markers_has_no_grammar(name: str) -> None:
    marker = {"glm4": "</arg_value>", "gemma4": '<|"|>', "minimax_m3": "]<]minimax[>["}[name]
    for value in (marker, [{"k": marker}]) if name == "gemma4" else (marker,):
        with pytest.raises(CannotConstrain, match="'a' of 'f': its values would be parsed as other values"):
            answer_grammar(get(name), [_tool("f", {"a": {"enum": [value]}}, "a")], choice="required")


def test_a_string_contains_no_end_of_a_message_that_another_call_may_follow() -> None:
    """In Beam, all but the last call end with `<|end|>`."""
    tools = [_tool("f", {"a": {"type": "string"}}, "a"), _tool("now", {})]
    header = "<|start|>assistant to=now<|channel|>analysis <|constrain|>xml<|message|>"
    text = get("beam").writer.write([("f", {"a": f"x<|end|>{header}y"})], _types(tool_schemas(tools)))
    assert parse(text, "beam", tools=tools, strict=True).rejected != []
    assert not allows(_rules(get("beam"), tools), text)


@pytest.mark.parametrize("format", ALL, ids=NAMES)
def test_whitespace_may_precede_a_start_marker(format: ToolCallFormat) -> None:
    """DeepSeek V3.2 and MiniMax write two newlines there. After a start marker in the prompt, there may be none."""
    text = format.writer.write([("now", {})], lambda tool, *path: None)
    start = max((marker for marker in format.openers if marker and text.startswith(marker)), key=len, default="")
    rules = _rules(format)
    if not start or (format.name, format.variant) in UNFRAMED:
        assert not allows(rules, "\n\n" + text)
        return
    assert [allows(rules, "\n" * count + text) for count in (0, 2, 5)] == [True, True, False]
    assert not allows(rules, text.removeprefix(start))
    assert parse("\n\n" + text, format, tools=TOOLS, strict=True).rejected == []
    opened = answer_grammar(format, TOOLS, choice="required", prefix=start).rules
    assert allows(opened, text.removeprefix(start))
    is_header = format.name == "inkling"  # each message begins with this marker, so the prompt does
    assert allows(opened, "\n\n" + text.removeprefix(start)) == is_header
    assert allows(opened, text) == is_header
    assert parse(text.removeprefix(start), format, tools=TOOLS, prefix=start, strict=True).rejected == []
    after_text = answer_grammar(format, TOOLS, choice="required", prefix="Hi").rules
    assert not allows(after_text, "\n\n" + text)


@pytest.mark.parametrize("format", ALL, ids=NAMES)
def test_text_contains_no_start_marker(format: ToolCallFormat) -> None:
    """The text of `auto` excludes every start marker, also one that is a part of a longer one."""
    if format.name in BY_FIRST_CHARACTER or (format.name, format.variant) in UNFRAMED:
        return
    found = answer_grammar(format, TOOLS)
    written = format.writer.write([("now", {})], lambda tool, *path: None)
    assert allows(found.rules, written)
    for marker in filter(None, format.openers):
        for text in (f"x{marker}", f"x{marker}x", f"x{marker}{marker}", f"x{marker}{written}"):
            if allows(found.rules, text):
                assert parse(text, format, tools=TOOLS, strict=True).rejected == [], text


def _damaged() -> Iterator[tuple[str, str, dict[str, Any]]]:
    """Calls with one invalid part each."""
    weather = {"city": "Oslo"}
    book = {"who": {"name": "Ann"}, "price": 1}
    yield "an unknown tool", "frobnicate", weather
    yield "a required argument is missing", "get_weather", {"days": 3}
    yield "a string for an integer", "get_weather", weather | {"days": "three"}
    yield "a fraction for an integer", "get_weather", weather | {"days": 3.5}
    yield "a value that is not listed", "get_weather", weather | {"units": "kelvin"}
    yield "a number for a boolean", "get_weather", weather | {"detail": 1}
    yield "an item of another type", "book", book | {"rooms": [1, "x"]}
    yield "too few items", "book", book | {"rooms": []}
    yield "a number below its minimum", "book", book | {"price": -1}
    yield "a required member is missing", "book", book | {"who": {"age": 3}}
    yield "an unknown member", "book", book | {"who": {"name": "Ann", "size": 3}}
    yield "an unknown argument", "get_weather", weather | {"size": 3}
    yield "an unknown argument of a tool without any", "now", {"size": 3}


@pytest.mark.parametrize("format", ALL, ids=NAMES)
def test_invalid_arguments_are_not_allowed(format: ToolCallFormat) -> None:
    rules = _rules(format)
    schemas = tool_schemas(TOOLS)
    for kind, name, arguments in _damaged():
        text = format.writer.write([(name, arguments)], lambda tool, *path: None)
        typed = format.writer.write([(name, arguments)], _types(schemas))
        assert not allows(rules, text), kind
        assert not allows(rules, typed), kind


def _types(schemas: dict[str, dict[str, Any]]) -> Any:
    from toolfmt.formats.values.schema_types import parameter_types

    return lambda name, *path: parameter_types(schemas.get(name, {}), *path)


@pytest.mark.parametrize("format", ALL, ids=NAMES)
def test_text_with_or_without_calls(format: ToolCallFormat) -> None:
    if format.name in BY_FIRST_CHARACTER:
        with pytest.raises(CannotConstrain, match="just the tool's name"):
            _rules(format, choice="auto")
        return
    found = answer_grammar(format, TOOLS, choice="auto")
    call = write(format, [("get_weather", {"city": "Oslo"})], TOOLS)
    assert allows(found.rules, call)
    assert allows(found.rules, "It is <b>3 < 4</b>, I think.")
    assert allows(found.rules, "")
    broken = format.writer.write([("get_weather", {"town": "Oslo"})], lambda name, *path: None)
    assert not allows(found.rules, broken)
    if found.trigger:
        assert call.startswith(found.trigger)
        assert allows(found.calls, call)
        assert not allows(found.calls, "Let me look. " + call)
        assert allows(found.rules, "Let me look. " + call)
        assert not allows(found.rules, "Let me look. " + broken)


@pytest.mark.parametrize("format", ALL, ids=NAMES)
def test_a_named_tool_and_a_single_call(format: ToolCallFormat) -> None:
    weather: Call = ("get_weather", {"city": "Oslo"})
    now: Call = ("now", {})
    named = _rules(format, choice="now")
    assert allows(named, write(format, [now], TOOLS))
    assert not allows(named, write(format, [weather], TOOLS))
    single = _rules(format, parallel=False)
    assert allows(single, write(format, [weather], TOOLS))
    assert not allows(single, write(format, [weather, now], TOOLS))
    assert not allows(_rules(format), "Nothing is called here.")


@pytest.mark.parametrize("format", ALL, ids=NAMES)
def test_reasoning_may_precede_calls(format: ToolCallFormat) -> None:
    call = write(format, [("now", {})], TOOLS)
    opener, closer = format.reasoning[0]
    assert allows(_rules(format), f"{opener}so\n{closer}{call}")
    if opener in format.markers.output_starts or opener == "<think>":
        opened = answer_grammar(format, TOOLS, choice="required", prefix=f"{opener}\n").rules
        assert allows(opened, f"so\n{closer}{call}")
        assert not allows(opened, call)


@pytest.mark.parametrize(
    ("name", "prefix"),
    [
        ("json", "<tool_call>"),
        ("json", "<|im_start|>assistant\n<tool_call>\n"),
        ("json", "<think>so</think><tool_call>"),
        ("json", "<tool_call>  "),
        ("functionary_v32", "<|start_header_id|>assistant<|end_header_id|>\n\n>>>"),
        ("functionary_v2", "<|from|>assistant\n<|recipient|>"),
    ],
)
@pytest.mark.parametrize("choice", ["auto", "required"])
def test_a_call_that_the_prompt_started_is_continued(name: str, prefix: str, choice: str) -> None:
    format = next(format for format in FORMATS if format.name == name)
    started = answer_grammar(format, TOOLS, choice=choice, prefix=prefix).rules
    call = write(format, [("now", {})], TOOLS)
    opener = next(opener for opener in format.openers if prefix.rstrip().endswith(opener))
    rest = call.removeprefix(opener).removeprefix("\n" if prefix.endswith(f"{opener}\n") else "")
    assert rest != call
    assert allows(started, rest)
    assert not allows(started, call)
    assert not allows(started, "Let me look.")


# --- schemas

_PERSON = {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}
_TREE = {"type": "object", "properties": {"kids": {"type": "array", "items": {"$ref": "#/$defs/tree"}}}}
SUPPORTED: list[tuple[str, dict[str, Any], list[Any], list[Any]]] = [
    ("$ref", {"$ref": "#/$defs/person"}, [{"name": "x"}], [{"nom": "x"}, {}, 3]),
    ("a tree", {"$ref": "#/$defs/tree"}, [{}, {"kids": []}, {"kids": [{"kids": [{}]}]}], [{"kids": [3]}, {"x": 1}]),
    ("allOf", {"allOf": [{"type": "integer"}, {"minimum": 3}, {"maximum": 12}]}, [3, 12], [2, 13, "x"]),
    ("allOf of objects", {"allOf": [{"$ref": "#/$defs/person"}, {"properties": {"age": {"type": "integer"}}}]},
     [{"name": "x"}, {"name": "x", "age": 3}], [{"age": 3}, {"name": "x", "age": "y"}]),
    ("anyOf", {"anyOf": [{"type": "integer"}, {"type": "boolean"}]}, [3, True], [3.5, "x", None]),
    ("oneOf", {"oneOf": [{"type": "integer"}, {"type": "array", "items": {"type": "boolean"}}]}, [3, [True]], [[3]]),
    ("a constant or a number", {"oneOf": [{"const": "auto"}, {"type": "integer"}]}, ["auto", 3], ["other", True]),
    ("alternatives that differ in a member",
     {"oneOf": [{"type": "object", "properties": {"kind": {"const": kind}, "of": {"type": type_}},
                 "required": ["kind", "of"]} for kind, type_ in (("a", "integer"), ("b", "boolean"))]},
     [{"kind": "a", "of": 3}, {"kind": "b", "of": True}], [{"kind": "a", "of": True}, {"of": 3}]),
    ("const", {"const": 3}, [3], [4, "3"]),
    ("enum of several types", {"enum": [1, True, None]}, [1, True, None], [0, False]),
    ("nullable", {"type": "integer", "nullable": True}, [3, None], ["x", True]),
    ("length", {"type": "string", "minLength": 2, "maxLength": 3}, ["ab", "abc"], ["a", "abcd"]),
    ("pattern", {"type": "string", "pattern": "^[a-z]{2}-[0-9]+$"}, ["no-47"], ["no47", "NO-1"]),
    ("items", {"type": "array", "items": {"type": "integer"}, "minItems": 1, "maxItems": 2}, [[1], [1, 2]],
     [[], [1, 2, 3], ["x"]]),
    ("no items", {"type": "array", "items": {"type": "integer"}, "maxItems": 0}, [[]], [[1]]),
    ("an item at most", {"type": "array", "items": {"type": "integer"}, "maxItems": 1}, [[], [1]], [[1, 2]]),
    ("bounds", {"type": "number", "exclusiveMinimum": 0, "maximum": 1.5}, [0.1, 1, 1.5], [0, 1.6, -1]),
    ("Python's names of types", {"type": "int"}, [3], ["x", 3.5]),
    ("allOf of bounds", {"allOf": [{"minimum": 5}, {"minimum": 3, "maximum": 9}, {"maximum": 12}]}, [5, 9], [4, 10]),
    ("allOf with a closed object",
     {"allOf": [{"properties": {"x": {"type": "integer"}}, "additionalProperties": False},
                {"properties": {"y": {"type": "integer"}}}]}, [{"x": 3}, {}], [{"y": 3}, {"x": 3, "y": 3}]),
    ("unevaluated members next to allOf",
     {"type": "object", "unevaluatedProperties": False,
      "allOf": [{"properties": {"a": {"type": "integer"}}}, {"properties": {"b": {"type": "boolean"}}}]},
     [{"a": 3, "b": True}, {"b": True}], [{"c": 3}, {"a": True}]),
    ("a part that evaluates its own",
     {"allOf": [{"type": "object", "properties": {"a": {}}, "unevaluatedProperties": False},
                {"properties": {"b": {}}}]},
     [{"a": 3}], [{"a": 3, "b": 3}]),
    ("a reference to members of any name", {"$ref": "#/$defs/counts"}, [{"x": 3}, {}], [{"x": "y"}, 3]),
    ("allOf with others of one type",
     {"allOf": [{"properties": {"x": {}}, "additionalProperties": {"type": "integer"}}, {"properties": {"y": {}}}]},
     [{"y": 3}], [{"y": "a"}]),
    ("a list of values of one type", {"type": "integer", "enum": [1, "x", 2.5]}, [1], ["x", 2.5]),
    ("a list of values within bounds", {"enum": [1, 5], "minimum": 3}, [5], [1]),
    ("a list of strings of a length", {"enum": ["a", "abc"], "minLength": 2}, ["abc"], ["a"]),
    ("a constant of a list", {"allOf": [{"const": 3}, {"enum": [3, 4]}]}, [3], [4]),
    ("only required", {"type": "object", "required": ["x"]}, [{"x": 3}, {"x": "y"}], [{}]),
]  # fmt: skip
_DEFINITIONS = {
    "person": _PERSON,
    "tree": _TREE,
    "counts": {"type": "object", "additionalProperties": {"type": "integer"}},
}
_JSON = next(format for format in FORMATS if format.name == "json")


@pytest.mark.sample(6)
@pytest.mark.parametrize(
    ("schema", "valid", "invalid"), [case[1:] for case in SUPPORTED], ids=[case[0] for case in SUPPORTED]
)
@pytest.mark.parametrize("name", ["json", "lfm2", "glm4", "minimax_m3", "gemma4", "kimi_k3"])
def test_schemas_are_enforced(name: str, schema: dict[str, Any], valid: list[Any], invalid: list[Any]) -> None:
    format = next(format for format in FORMATS if format.name == name)
    tools = [_tool("f", {"p": schema}, "p", **{"$defs": _DEFINITIONS})]
    rules = _rules(format, tools)
    types = _types(tool_schemas(tools))
    union = schema.get("oneOf", [{}])[0].get("type") == "object"
    if name == "minimax_m3" and (union or schema.get("$ref") == "#/$defs/counts"):
        assert "objects-as-json" in rules.narrower  # it writes objects in a union and objects with any keys as JSON
        return
    texts = {format.writer.write([("f", {"p": value})], types) for value in valid}
    for text in texts:
        assert allows(rules, text)
    # Between tags, the text 3 and the number look the same; the schema decides.
    for text in {format.writer.write([("f", {"p": value})], types) for value in invalid} - texts:
        assert not allows(rules, text)


@pytest.mark.parametrize(
    ("schema", "valid", "invalid"), [case[1:] for case in SUPPORTED], ids=[case[0] for case in SUPPORTED]
)
@pytest.mark.parametrize("exact", [True, False])
def test_json_nodes_allow_the_same_values_as_a_json_value(
    exact: bool, schema: dict[str, Any], valid: list[Any], invalid: list[Any]
) -> None:
    whole = Schemas({"$defs": _DEFINITIONS}).standalone(schema)
    rules = json_nodes(whole, exact)
    for value in valid:
        assert allows(rules, json.dumps(value))
        assert allows(rules, json.dumps(value, indent=1)) is (not exact or "\n" not in json.dumps(value, indent=1))
        assert allows(Rules(JsonValue(whole, exact)), json.dumps(value))
    for value in invalid:
        assert not allows(rules, json.dumps(value))
        assert not allows(Rules(JsonValue(whole, exact)), json.dumps(value))


UNSUPPORTED: list[tuple[str, dict[str, Any], str]] = [
    ("not", {"not": {"type": "string"}}, "'not'"),
    ("if", {"if": {"type": "string"}, "then": {"minLength": 3}}, "'if'"),
    ("overlapping oneOf", {"oneOf": [{"type": "integer"}, {"type": "number"}]}, "'oneOf' overlap"),
    ("unique items", {"type": "array", "items": {"type": "integer"}, "uniqueItems": True}, "'uniqueItems'"),
    ("an unresolved reference", {"$ref": "#/$defs/missing"}, "cannot be resolved"),
    ("a reference to itself", {"$ref": "#/properties/p"}, "refers to itself"),
    ("a reference elsewhere", {"$ref": "other.json"}, "cannot be resolved"),
    ("no valid value", {"allOf": [{"type": "string"}, {"type": "integer"}]}, "types exclude each other"),
    ("an empty enum", {"type": "object", "properties": {"q": {"enum": []}}}, "allows no value"),
    ("too many keys", {"properties": {"q": {}, "r": {}}, "maxProperties": 1}, "number of keys"),
    (
        "a required key that is not allowed",
        {"required": ["q"], "additionalProperties": False},
        "does not allow that key",
    ),
    ("a list of strings with a pattern", {"enum": ["a"], "pattern": "^a$"}, "a list of values and limits"),
    ("a constant that is not in the list", {"allOf": [{"const": 3}, {"enum": [4]}]}, "allows no value"),
    ("oneOf with a part that names no type", {"oneOf": [{"type": "string"}, {"required": ["a"]}]}, "'oneOf' overlap"),
    ("oneOf of limits", {"oneOf": [{"minLength": 3}, {"minimum": 5}]}, "'oneOf' overlap"),
    ("oneOf of one number", {"oneOf": [{"const": 1}, {"const": 1.0}]}, "'oneOf' overlap"),
    (
        "unevaluated members of others",
        {"anyOf": [{"properties": {"a": {}}}], "unevaluatedProperties": False},
        "'unevaluatedProperties'",
    ),
    ("minItems above maxItems", {"type": "array", "minItems": 3, "maxItems": 1}, "'minItems' is more than"),
    ("minLength above maxLength", {"type": "string", "minLength": 3, "maxLength": 1}, "'minLength' is more than"),
    ("items and prefixItems", {"allOf": [{"prefixItems": [{}]}, {"items": {"type": "string"}}]}, "apply together"),
    ("an id of its own", {"$id": "http://e/x", "type": "string"}, "'$id'"),
    ("a count that is null", {"type": "string", "minLength": None}, "which is not a non-negative integer"),
    ("a fractional count", {"type": "array", "minItems": 1.5}, "which is not a non-negative integer"),
    ("an infinite bound", {"type": "number", "minimum": float("inf")}, "which is not a number"),
    ("a pattern that is null", {"type": "string", "pattern": None}, "which is not a string"),
    ("very many items", {"type": "array", "minItems": 10_000_000}, "more than 10000"),
    ("a bound of draft 4", {"enum": [1], "exclusiveMinimum": True}, "since draft 6"),
    ("counted keys", {"type": "object", "properties": {"q": {}}, "minProperties": 1}, "number of keys"),
    ("keys by pattern", {"type": "object", "patternProperties": {"^x": {}}}, "'patternProperties'"),
]


@pytest.mark.sample(5)
@pytest.mark.parametrize(("schema", "why"), [case[1:] for case in UNSUPPORTED], ids=[case[0] for case in UNSUPPORTED])
@pytest.mark.parametrize("name", ["json", "lfm2", "glm4", "minimax_m3"])
def test_schemas_that_no_grammar_can_enforce_are_rejected_by_name(name: str, schema: dict[str, Any], why: str) -> None:
    format = next(format for format in FORMATS if format.name == name)
    with pytest.raises(CannotConstrain) as raised:
        _rules(format, [_tool("look", {"p": schema}, "p")])
    message = str(raised.value)
    assert all(part in message for part in (why, name, "'look'", "'p"))
    assert "\n" not in message


@pytest.mark.parametrize("format", ALL, ids=NAMES)
def test_optional_arguments_may_all_be_missing(format: ToolCallFormat) -> None:
    tools = [_tool("f", {"a": {"type": "string"}, "b": {"type": "integer"}})]
    rules = _rules(format, tools)
    for arguments in ({}, {"a": "x"}, {"b": 3}, {"a": "x", "b": 3}, {"b": 3, "a": "x"}):
        assert allows(rules, write(format, [("f", arguments)], tools)), arguments


def test_an_unconstrained_value_may_be_anything() -> None:
    for name in ("kimi_k3", "doubao", "glm4", "lfm2", "gemma4", "minimax_m3", "json"):
        format = next(format for format in FORMATS if format.name == name)
        tools = [_tool("f", {"p": {}}, "p")]
        lists = [] if name == "minimax_m3" else [[1, "x"], {"a": [None]}]  # `objects-as-json`
        for value in ("x", 3, True, None, *lists):
            assert allows(_rules(format, tools), write(format, [("f", {"p": value})], tools)), (name, value)


@pytest.mark.parametrize("name", ["glm4", "minimax_m3"])
def test_a_listed_string_that_looks_like_a_listed_number_is_left_out(name: str) -> None:
    format = next(format for format in FORMATS if format.name == name)
    tools = [_tool("f", {"p": {"enum": ["3", "x", 2.5]}}, "p")]
    for value, allowed in (("3", False), ("x", True), (2.5, True)):
        text = format.writer.write([("f", {"p": value})], lambda tool, *path: frozenset({"string", "number"}))
        assert allows(_rules(format, tools), text) is allowed


def test_a_cdata_section_may_contain_tags() -> None:
    format = next(format for format in FORMATS if format.name == "minicpm5")
    tools = [_tool("f", {"p": {"type": "string"}}, "p")]
    text = write(format, [("f", {"p": "a <b> & c"})], tools)
    assert "<![CDATA[" in text
    assert allows(_rules(format, tools), text)


def test_text_before_calls_contains_no_other_marker_of_calls() -> None:
    rules = _rules(_JSON, choice="auto")
    call = write(_JSON, [("now", {})], TOOLS)
    assert allows(rules, f"a {call}")
    for marker in ("<tools>", "</tool_call>", "[TOOL_REQUEST]", '{"name"'):
        assert not allows(rules, f"a {marker} {call}")
        assert not allows(rules, f"a {marker}")


def test_text_has_no_delimiter_of_a_call_without_its_start_marker() -> None:
    """Mistral's parser reads `now[ARGS]{}` at the start of an output as a call, whose arguments no grammar checks.

    It recognizes the call by the delimiter after the name.
    """
    mistral = next(format for format in FORMATS if format.name == "mistral")
    rules = answer_grammar(mistral, TOOLS, choice="auto").rules
    for text in ("now[ARGS]{}", "now[ARGS]{}[TOOL_CALLS]now[ARGS]{}"):
        assert not allows(rules, text)
    for text in ("now[ARG]{}", "Now: [TOOL_CALLS]now[ARGS]{}", "[TOOL_CALLS]now[ARGS]{}"):
        assert allows(rules, text)


def test_a_call_number_has_the_digits_that_the_family_writes() -> None:
    for name, count in (("solar", 12), ("kimi_k2", 12), ("mistral_list", 3), ("kimi_k3", 12)):
        format = next(format for format in FORMATS if format.name == name)
        assert allows(_rules(format), write(format, [("now", {})] * count, TOOLS)), name


def test_members_are_sorted_if_the_family_sorts_them() -> None:
    format = next(format for format in FORMATS if format.name == "inkling")
    inner = {"type": "object", "properties": {"b": {"type": "integer"}, "a": {"type": "integer"}}}
    rules = _rules(format, [_tool("f", {"p": inner}, "p")])
    value = next(node for node in _nodes(rules.start) if isinstance(node, JsonValue))
    assert list(json.loads(value.schema)["properties"]) == ["a", "b"]
    plain = _rules(_JSON, [_tool("f", {"p": inner}, "p")])
    value = next(node for node in _nodes(plain.start) if isinstance(node, JsonValue))
    assert list(json.loads(value.schema)["properties"]) == ["b", "a"]


def _nodes(node: Node) -> Iterator[Node]:
    yield node
    for inner in inner_nodes(node):
        yield from _nodes(inner)


def test_whitespace_before_the_end_marker_is_only_allowed_after_a_value() -> None:
    """The grammar agrees with the writer. No known format writes such whitespace, but a derived one may."""
    glm = next(format for format in FORMATS if format.name == "glm4").variants["without newlines"]
    assert isinstance(glm, Tagged)
    engine = replace(glm, between="\n")
    tool = ConstrainedTool("f", {"type": "object", "properties": {"a": {"type": "string"}}}, "t")
    rules = Rules(constrained_calls(engine, Constraint("glm4", (tool,), several=False)))
    types = _types({"f": dict(tool.schema)})
    for arguments in ({}, {"a": "x"}):
        assert allows(rules, engine.write([("f", arguments)], types))


class _Wrapped:
    """An engine of another package."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine

    def __getattr__(self, name: str) -> Any:
        return getattr(self.engine, name)


class _WithoutLayout(_Wrapped):
    layout = None


def test_an_engine_of_another_package_has_a_grammar_if_it_has_a_layout() -> None:
    own: Any = _Wrapped(_JSON.engine)
    assert _rules(replace(_JSON, engine=own)) == _rules(_JSON)
    own = _WithoutLayout(_JSON.engine)
    with pytest.raises(CannotConstrain) as raised:
        answer_grammar(replace(_JSON, name="own", engine=own), TOOLS)
    assert str(raised.value) == "the format own has no grammar: its engine _WithoutLayout has no layout"


def test_a_string_does_not_begin_like_a_value_of_a_limited_type() -> None:
    format = next(format for format in FORMATS if format.name == "glm4")

    def allowed(schema: dict[str, Any], text: str) -> bool:
        rules = _rules(format, [_tool("f", {"p": schema}, "p")])
        return allows(rules, f"<tool_call>f\n<arg_key>p</arg_key>\n<arg_value>{text}</arg_value>\n</tool_call>")

    for_tags = next(format for format in FORMATS if format.name == "minimax_m3")
    limited = [_tool("f", {"p": {"type": ["string", "integer"], "minimum": 20}}, "p")]
    for value, valid in (("x", True), ("12", False), ("21", False), (21, True)):
        text = for_tags.writer.write([("f", {"p": value})], lambda name, *path: frozenset({"string"}))
        assert allows(_rules(for_tags, limited), text) is (
            valid or value == "21"
        )  # the same text as that of the number 21

    either_of = {"type": ["string", "integer"]}
    assert allowed(either_of | {"minLength": 2}, "12 x")
    assert not allowed(either_of | {"minimum": 20}, "12 x")
    assert allowed(either_of | {"minimum": 20}, "x 12")
    assert allowed(either_of | {"minimum": 20}, "21")
    assert allowed(either_of | {"minimum": 20}, "")


def test_an_unknown_type_allows_any_value() -> None:
    for name in ("json", "lfm2", "glm4"):
        format = next(format for format in FORMATS if format.name == name)
        tools = [_tool("f", {"p": {"type": "any"}}, "p")]
        for value in ("x", 3, [1]):
            assert allows(_rules(format, tools), write(format, [("f", {"p": value})], tools))


def test_unevaluated_members_are_additional_ones() -> None:
    tools = [_tool("f", {"p": {"properties": {"a": {"type": "integer"}}, "unevaluatedProperties": False}}, "p")]
    assert allows(_rules(_JSON, tools), write(_JSON, [("f", {"p": {"a": 3}})], tools))
    assert not allows(_rules(_JSON, tools), write(_JSON, [("f", {"p": {"b": 3}})], tools))
    nothing = [_tool("f", {"p": {"type": "object", "unevaluatedProperties": False}}, "p")]
    assert not allows(_rules(_JSON, nothing), write(_JSON, [("f", {"p": {"b": 3}})], nothing))


@pytest.mark.parametrize(
    ("name", "tool", "key", "what"),
    [
        ("lfm2", "f", "filter[name]", "its key"),
        ("pythonic", "f", "a b", "its key"),
        ("gemma4", "f", "a:b", "its key"),
        ("json", "f(x)", "p", None),
        ("glm4", "a<b", "p", "its name"),
        ("lfm2", "a b", "p", "its name"),
        ("glm4", "f", "a<b", "its key"),
        ("glm4", "f", " x", "its key"),  # the parser strips the space
        ("sarashina", "'x'", "p", "its name"),  # the parser reports a tolerance
    ],
)
def test_names_that_a_format_cannot_write_are_rejected(name: str, tool: str, key: str, what: str | None) -> None:
    format = next(format for format in FORMATS if format.name == name)
    tools = [_tool(tool, {key: {"type": "integer"}})]
    if what is None:
        assert allows(_rules(format, tools), write(format, [(tool, {key: 3})], tools))
        return
    with pytest.raises(CannotConstrain, match=f"{what} would not survive a round trip"):
        _rules(format, tools)


def test_keys_of_subschemas_are_checked_too() -> None:
    format = next(format for format in FORMATS if format.name == "lfm2")
    tool = {"name": "f", "parameters": {"allOf": [{"type": "object", "properties": {"a b": {"type": "integer"}}}]}}
    with pytest.raises(CannotConstrain, match="its key would not survive a round trip"):
        _rules(format, [tool])


def test_names_that_a_format_can_write_are_allowed() -> None:
    for format in ALL:
        tools = [_tool("get-time.now", {"user_id": {"type": "integer"}, "größe": {"type": "integer"}})]
        for key in ("user_id", "größe"):
            assert allows(_rules(format, tools), write(format, [("get-time.now", {key: 3})], tools)), format.name


def test_half_a_character_is_rejected() -> None:
    with pytest.raises(CannotConstrain, match="not valid JSON"):
        _rules(_JSON, [_tool("f", {"p": {"const": "\ud800"}})])


def test_references_to_the_same_part_are_followed_once() -> None:
    """Twenty-two levels, each of which refers to the next one twice, would take four million steps."""
    levels = {f"a{at}": {"allOf": [{"$ref": f"#/$defs/a{at + 1}"}] * 2} for at in range(22)}
    tools = [_tool("f", {"p": {"$ref": "#/$defs/a0"}}, "p", **{"$defs": levels | {"a22": {"type": "integer"}}})]
    assert allows(_rules(_JSON, tools), write(_JSON, [("f", {"p": 3})], tools))
    chain = {
        f"{side}{at}": {
            "type": "object",
            "properties": {key: {"$ref": f"#/$defs/{side}{at + 1}"} for key in "xy"},
            "required": ["x", "y"],
        }
        for side in "ab"
        for at in range(20)
    }
    ends = {"a20": {"type": "integer"}, "b20": {"type": "boolean"}}
    union = {"oneOf": [{"$ref": "#/$defs/a0"}, {"$ref": "#/$defs/b0"}]}
    with pytest.raises(CannotConstrain, match="'oneOf' overlap"):
        _rules(_JSON, [_tool("f", {"p": union}, **{"$defs": chain | ends})])
    own = {"type": "object", "properties": {"k": {"$ref": "#/$defs/c"}}, "required": ["k"]}
    with pytest.raises(CannotConstrain, match="'oneOf' overlap"):
        _rules(_JSON, [_tool("f", {"p": {"oneOf": [{"$ref": "#/$defs/c"}] * 2}}, **{"$defs": {"c": own}})])


@pytest.mark.parametrize("name", ["json", "lfm2", "glm4", "minimax_m3"])
def test_a_schema_that_is_nested_too_deeply_is_rejected(name: str) -> None:
    deep: dict[str, Any] = {"type": "integer"}
    for _ in range(1000):
        deep = {"type": "array", "items": deep}
    format = next(format for format in FORMATS if format.name == name)
    with pytest.raises(CannotConstrain, match="nested too deeply"):
        _rules(format, [_tool("f", {"p": deep}, "p")])


def test_an_unknown_tool_choice_is_rejected() -> None:
    with pytest.raises(
        CannotConstrain, match="no tool named 'nope' is declared; declared tools: get_weather, now, book"
    ):
        _rules(_JSON, choice="nope")
    with pytest.raises(CannotConstrain, match="without tools"):
        _rules(_JSON, [])


def test_limits_of_the_grammar_are_named() -> None:
    def narrower(**more: Any) -> tuple[str, ...]:
        return _rules(_JSON, [_tool("f", {"p": {}}, **more)]).narrower

    assert narrower() == ()
    assert narrower(additionalProperties=False) == ()
    assert narrower(additionalProperties={"type": "integer"}) == ("declared-keys",)
    assert _rules(_JSON, [{"name": "f"}]).narrower == ()
    tagged = next(format for format in FORMATS if format.name == "glm4")
    assert _rules(tagged, [{"name": "f"}]).narrower == ("declared-keys",)
    side_by_side = next(format for format in ALL if format.variant == "without a sign between")
    assert "one-call" in _rules(side_by_side).narrower


def test_nodes_are_values() -> None:
    one, other = _rules(_JSON), _rules(_JSON)
    assert one == other
    assert hash(one.start) == hash(other.start)
    assert isinstance(one.start, Node)


def _strictly_read(format: ToolCallFormat, text: str, tools: Any = TOOLS) -> bool:
    parser = Parser(format, tools=tools, strict=True)
    events = [*parser.feed(text), *parser.finish()]
    ended = sum(isinstance(event, ToolCallEnd) for event in events)
    began = sum(isinstance(event, ToolCallStart) for event in events)
    other = any(isinstance(event, (Content, Reasoning, ToolCallRejected)) for event in events)
    return began == ended > 0 and not other


@pytest.mark.sample(3)
@pytest.mark.parametrize("format", ALL, ids=NAMES)
def test_a_damaged_call_that_is_allowed_is_parsed_strictly(format: ToolCallFormat) -> None:
    """With one character removed or inserted anywhere: the strict parser accepts what the grammar allows."""
    rules = _rules(replace(format))
    text = write(format, [("book", {"who": {"name": "Ann"}, "price": 1.5, "note": "so"})], TOOLS)
    for at in range(len(text)):
        for damaged in (text[:at] + text[at + 1 :], text[:at] + "<" + text[at:], text[:at] + "\n" + text[at:]):
            if allows(rules, damaged) and (format.name, format.variant) not in UNFRAMED:
                assert _strictly_read(format, damaged), damaged
