"""A grammar is never wider than the schemas: with random schemas, the strict parser accepts what the grammar allows.

The arguments are valid.
"""

from __future__ import annotations

import json
import random
from typing import Any

import depth
import jsonschema
import pytest
from node_matching import allows

from toolfmt.errors import CannotConstrain
from toolfmt.formats import FORMATS, Parser, ToolCallFormat
from toolfmt.formats.grammar.answer_grammar import answer_grammar
from toolfmt.formats.values.schema_types import parameter_types
from toolfmt.messages.events import Content, Reasoning, ToolCallArguments, ToolCallRejected

DEFINITIONS = {
    "a": {"type": "integer", "minimum": 2},
    "b": {"type": "object", "properties": {"x": {"type": "string"}, "k": {"$ref": "#/$defs/b"}}},
    "c": {"anyOf": [{"type": "string"}, {"type": "array", "items": {"$ref": "#/$defs/c"}}]},
}
TYPES = ["string", "integer", "number", "boolean", "null", "array", "object"]
LIMITS: list[tuple[str, list[Any]]] = [
    ("minLength", [0, 2, 3]),
    ("maxLength", [1, 4]),
    ("pattern", ["^[a-c]+$", "^x|y$", "^[0-9]{2}$"]),
    ("minimum", [-3, 1, 2.5]),
    ("maximum", [2, 3.5, 7]),
    ("exclusiveMinimum", [0]),
    ("multipleOf", [2]),
    ("minItems", [1, 2]),
    ("maxItems", [0, 1, 3]),
    ("uniqueItems", [True]),
]
VALUES: list[Any] = [
    0, 1, 2, 3, -1, 7, 8, 2.5, 0.5, 3.5, "", "x", "y", "a", "abc", "3", "12", "null", "true", "[1]", "{}", "a b", " 3",
    "-1", "1e5", "[", "tr", '"x"', True, False, None, [], [1], [1, 1], [2, 3], ["x"], [["x"]], {}, {"x": 1}, {"x": "x"},
    {"x": "x", "k": {}}, {"k": {"k": {"x": "s"}}}, {"a": 1}, {"x": 2, "y": 2}, {"q": 1}, {"kind": 1}, {"item": 2},
]  # fmt: skip
_NAMES = ["json", "lfm2", "glm4", "minimax_m3", "kimi_k3", "gemma4", "minicpm5", "inkling", "qwen3_5"]


def _schema(draw: random.Random, depth: int = 0) -> dict[str, Any]:
    """Return a random schema, often an unusual one."""
    kind = draw.random()
    if depth < 2 and kind < 0.26:
        union = draw.choice(["anyOf", "anyOf", "oneOf", "allOf", "allOf"])
        return {union: [_schema(draw, depth + 1) for _ in range(draw.randint(1, 3))]}
    if kind < 0.34:
        return {"$ref": f"#/$defs/{draw.choice('abc')}"}
    if kind < 0.44:
        return {"enum": draw.sample([1, 2.5, "x", "3", "null", True, None, [1], {"a": 1}, "a b"], draw.randint(1, 4))}
    if kind < 0.48:
        return draw.choice([{"const": draw.choice([1, "x", None, True, [1]])}, {}])
    several = draw.random() < 0.2
    made: dict[str, Any] = {"type": draw.sample(TYPES, 2) if several else draw.choice(TYPES)}
    made |= {name: draw.choice(values) for name, values in LIMITS if draw.random() < 0.1}
    if "array" in made["type"] and depth < 3 and draw.random() < 0.8:
        made["items"] = _schema(draw, depth + 1)
    if "object" in made["type"] and depth < 3 and draw.random() < 0.8:
        keys = draw.sample(["x", "y", "kind", "item"], draw.randint(0, 3))
        made["properties"] = {key: _schema(draw, depth + 1) for key in keys}
        if draw.random() < 0.5:
            made["required"] = draw.sample(["x", "y", "q"], draw.randint(0, 2))
        if draw.random() < 0.4:
            made["additionalProperties"] = draw.choice([True, False, {"type": "integer"}])
    return made


def _strictly(format: ToolCallFormat, text: str, tools: list[dict[str, Any]]) -> Any:
    parser = Parser(format, tools=tools, strict=True)
    events = [*parser.feed(text), *parser.finish()]
    assert not [event for event in events if isinstance(event, (Content, Reasoning, ToolCallRejected))], text
    return json.loads("".join(event.delta for event in events if isinstance(event, ToolCallArguments)))


@pytest.mark.sample(5)
@pytest.mark.parametrize("seed", depth.spread(range(200), 10))
@pytest.mark.parametrize("name", _NAMES)
def test_allowed_values_are_valid(name: str, seed: int) -> None:
    draw = random.Random(seed * len(_NAMES) + _NAMES.index(name))
    format = next(format for format in FORMATS if format.name == name)
    for _ in range(8):
        schema = _schema(draw)
        parameters = {"type": "object", "properties": {"p": schema}, "required": ["p"], "$defs": DEFINITIONS}
        tools = [{"name": "f", "parameters": parameters}]
        try:
            rules = answer_grammar(format, tools, choice="required").rules
        except CannotConstrain as error:
            assert "'f'" in str(error)
            continue
        for value in VALUES:
            text = format.writer.write([("f", {"p": value})], lambda tool, *path: parameter_types(parameters, *path))  # noqa: B023 - it is called immediately
            if allows(rules, text):
                read = _strictly(format, text, tools)
                assert jsonschema.Draft202012Validator(parameters).is_valid(read), (schema, value, text)


def test_most_valid_values_are_allowed() -> None:
    """No plain schema is rejected. Otherwise the tests above could pass because everything is rejected."""
    for name in _NAMES:
        format = next(format for format in FORMATS if format.name == name)
        for kind in TYPES[:5]:
            schema = {"type": kind}
            parameters = {"type": "object", "properties": {"p": schema}, "required": ["p"]}
            rules = answer_grammar(format, [{"name": "f", "parameters": parameters}], choice="required").rules
            for value in VALUES:
                if jsonschema.Draft202012Validator(schema).is_valid(value) and not isinstance(value, float):
                    text = format.writer.write([("f", {"p": value})], lambda tool, *path: frozenset({kind}))  # noqa: B023 - as above
                    assert allows(rules, text) or "\\" in text, (name, schema, value)


_PARSED_AS_STRINGS: list[tuple[dict[str, Any], list[Any], list[Any]]] = [
    ({"allOf": [{"type": ["string", "integer"]}, {"enum": [1, 2.5, None, "null", "a"]}]}, ["a"], [1]),
    ({"allOf": [{"type": ["string", "integer"], "maxLength": 1}, {"type": ["string", "number"]}]}, ["a", 1], [12]),
    ({"type": ["string", "integer"], "enum": [1, "a"]}, [1, "a"], [2]),
]
"""Schemas with values that the grammar accepts and values that it does not.

Their parts make a parser treat texts as strings: between tags, an integer is not a `number`. As strings, the values
that are not accepted are invalid.
"""


@pytest.mark.parametrize("name", ["glm4", "qwen3_5", "minimax_m3"])
@pytest.mark.parametrize(("schema", "allowed", "others"), _PARSED_AS_STRINGS)
def test_a_value_that_is_parsed_as_a_string_is_only_allowed_as_one(
    name: str, schema: dict[str, Any], allowed: list[Any], others: list[Any]
) -> None:
    format = next(format for format in FORMATS if format.name == name)
    parameters = {"type": "object", "properties": {"p": schema}, "required": ["p"]}
    tools = [{"name": "f", "parameters": parameters}]
    rules = answer_grammar(format, tools, choice="required").rules
    for value in (*allowed, *others):
        text = format.writer.write([("f", {"p": value})], lambda tool, *path: parameter_types(parameters, *path))
        assert allows(rules, text) == (value in allowed), value
        if value in allowed:
            assert jsonschema.Draft202012Validator(parameters).is_valid(_strictly(format, text, tools)), value


def test_a_list_of_values_that_are_all_parsed_as_strings_is_rejected() -> None:
    schema = {"allOf": [{"type": ["string", "integer"]}, {"enum": [1, "a"]}, {"enum": [1, "b"]}]}
    parameters = {"type": "object", "properties": {"p": schema}}
    glm4 = next(format for format in FORMATS if format.name == "glm4")
    with pytest.raises(CannotConstrain, match="'p' of 'f': its values would be parsed as another type"):
        answer_grammar(glm4, [{"name": "f", "parameters": parameters}], choice="required")
