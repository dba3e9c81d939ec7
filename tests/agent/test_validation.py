"""Arguments validated by a tool's schema: own messages, no fetching, never raises on a model's arguments."""

from __future__ import annotations

import socket
import subprocess
import sys
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolfmt.agent.validation import invalid_arguments, invalid_schema

WEATHER: dict[str, Any] = {
    "type": "object",
    "properties": {"city": {"type": "string"}, "days": {"type": "integer", "minimum": 1}},
    "required": ["city"],
    "additionalProperties": False,
}
UNUSABLE = "the tool's own schema cannot be used: "


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"city": "Oslo"}, ""),
        ({"city": "Oslo", "days": 3}, ""),
        ({}, "'city' is a required property"),
        ({"city": 5}, "5 is not of type 'string' (at $.city)"),
        ({"city": "Oslo", "days": 0}, "0 is less than the minimum of 1 (at $.days)"),
        ({"city": "Oslo", "days": "3"}, "'3' is not of type 'integer' (at $.days)"),
        (
            {"days": 0, "town": "Oslo"},
            "'city' is a required property; Additional properties are not allowed ('town' was unexpected); "
            "0 is less than the minimum of 1 (at $.days)",
        ),
        ({"city": "Oslo", "when": 1}, "Additional properties are not allowed ('when' was unexpected)"),
        ({"city": "line\nline", "days": "a\nb"}, "'a\\nb' is not of type 'integer' (at $.days)"),
        ([], "[] is not of type 'object'"),
        (None, "None is not of type 'object'"),
        ("city", "'city' is not of type 'object'"),
        ({"city": float("nan")}, "they hold what JSON does not: NaN"),
        ({"city": 10**5000}, "they hold what JSON does not: an integer of more than 4300 digits"),
    ],
)
def test_the_schemas_own_message_and_the_place(arguments: object, message: str) -> None:
    assert message == invalid_arguments(arguments, WEATHER)


def test_a_tool_without_parameters_takes_an_object_all_the_same() -> None:
    assert (invalid_arguments({}, {}), invalid_arguments([], {})) == ("", "[] is not of type 'object'")


def test_a_place_deep_inside_is_a_path() -> None:
    schema = {"properties": {"a": {"items": {"properties": {"b c": {"type": "string"}}}}}}
    assert invalid_arguments({"a": [{}, {"b c": 1}]}, schema) == "1 is not of type 'string' (at $.a[1]['b c'])"


def test_a_long_value_is_shortened_to_its_ends() -> None:
    message = invalid_arguments({"city": ["x" * 100_000]}, WEATHER)
    assert (
        message.startswith("['xxx")
        and message.endswith("x'] is not of type 'string' (at $.city)")
        and len(message) < 340
    )


@pytest.mark.parametrize(
    ("schema", "message"),
    [
        ({"type": "objekt"}, "'objekt' is not valid under any of the given schemas (at $.type)"),
        ({"properties": [1]}, "[1] is not of type 'object' (at $.properties)"),
        ({"properties": {"n": {"pattern": "("}}}, "'(' is not a 'regex' (at $.properties.n.pattern)"),
        ({"$schema": []}, "[] is not of type 'string' (at $['$schema'])"),
        ({"default": object()}, "it is not JSON ('object' object is not iterable)"),
        ({"default": float("nan")}, "it is not JSON (Out of range float values are not JSON compliant)"),
        ([1], "a schema of parameters is an object"),
        (None, "a schema of parameters is an object"),
    ],
)
def test_an_invalid_schema_is_reported(schema: Any, message: str) -> None:
    assert (message, UNUSABLE + message) == (invalid_schema(schema), invalid_arguments({}, schema))


def nested(levels: int, key: str = "a") -> dict[str, Any]:
    made: dict[str, Any] = {}
    for _ in range(levels):
        made = {key: made}
    return made


@pytest.mark.parametrize("levels", [400, 3000])
def test_a_schema_nested_too_deeply_is_reported(levels: int) -> None:
    assert "nested too deeply" in invalid_schema(nested(levels, "not"))


def test_arguments_nested_too_deeply_are_reported() -> None:
    assert (
        invalid_arguments(nested(3000), {}) == "they hold what JSON does not: nested too deeply (more than 256 levels)"
    )
    assert invalid_arguments(nested(200), {"properties": {"a": {"$ref": "#"}}}) == ""
    endless: dict[str, Any] = {"anyOf": [{"$ref": "#"}]}
    assert invalid_arguments({}, endless) == "they are nested too deeply for their schema"


def alternatives(levels: int, leaf: object, padding: str = "") -> tuple[dict[str, Any], dict[str, Any]]:
    """Arguments, and a schema of nested conditions as pydantic makes it for mutually recursive models."""

    def condition(name: str, **more: Any) -> dict[str, Any]:
        return {"properties": {"op": {"const": name}, **more}, "required": ["op", *more]}

    args = {"items": {"$ref": "#/$defs/it"}}
    choice = {
        "anyOf": [condition("and", args=args), condition("or", args=args), condition("is", v={"type": "integer"})]
    }
    value: dict[str, Any] = {"op": "is", "v": leaf, "words": padding}
    for _ in range(levels):
        value = {"op": "or", "args": [value]}
    return {"it": value}, {"$defs": {"it": choice}, "properties": {"it": {"$ref": "#/$defs/it"}}}


TOO_LONG = "they are too large, or nested too deeply, to be judged by their schema in reasonable time"


@pytest.mark.sample(1)
@pytest.mark.parametrize(
    ("levels", "leaf", "padding", "message"),
    [(6, 1, "", ""), (30, 1, "", TOO_LONG), (30, "x", "", TOO_LONG), (8, "x", "x" * 300_000, TOO_LONG)],
)
def test_what_would_be_judged_for_hours_is_not(levels: int, leaf: object, padding: str, message: str) -> None:
    assert message == invalid_arguments(*alternatives(levels, leaf, padding))


@pytest.mark.sample(0)
def test_what_one_value_took_is_not_taken_from_the_next() -> None:
    for _ in range(3):
        assert invalid_arguments(*alternatives(8, 1)) == ""
        assert invalid_arguments(*alternatives(30, 1)) == TOO_LONG


def test_large_arguments_are_judged() -> None:
    item = {"properties": {"n": {"type": "integer", "minimum": 0}, "s": {"type": "string"}}, "required": ["n"]}
    arguments = {"list": [{"n": n, "s": "x" * 20} for n in range(10_000)]}
    assert invalid_arguments(arguments, {"properties": {"list": {"items": {**item, "type": "object"}}}}) == ""


@pytest.mark.parametrize(
    ("items", "unique"),
    [
        ([{"k": n} for n in range(20_000)], True),
        ([n if n % 2 else str(n) for n in range(20_000)], True),
        ([1, True, 0, False, "1", None, [1], [True]], True),
        ([{"k": 1}, {"k": 1.0}], False),
        ([{"a": 1, "b": 2}, 3, {"b": 2, "a": 1}], False),
        ([1e300, 10**300], True),
        ([[True], [True]], False),
    ],
)
def test_items_are_compared_as_json_and_not_each_with_each(items: list[Any], unique: bool) -> None:
    message = invalid_arguments({"a": items}, {"properties": {"a": {"uniqueItems": True}}})
    assert message.endswith("" if unique else "has non-unique elements (at $.a)") and bool(message) is not unique


def test_a_number_that_python_cannot_divide_is_reported() -> None:
    assert invalid_arguments({"n": 10**400}, {"properties": {"n": {"multipleOf": 0.5}}}) == (
        "they cannot be judged by their schema: OverflowError: int too large to convert to float"
    )


@pytest.mark.parametrize("keyword", ["$ref", "$dynamicRef"])
@pytest.mark.parametrize("draft", [None, "http://json-schema.org/draft-07/schema#", "http://nobody.invalid/schema"])
def test_nothing_is_fetched(keyword: str, draft: str | None) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(0)
        there = f"http://127.0.0.1:{server.getsockname()[1]}/schema.json"
        schema = {"properties": {"n": {keyword: there}}} | ({"$schema": draft} if draft else {})
        message = f"{UNUSABLE}it refers to {there}, which it does not hold"
        unknown_to_draft = keyword == "$dynamicRef" and draft is not None and "draft-07" in draft
        assert invalid_arguments({"n": 1}, schema) == ("" if unknown_to_draft else message)
        with pytest.raises(BlockingIOError):
            server.accept()


def test_at_most_three_errors_are_reported() -> None:
    message = invalid_arguments(
        {"list": list(range(100_000)), "n": 1}, {"additionalProperties": {"items": {"type": "null"}}}
    )
    assert message == "; ".join(f"{n} is not of type 'null' (at $.list[{n}])" for n in range(3))


def test_the_closest_alternative_of_a_choice_is_reported() -> None:
    schema = {"properties": {"when": {"anyOf": [{"type": "object", "required": ["day"]}, {"type": "null"}]}}}
    assert invalid_arguments({"when": {}}, schema) == "'day' is a required property (at $.when)"


def test_a_part_of_the_schema_may_be_referred_to() -> None:
    schema = {"properties": {"n": {"$ref": "#/$defs/text"}}, "$defs": {"text": {"type": "string"}}}
    assert invalid_arguments({"n": 1}, schema) == "1 is not of type 'string' (at $.n)"


def test_the_draft_that_a_schema_declares_is_used() -> None:
    tuples = {"properties": {"pair": {"items": [{"type": "string"}]}}}
    assert invalid_arguments({"pair": [1]}, {"$schema": "http://json-schema.org/draft-07/schema#", **tuples}) == (
        "1 is not of type 'string' (at $.pair[0])"
    )
    assert invalid_schema(tuples) != ""


JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inside: st.lists(inside, max_size=4) | st.dictionaries(st.text(max_size=5), inside, max_size=4),
    max_leaves=10,
)
KEYWORDS = st.sampled_from(
    [
        "type",
        "properties",
        "required",
        "items",
        "$ref",
        "$schema",
        "anyOf",
        "pattern",
        "multipleOf",
        "enum",
        "not",
        "$id",
    ]
)


@pytest.mark.sample(0)
@given(JSON_VALUES, st.dictionaries(KEYWORDS, JSON_VALUES, max_size=4))
def test_no_value_and_no_schema_raises(arguments: object, schema: dict[str, Any]) -> None:
    message = invalid_arguments(arguments, schema)
    assert len(message.splitlines()) <= 1 and len(message) < 1300


def test_without_jsonschema_the_extra_is_named() -> None:
    code = (
        "import sys; sys.modules['jsonschema'] = None\n"
        "from toolfmt.errors import ToolfmtError\n"
        "from toolfmt.agent.validation import invalid_arguments\n"
        "try: invalid_arguments({}, {})\n"
        "except ToolfmtError as error: print(error)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=300)
    assert done.stdout == (
        "checking arguments against the schema of their tool requires jsonschema: pip install jsonschema\n"
    )
