"""Tools in prose: the form of a call, an example that looks real, every part of the definitions, and what not to do."""

from __future__ import annotations

import itertools
import json
from typing import Any

import depth
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from toolfmt.errors import BadTools, CannotWrite
from toolfmt.formats import ToolCallFormat, formats, prose
from toolfmt.formats.prompting.samples import sample
from toolfmt.formats.prompting.tool_descriptions import HEADING, RESULT_HEADING, result_heading
from toolfmt.formats.prompting.tool_lines import tool_lines
from toolfmt.formats.writing import read_back, write
from toolfmt.messages.tools import canonical_tools

EVERY = pytest.mark.parametrize("format", formats(), ids=lambda format: format.name)
PLACEHOLDERS = {"text", "string", "str", "example", "value", "foo", "bar", "...", "…", "placeholder", "todo", ""}
MAIL = {
    "type": "object",
    "properties": {
        "to": {"type": "array", "items": {"type": "string", "format": "email"}, "description": "Who gets it."},
        "subject": {"type": "string"},
        "urgent": {"type": "boolean", "default": False},
    },
    "required": ["to", "subject"],
}
WEATHER = {"type": "object", "properties": {"city": {"type": "string"}, "days": {"type": "integer"}}}
TOOLS: list[Any] = [
    {"name": "tell_time", "description": "The time of day."},
    {"name": "get_weather", "description": "The weather of a city.", "parameters": WEATHER | {"required": ["city"]}},
    {"name": "send_mail", "description": 'Sends a mail, "as it is".', "parameters": MAIL},
]


def lines(parameters: Any, **more: Any) -> list[str]:
    (tool,) = canonical_tools([{"name": "f", "parameters": parameters, **more}])
    return tool_lines(tool)


def value(name: str, schema: Any) -> Any:
    return sample({"properties": {name: schema}}, name)


@EVERY
def test_the_form_of_a_call_comes_first_then_when_to_call_then_the_tools(format: ToolCallFormat) -> None:
    text = prose(format, TOOLS)
    places = [text.index(part) for part in (HEADING, format.instructions, "in words.", "Result of", "- tell_time")]
    assert places == sorted(places)
    assert text.count(format.instructions) == 1
    assert text == prose(format, TOOLS)
    for tool in TOOLS:
        assert f"- {tool['name']}: {tool['description']}" in text


@EVERY
def test_a_call_of_each_tool_follows_its_lines(format: ToolCallFormat) -> None:
    calls: list[tuple[str, dict[str, Any]]] = [
        ("tell_time", {}),
        ("get_weather", {"city": "Paris"}),
        ("send_mail", {"to": ["anna@example.com"], "subject": "Lunch on Friday"}),
    ]
    text = prose(format, TOOLS)
    for (name, arguments), tool in zip(calls, canonical_tools(TOOLS), strict=True):
        written = write(format, [(name, arguments)], TOOLS)
        assert "\n".join([*tool_lines(tool), "  For example:", written]) in text
        found = [(read, json.loads(text)) for read, text in read_back(format, written, TOOLS) or ()]
        assert found == [(name, arguments)]


def test_a_tool_whose_call_the_format_cannot_represent_has_no_example() -> None:
    tools = [{"name": "f}", "description": "Odd."}, TOOLS[0]]
    with pytest.raises(CannotWrite):
        write("gemma", [("f}", {})], tools)
    assert prose("gemma", tools).count("For example:") == 1


def test_results_come_under_a_heading_of_their_own_unless_the_template_has_another_form() -> None:
    assert result_heading("get_weather") == "Result of get_weather:"
    assert result_heading("NAME").startswith(RESULT_HEADING)
    instructions = prose("json", TOOLS)
    assert "in the next message as `Result of NAME:`: wait for it, and never write a result yourself." in instructions
    assert instructions.replace(" as `Result of NAME:`", "") == prose("json", TOOLS, results_in_words=False)


def test_tools_keep_the_order_of_the_caller_unless_sorting_is_requested() -> None:
    turned = [tool | {"parameters": dict(reversed(tool.get("parameters", {}).items()))} for tool in reversed(TOOLS)]
    assert prose("json", turned) != prose("json", TOOLS)
    options = {"sort_tools": True, "sort_properties": True}
    assert prose("json", turned, **options) == prose("json", TOOLS, **options)
    with pytest.raises(BadTools):
        prose("json", [{}])


def test_a_definition_is_a_line_and_one_for_each_parameter() -> None:
    parameters = MAIL | {"additionalProperties": False}
    assert lines(parameters, description="Sends a mail.", strict=True) == [
        "- f (strict true): Sends a mail.",
        "  All parameters: additionalProperties false",
        '  - to (array, required, items {"type":"string","format":"email"}): Who gets it.',
        "  - subject (string, required)",
        "  - urgent (boolean, default false)",
    ]


def test_members_of_objects_and_of_objects_in_a_list_are_indented_below() -> None:
    person = {"type": "object", "properties": {"name": {"type": "string"}, "age": {"type": "integer"}}}
    parameters = {
        "properties": {
            "owner": person | {"description": "Who has it.", "required": ["name"]},
            "guests": {"type": "array", "items": person, "minItems": 1},
            "host": {"type": "array", "items": person | {"description": "One."}},
        }
    }
    assert lines(parameters) == [
        "- f",
        "  - owner (object): Who has it.",
        "    - name (string, required)",
        "    - age (integer)",
        "  - guests (array of object, minItems 1)",
        "    - name (string)",
        "    - age (integer)",
        '  - host (array, items {"type":"object","properties":{"name":{"type":"string"},"age":{"type":"integer"}},'
        '"description":"One."})',
    ]


@pytest.mark.parametrize(
    ("schema", "description"),
    [
        ({"type": "string", "enum": ["a b", "c"]}, '"a b" | "c"'),
        ({"enum": [1, 2], "type": "integer"}, "1 | 2"),
        ({"enum": [1, "a"]}, '1 | "a"'),
        ({"enum": [1, 2], "type": "number"}, "number, enum [1,2]"),
        ({"enum": ["a", None], "type": ["string", "null"]}, 'string | null, enum ["a",null]'),
        ({"type": ["string", "null"]}, "string | null"),
        ({"anyOf": [{"type": "integer"}, {"type": "null"}], "default": None}, "integer | null, default null"),
        ({"anyOf": [{"type": "integer"}, {"$ref": "#"}]}, 'anyOf [{"type":"integer"},{"$ref":"#"}]'),
        ({"oneOf": [{"type": "integer"}]}, 'oneOf [{"type":"integer"}]'),
        ({"allOf": [{"type": "integer"}]}, 'allOf [{"type":"integer"}]'),
        ({"$ref": "#/$defs/A", "default": 1}, '$ref "#/$defs/A", default 1'),
        ({"type": "array", "items": {"$ref": "#"}}, 'array, items {"$ref":"#"}'),
        ({"type": "array", "items": {"type": "string"}}, "array of string"),
        ({"type": "array", "items": {"enum": ["a", "b"]}}, 'array of ("a" | "b")'),
        ({"type": "array", "items": {"type": "array", "items": {"type": "number"}}},
         'array, items {"type":"array","items":{"type":"number"}}'),
        ({"type": "object", "additionalProperties": {"type": "number"}},
         'object, additionalProperties {"type":"number"}'),
        ({"const": "é"}, 'const "é"'),
        ({}, "any"),
        (True, "true"),
    ],
)  # fmt: skip
def test_the_type_of_a_parameter_is_described(schema: Any, description: str) -> None:
    assert lines({"properties": {"a": schema}}) == ["- f", f"  - a ({description})"]


def test_a_name_that_is_not_plain_text_is_quoted() -> None:
    assert lines({"properties": {"a b": {}, "c-d.e": {}}}) == ["- f", '  - "a b" (any)', "  - c-d.e (any)"]


def test_a_required_name_without_a_property_is_listed_too() -> None:
    assert lines({"properties": {"a": {}}, "required": ["a", "b"]}) == [
        "- f",
        '  All parameters: required ["b"]',
        "  - a (any, required)",
    ]


def test_a_type_in_another_keyword_is_not_any() -> None:
    either = {"anyOf": [{"type": "string", "description": "A."}, {"type": "integer"}]}
    assert lines({"properties": {"a": either}, "required": ["a"]}) == [
        "- f",
        '  - a (required, anyOf [{"type":"string","description":"A."},{"type":"integer"}])',
    ]


def test_two_definitions_that_differ_never_read_the_same() -> None:
    """Nothing of a definition is lost: every combination of schema features gives a different text."""
    inner = [{}, {"type": "string"}, {"type": "integer"}, {"type": "string", "description": "D."}, {"enum": ["a"]}]
    objects = [
        {"type": "object", "properties": {"p": part, "q": {}}, **more}
        for part in inner
        for more in (
            {},
            {"required": ["p"]},
            {"required": ["q"]},
            {"description": "D."},
            {"additionalProperties": True},
        )
    ]
    parts = [*inner, *objects, *({"type": "array", "items": part} for part in [*inner, *objects]), {"type": "array"}]
    marks: list[dict[str, Any]] = [{}, {"default": None}, {"default": "a"}, {"minimum": 1}, {"minimum": 2}]
    texts = set()
    expected = 0
    for part, mark, required, strict in itertools.product(parts, marks, ([], ["a"]), ({}, {"strict": True})):
        texts.add("\n".join(lines({"properties": {"a": part | mark}, "required": required}, **strict)))
        expected += 1
    assert len(texts) == expected


@pytest.mark.parametrize(
    ("name", "schema", "expected"),
    [
        ("a", {"const": 7, "examples": [8]}, 7),
        ("a", {"type": "string", "examples": ["x1"], "default": "x2", "enum": ["x3"]}, "x1"),
        ("a", {"type": "string", "default": "x2", "enum": ["x2", "x3"]}, "x2"),
        ("a", {"type": "string", "default": None, "enum": [None, "x3"]}, "x3"),
        ("a", {"type": "integer", "examples": ["7", 7.5, 8]}, 8),
        ("a", {"type": "string", "format": "email"}, "anna@example.com"),
        ("a", {"type": "string", "format": "date-time"}, "2025-06-02T09:30:00Z"),
        ("location", {"type": "string", "description": "City and state, e.g. San Francisco, CA"}, "San Francisco, CA"),
        ("location", {"type": "string", "description": "The city (e.g., Oslo, Rome or Bonn)."}, "Oslo"),
        ("code", {"type": "string", "description": "Currency code, e.g. EUR, USD"}, "EUR"),
        ("city", {"type": "string", "description": "The city, for example Oslo."}, "Oslo"),
        ("flower", {"type": "string", "description": "Such as 'forget me not', and others."}, "forget me not"),
        ("a", {"type": "string", "description": "Day as YYYY-MM-DD."}, "2025-06-02"),
        ("a", {"type": "string", "description": "Day, DD/MM/YYYY"}, "02/06/2025"),
        ("start_time", {"type": "string", "description": "In ISO 8601"}, "2025-06-02T09:30:00Z"),
        ("stock", {"type": "string", "description": "Its symbol (e.g. MSFT for Microsoft)"}, "MSFT"),
        ("a", {"type": "integer", "description": "Port, e.g. 8443."}, 8443),
        ("query", {"type": "string", "description": "The query, in SQL"}, "SELECT name FROM customers"),
        ("city", {"type": "string"}, "Paris"),
        ("cityName", {"type": "string"}, "Paris"),
        ("country_code", {"type": "string"}, "FR"),
        ("imageUrl", {"type": "string"}, "https://example.com/page"),
        ("output_file_path", {"type": "string"}, "notes/monday.txt"),
        ("cities", {"type": "array", "items": {"type": "string"}}, ["Paris"]),
        ("recipients", {"type": "array", "items": {"type": "string"}, "minItems": 2}, ["anna@example.com"] * 2),
        ("days", {"type": "array", "items": {"enum": ["Mon", "Tue", "Wed"]}, "minItems": 2}, ["Mon", "Tue"]),
        ("langs", {"type": "array", "items": {"type": "string"}, "description": "Codes, e.g. de, fr"}, ["de"]),
        ("a", {"type": "array", "items": {"type": "string"}, "maxItems": 0}, []),
        ("latitude", {"type": "number"}, 48.86),
        ("a", {"type": "integer", "minimum": 10}, 10),
        ("a", {"type": "integer", "exclusiveMinimum": 10}, 11),
        ("a", {"type": "integer", "maximum": 2}, 2),
        ("a", {"type": "number", "exclusiveMaximum": 1, "minimum": 0}, 0.5),
        ("a", {"type": "integer", "multipleOf": 5}, 5),
        ("a", {"type": "integer", "multipleOf": 0, "minimum": "x"}, 3),
        ("a", {"type": "boolean"}, True),
        ("a", {"type": ["null", "integer"]}, 3),
        ("a", {"type": "null"}, None),
        ("city", {"anyOf": [{"type": "null"}, {"type": "string"}]}, "Paris"),
        ("city", {"type": "string", "maxLength": 3}, "Par"),
        ("a", {}, "blue"),
        ("a", True, "blue"),
    ],
)  # fmt: skip
def test_an_example_has_the_value_that_a_person_would_write(name: str, schema: Any, expected: Any) -> None:
    assert json.dumps(value(name, schema)) == json.dumps(expected)


def test_a_long_text_is_as_long_as_it_has_to_be() -> None:
    written = value("comment", {"type": "string", "minLength": 100})
    assert len(written) == 100
    assert written == written.strip()


def test_nested_objects_are_filled_in_and_references_followed() -> None:
    root = {
        "properties": {"guests": {"type": "array", "items": {"$ref": "#/$defs/Guest"}}},
        "$defs": {
            "Guest": {
                "type": "object",
                "properties": {
                    "nick": {"type": "string"},
                    "email": {"type": "string"},
                    "home": {"$ref": "#/$defs/Home"},
                },
                "required": ["email", "home"],
            },
            "Home": {"type": "object", "properties": {"city": {"type": "string"}, "zip": {"type": "string"}}},
        },
    }
    assert sample(root, "guests") == [{"email": "anna@example.com", "home": {"city": "Paris"}}]


def test_a_schema_that_holds_itself_ends() -> None:
    tree = {
        "type": "object",
        "properties": {key: {"$ref": "#/$defs/t"} for key in "abcdefgh"},
        "required": [*"abcdefgh"],
    }
    root = {"properties": {"tree": {"$ref": "#/$defs/t"}, "same": {"$ref": "#/properties/same"}}, "$defs": {"t": tree}}
    assert len(json.dumps(sample(root, "tree"))) < 30_000
    assert sample(root, "same") == "blue"


PARTS = st.sampled_from(["string", "integer", "number", "boolean", "array", "object", "null"])
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner, max_size=3),
    max_leaves=6,
)
KEYWORDS = st.sampled_from(
    ["type", "enum", "const", "default", "examples", "format", "description", "minimum", "maximum", "exclusiveMinimum",
     "multipleOf", "minLength", "maxLength", "minItems", "items", "anyOf", "allOf", "$ref", "required", "properties"]
)  # fmt: skip
SCHEMAS = st.recursive(
    st.dictionaries(KEYWORDS.filter(lambda key: key != "properties"), PARTS | JSON, max_size=4),
    lambda inner: st.builds(
        lambda own, names, items: own | {"properties": names, "items": items},
        st.dictionaries(KEYWORDS, PARTS | JSON, max_size=3),
        st.dictionaries(st.text(min_size=1, max_size=6), inner, max_size=3),
        inner,
    ),
    max_leaves=5,
)


@settings(max_examples=depth.examples(200), deadline=None)
@given(SCHEMAS, st.text(max_size=20))
def test_whatever_a_schema_holds_there_is_prose(schema: dict[str, Any], description: str) -> None:
    tools = [{"name": "f", "description": description, "parameters": {"properties": {"city": schema}}}]
    text = prose("json", tools)
    assert text == prose("json", tools)
    assert description in text
    assert "- city (" in text


@settings(max_examples=depth.examples(200), deadline=None)
@given(st.sampled_from(["string", "integer", "number", "boolean"]), st.text(max_size=12), st.integers(-9, 99))
def test_no_example_is_a_placeholder_and_each_is_of_its_type(kind: str, name: str, least: int) -> None:
    made = value(name, {"type": kind, "minimum": least})
    assert str(made).lower() not in PLACEHOLDERS
    expected: dict[str, Any] = {"string": str, "integer": int, "number": (int, float), "boolean": bool}
    assert isinstance(made, expected[kind])
    if kind in ("integer", "number"):
        assert made >= least
