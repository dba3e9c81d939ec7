"""How llguidance constrains JSON values, keyword by keyword: jsonschema judges the values that its masks allow."""

from __future__ import annotations

import json
import random
from typing import Any

import pytest
from grammar_walks import Walker, byte_tokenizer, masks_of
from jsonschema import Draft202012Validator

from toolfmt.errors import CannotConstrain
from toolfmt.formats.values.nodes import JsonValue, Rules
from toolfmt.grammars.llguidance import llguidance
from toolfmt.grammars.llguidance_schemas import held_schema

pytest.importorskip("llguidance")
TREE = {"type": "object", "properties": {"k": {"type": "array", "items": {"$ref": "#/$defs/N"}}}}
CLOSED = {"additionalProperties": False}
# A schema, values that it allows and values that it does not.
HELD: list[tuple[Any, list[Any], list[Any]]] = [
    ({}, [1, "x", None, [True], {"a": 1.5}], []),
    ({"type": "integer"}, [0, -7, 10**20], [1.5, "1", True]),
    ({"type": "number"}, [0, -1.5, 1e-07, 2.5e20], ["1", None]),
    ({"type": ["integer", "null"]}, [3, None], [1.5, ""]),
    ({"type": "integer", "minimum": -3, "maximum": 12}, [-3, 0, 12], [-4, 13]),
    ({"type": "integer", "exclusiveMinimum": 3}, [4, 1000], [3]),
    ({"type": "number", "minimum": 0.5, "exclusiveMaximum": 2.25}, [0.5, 1.75], [2.25, 0.4]),
    ({"type": "integer", "multipleOf": 7}, [0, 14, -7], [8]),
    ({"type": "number", "multipleOf": 0.5}, [1.5, 2], [1.25]),
    ({"enum": [1, "a", None, [1, {"x": 2}], 1.5, True, "é\n", "\x7f"]}, [1, [1, {"x": 2}], "é\n"], [2, "b", False]),
    ({"const": {"a": [1, 2]}}, [{"a": [1, 2]}], [{"a": [1]}]),
    ({"type": "integer", "anyOf": [{"const": 1}, {"const": "x"}]}, [1], ["x"]),
    ({"type": "string", "minLength": 2, "maxLength": 3}, ["ab", "東京🙂"], ["a", "abcd"]),
    ({"type": "string", "pattern": "^[a-c]+$"}, ["abc"], ["abd", ""]),
    ({"type": "string", "pattern": "^a|b$"}, ["ax", "xb"], ["xa"]),
    ({"type": "string", "pattern": "x.y"}, ["0x1y2"], ["xy"]),
    ({"type": "string", "pattern": r"^\d{2}-\w\.[\]^-]$", "maxLength": 9}, ["12-a.]", "12-a.-"], ["12-a.a"]),
    ({"type": "string", "pattern": "^[ab]+$", "minLength": 3}, ["aba"], ["ab"]),
    ({"type": "string", "format": "date"}, ["2026-11-23"], ["2026-13-01"]),
    ({"type": "array", "items": {"type": "integer"}, "minItems": 2, "maxItems": 3}, [[1, 2]], [[1], [1, 2, 3, 4]]),
    ({"type": "array", "prefixItems": [{"type": "integer"}, {"type": "null"}], "items": False}, [[1, None]], [[None]]),
    ({"type": "array", "prefixItems": [{"type": "integer"}], "items": {"type": "boolean"}}, [[1, True]], [[1, 2]]),
    ({"type": "object"}, [{}, {"a": [1]}], [[]]),
    ({"type": "object", "additionalProperties": {"type": "integer"}}, [{"a": 1}], [{"a": "1"}]),
    (
        {"type": "object", "properties": {"a": {"type": "integer"}, "b": {}}, "required": ["b"]} | CLOSED,
        [{"b": 1}, {"a": 1, "b": None}],
        [{"a": 1}, {"b": 1, "c": 2}],
    ),
    ({"type": "object", "properties": {"a": {"type": "integer"}}}, [{"a": 1, "c": "x"}], [{"a": "1"}]),
    ({"type": "object", "required": ["z"]}, [{"z": 1}], [{}]),
    ({"type": "object", "properties": {"a": False, "b": True}}, [{"b": 1}], [{"a": 1}]),
    ({"properties": {"a": {"type": "null"}}, "minLength": 1}, [1, "x", {"a": None}], ["", {"a": 1}]),
    (
        {"allOf": [{"properties": {"a": {"type": "integer"}}}, {"type": "object", "required": ["a"]}]},
        [{"a": 1}],
        [{}, {"a": "x"}],
    ),
    ({"anyOf": [{"type": "integer"}, {"type": "array", "items": {"type": "null"}}]}, [1, [None]], [[1], "x"]),
    ({"$ref": "#/$defs/N", "$defs": {"N": TREE | CLOSED}}, [{"k": [{}, {"k": []}]}], [{"k": [{"x": 1}]}]),
    ({"title": "T", "default": 3, "x-order": 1, "format": "int64", "type": "integer"}, [1], ["1"]),
]
# What it does not implement, ignores silently, or reads differently; and where.
NOT_HELD: list[tuple[Any, str, str]] = [
    ({"oneOf": [{"type": "integer"}]}, "'oneOf'", "$"),
    ({"not": {"type": "integer"}}, "'not'", "$"),
    ({"type": "object", "properties": {"a": {"if": True, "then": False}}}, "'if'", "$.properties.a"),
    ({"type": "array", "items": {"uniqueItems": True}}, "'uniqueItems'", "$.items"),
    ({"anyOf": [{}, {"contains": {}}]}, "'contains'", "$.anyOf[1]"),
    ({"patternProperties": {"a": {}}}, "'patternProperties'", "$"),
    ({"propertyNames": {"maxLength": 3}}, "'propertyNames'", "$"),
    ({"minProperties": 2}, "'minProperties'", "$"),
    ({"dependentRequired": {"a": ["b"]}}, "'dependentRequired'", "$"),
    ({"unevaluatedProperties": False}, "'unevaluatedProperties'", "$"),
    ({"$dynamicRef": "#a"}, "'$dynamicRef'", "$"),
    ({"$ref": "https://example.org/other"}, "'$ref'", "$"),
    ({"$defs": {"a/b": {}}, "$ref": "#/$defs/a~1b"}, "'$ref'", "$"),
    ({"type": "str"}, "'type'", "$"),
    ({"const": 2**53 + 1}, "'const'", "$"),
    ({"enum": [[{"a": -(2**60)}]]}, "'enum'", "$"),
    ({"minimum": 2**60}, "'minimum'", "$"),
    ({"maximum": True}, "'maximum'", "$"),
    ({"maxLength": -1}, "'maxLength'", "$"),
    ({"required": True}, "'required'", "$"),
    ({"properties": []}, "'properties'", "$"),
    ({"items": [{}]}, "'schema'", "$.items"),
    (False, "'false'", "$"),
    *(
        ({"pattern": pattern}, "'pattern'", "$")
        for pattern in (
            "^(?=a)a+$",
            "(?!a)",
            r"(a)\1",
            r"\bword",
            r"\<a",
            "(?i)a",
            "[[:alpha:]]",
            "[a&&b]",
            r"\pL",
            "[]a]",
        )
    ),
]


@pytest.mark.parametrize("exact", [True, False], ids=["spelt", "blanks"])
@pytest.mark.parametrize(("schema", "valid", "broken"), HELD, ids=[json.dumps(schema)[:60] for schema, *_ in HELD])
def test_what_the_masks_allow_is_valid(schema: Any, valid: list[Any], broken: list[Any], exact: bool) -> None:
    tokenizer = byte_tokenizer()
    validator = Draft202012Validator(schema)
    assert all(map(validator.is_valid, valid))
    masks = masks_of(llguidance(Rules(JsonValue(json.dumps(schema), exact)), {}), tokenizer)
    assert [value for value in valid if not masks.accepts(json.dumps(value, ensure_ascii=False))] == []
    assert [value for value in broken if masks.accepts(json.dumps(value, ensure_ascii=False))] == []
    assert masks.accepts(json.dumps(valid[-1], indent=1, ensure_ascii=False)) is (
        not exact or "\n" not in json.dumps(valid[-1], indent=1)
    )
    walker = Walker(masks, tokenizer, '"]}', ["1", "a", "b", "null", '"a": ', '"k": [', "x0y", "2026-1", ", "])
    chance = random.Random(3)
    walked = [text for _ in range(25) if (text := walker.walk(chance)) is not None]
    assert [text for text in walked if not validator.is_valid(json.loads(text))] == []
    assert len(walked) > 1


@pytest.mark.parametrize(("schema", "key", "where"), NOT_HELD, ids=[json.dumps(schema)[:60] for schema, *_ in NOT_HELD])
def test_unsupported_keywords_are_rejected_by_name(schema: Any, key: str, where: str) -> None:
    with pytest.raises(CannotConstrain) as raised:
        held_schema(schema)
    place = "the top level" if where == "$" else where
    assert str(raised.value).startswith(f"llguidance cannot enforce {key} (at {place} of its schema): ")


def test_annotations_are_left_out() -> None:
    assert held_schema({"title": "T", "x-guidance": {"lenient": True}, "$schema": "draft-04", "maxItems": 2.0}) == {
        "maxItems": 2
    }
    assert held_schema(True) == {}
