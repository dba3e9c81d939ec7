"""JSON values under schemas in GBNF: it accepts what jsonschema considers valid, as `json.dumps` writes it.

Always judged by the small reader, and by llama.cpp and XGrammar if they are installed. Objects that declare members
accept no others, which the schemas here state because jsonschema would allow them.
"""

from __future__ import annotations

import itertools
import json
import random
from collections.abc import Iterator
from functools import partial
from typing import Any

import pytest
from gbnf_judges import JUDGES, Judge, judge_of
from jsonschema import Draft202012Validator

from toolfmt.formats.grammar.schemas import Schemas
from toolfmt.formats.values.nodes import JsonValue, Rules
from toolfmt.grammars.gbnf import DECLARED_ORDER, gbnf

_spelt = partial(json.dumps, ensure_ascii=False)


@pytest.fixture(scope="module", params=JUDGES)
def judge(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Judge:
    return judge_of(request.param, tmp_path_factory)


def _object(properties: dict[str, Any], *required: str, **more: Any) -> dict[str, Any]:
    made = {"type": "object", "properties": properties, "required": [*required], "additionalProperties": False}
    return made | more


_TREE = {
    "$ref": "#/$defs/tree",
    "$defs": {
        "tree": _object(
            {"name": {"type": "string"}, "left": {"$ref": "#/$defs/tree"}, "right": {"$ref": "#/$defs/tree"}}, "name"
        )
    },
}
_SCHEMAS: dict[str, dict[str, Any]] = {
    "a tree": _TREE,
    "lists in lists": {"type": "array", "items": {"anyOf": [{"type": "integer"}, {"$ref": "#"}]}, "maxItems": 2},
    "a union with itself in it": {
        "$ref": "#/$defs/node",
        "$defs": {
            "leaf": _object({"name": {"type": "string"}}, "name"),
            "node": _object(
                {"two": {"type": "array", "items": {"anyOf": [{"$ref": "#/$defs/leaf"}, {"$ref": "#/$defs/node"}]}}},
                "two",
            ),
        },
    },
    "two that refer to each other": {
        "$ref": "#/$defs/one",
        "$defs": {
            "one": _object({"two": {"$ref": "#/$defs/two"}}),
            "two": {"anyOf": [{"type": "null"}, {"$ref": "#/$defs/one"}]},
        },
    },
    "a reference beside a limit": {"$defs": {"n": {"type": "integer"}}, "$ref": "#/$defs/n", "minimum": 3},
    "all of": {
        "allOf": [{"type": "object", "properties": {"a": {"type": "integer"}}}, {"required": ["a"]}],
        "properties": {"a": {"maximum": 5}, "b": {"type": "boolean"}},
        "unevaluatedProperties": False,
    },
    "all of, with references": {
        "$defs": {"low": {"minimum": -3}, "high": {"maximum": 12}},
        "type": "integer",
        "allOf": [{"$ref": "#/$defs/low"}, {"$ref": "#/$defs/high"}],
    },
    "listed values": {"enum": ["a", 'q"\\\n', 1, 1.5, True, None, [1, "x"], {"k": "v"}, "Zürich 🙂"]},
    "a constant": {"const": {"a": [1, 2]}},
    "integers": {"type": "integer", "minimum": -12, "exclusiveMaximum": 107},
    "integers from": {"type": "integer", "minimum": 98},
    "integers to": {"type": "integer", "maximum": -9},
    "numbers": {"type": "number", "minimum": -1.5, "maximum": 2.25},
    "strings of a length": {"type": "string", "minLength": 2, "maxLength": 3},
    "long strings": {"type": "string", "minLength": 150, "maxLength": 300},
    "strings of a pattern": {"type": "string", "pattern": "^[a-c]{2,3}(-[0-9]+)?$"},
    "lists with bounds": {"type": "array", "items": {"type": "integer"}, "minItems": 2, "maxItems": 3},
    "lists from": {"type": "array", "items": {"enum": ["x"]}, "minItems": 1},
    "no items": {"type": "array", "maxItems": 0},
    "many items": {"type": "array", "items": {"const": 1}, "minItems": 120, "maxItems": 130},
    "members": _object({"a": {"type": "integer"}, "b": {"type": "string"}, "c": {"type": "null"}}, "b"),
    "members of a name to be spelt": _object({'q"\\é\n': {"type": "integer"}}, 'q"\\é\n'),
    "any members": {"type": "object", "additionalProperties": {"type": "integer"}},
    "several types": {"type": ["string", "integer", "null"]},
    "any value": {},
}


def _pool() -> list[Any]:
    """Values of all kinds; jsonschema decides which are valid.

    No integers with a fraction or an exponent: jsonschema accepts `1e20` as an integer, parsers do not. And no numbers
    with an exponent: grammars do not support them for a number with bounds.
    """
    numbers = [
        *range(-14, 14),
        97,
        98,
        99,
        100,
        106,
        107,
        108,
        1000,
        -100,
        1.5,
        -1.5,
        -1.51,
        2.25,
        2.26,
        0.001,
        0.00025,
    ]
    strings = ["", "a", "ab", "abc", "abcd", "ab-12", "ab-", "Zürich 🙂", 'q"\\\n']
    strings += ["x" * count for count in (149, 150, 300, 301)]
    lists = [[], [1], [1, 2], [1, 2, 3], [1, 2, 3, 4], ["x"], ["x", "x"], [1, "x"], [[1], [2]], [[1], [[], 3]], [None]]
    lists += [[1] * count for count in (119, 120, 130, 131)]
    objects: list[Any] = [{}, {"k": "v"}, {"k": 1}, {"a": [1, 2]}, {"a": 5}, {"a": 6}, {"a": "5"}]
    objects += [{'q"\\é\n': 1}, {"q": 1}, {"a": 1, "b": True}, {"b": True}]
    given = [keys for count in range(4) for keys in itertools.permutations("abc", count)]
    objects += [{key: {"a": 1, "b": "s", "c": None}[key] for key in keys} for keys in given]
    objects += [{"two": None}, {"two": {"two": None}}, {"two": {"two": 1}}, {"two": {}}]
    leaf = {"name": "n"}
    objects += [{"two": []}, {"two": [leaf, {"two": [leaf, {"two": []}]}]}, {"two": [{"two": [1]}]}, {"two": leaf}]
    objects += [leaf, {"left": leaf}, {"name": "n", "left": leaf, "right": {"right": leaf, "name": ""}}]
    objects += [{"right": {"left": leaf}, "name": "n"}, {"name": "n", "left": leaf, "up": leaf}, {"name": 1}]
    return [None, True, False, *numbers, *strings, *lists, *objects]


def _accepts(judge: Judge, schema: Any, *, exact: bool = True) -> Any:
    return judge.accepts(Rules(JsonValue(Schemas(schema).standalone(schema), exact)))


@pytest.mark.parametrize("name", _SCHEMAS)
def test_what_is_valid_is_accepted_and_nothing_else(judge: Judge, name: str) -> None:
    schema = _SCHEMAS[name]
    accepts, validator = _accepts(judge, schema), Draft202012Validator(schema)
    judged = [(value, bool(validator.is_valid(value))) for value in _pool()]
    assert any(valid for _, valid in judged), "a value of each kind"
    assert name == "any value" or not all(valid for _, valid in judged), "a value of each kind"
    assert [value for value, valid in judged if accepts(_spelt(value)) != valid] == []


@pytest.mark.parametrize("name", ["a tree", "members", "lists with bounds", "any value"])
def test_whitespace_is_allowed_where_json_allows_it(judge: Judge, name: str) -> None:
    schema = _SCHEMAS[name]
    accepts, validator = _accepts(judge, schema, exact=False), Draft202012Validator(schema)
    for value in _pool():
        for text in (_spelt(value), _spelt(value, indent=2), _spelt(value, separators=(",", ":"))):
            assert accepts(text) == bool(validator.is_valid(value)), text


def test_invalid_json_is_rejected(judge: Judge) -> None:
    accepts = _accepts(judge, {})
    for wrong in ("", "{", '{"a": 1', '{"a": 1,}', "[1, ]", "[1,2]", "01", "1.", ".5", "+1", "NaN", "'a'", '"a', '"\n"',
                  '"\\x"', '"\\ud800"', "tru", "nul", "{1: 2}", "[1] ", " 1", '{"a":1}'):  # fmt: skip
        assert not accepts(wrong), wrong
    for right in ("1e5", "-0", "1.50", '"\\u00e9\\n"', '{"a": 1, "a": 2}'):
        assert accepts(right), right


def test_integers_of_random_ranges(judge: Judge) -> None:
    draw = random.Random(14)
    for _ in range(25):
        low, high = sorted(draw.randint(-(10 ** draw.randint(1, 4)), 10 ** draw.randint(1, 4)) for _ in range(2))
        accepts = _accepts(judge, {"type": "integer", "minimum": low, "maximum": high})
        near = {bound + step for bound in (low, high, 0, (low + high) // 2) for step in range(-11, 12)}
        tens = {sign * 10**power + step for sign in (-1, 1) for power in range(6) for step in (-1, 0, 1)}
        wrong = [number for number in near | tens if accepts(str(number)) != (low <= number <= high)]
        assert wrong == [], (low, high)


def test_more_than_sixty_members(judge: Judge) -> None:
    """In declared order, each at most once, those that are required all."""
    names = [f"p{at}" for at in range(70)]
    schema = _object({name: {"type": "integer"} for name in names}, "p3", "p69")
    assert DECLARED_ORDER in gbnf(Rules(JsonValue(Schemas(schema).standalone(schema)))).narrower
    accepts = _accepts(judge, schema)

    def text(given: list[str]) -> str:
        return _spelt({name: at for at, name in enumerate(given)})

    draw = random.Random(14)
    for given in _chosen(names, draw):
        assert accepts(text(given))
        assert not accepts(text([name for name in given if name != "p69"]))
        assert not accepts(text([name for name in given if name != "p3"]))
        assert not accepts(text([*given[1:], given[0]]))
        assert not accepts(text(given)[:-1] + ', "p69": 1}')
        assert not accepts(text([*given, "other"]))


def _chosen(names: list[str], draw: random.Random) -> Iterator[list[str]]:
    yield names
    yield ["p3", "p69"]
    for _ in range(2):
        yield [name for name in names if name in ("p3", "p69") or draw.random() < 0.5]
