"""A registry of tools: definitions, and the tool message that a call results in."""

from __future__ import annotations

import asyncio
import contextvars
import dataclasses
import json
import subprocess
import sys
import threading
from dataclasses import dataclass, field
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from enum import Enum
from pathlib import Path
from types import MappingProxyType
from typing import Annotated, Any, Literal
from uuid import UUID

import pytest
from pydantic import BaseModel, ConfigDict, Field, field_validator

import toolfmt
from toolfmt import BadTools, ToolCall, ToolRegistry
from toolfmt.agent import Execution
from toolfmt.messages.message import Rejected

WEATHER = {
    "name": "get_weather",
    "parameters": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
}


class Unit(Enum):
    CELSIUS = "celsius"
    KELVIN = "kelvin"


class Seat(BaseModel):
    row: int
    letter: Literal["A", "B"] = "A"


class Booking(BaseModel):
    """Book seats."""

    name: str
    seats: list[Seat] = []

    @field_validator("name")
    @classmethod
    def no_digits(cls, name: str) -> str:
        if any(letter.isdigit() for letter in name):
            raise ValueError("a name has no digits")
        return name


@dataclass
class Note:
    """Keep a note."""

    words: str
    tags: list[str] = field(default_factory=list)

    def __call__(self) -> str:
        return f"{self.words} {self.tags}"


def execute(registry: ToolRegistry, name: str, arguments: Any) -> Execution:
    text = arguments if isinstance(arguments, str) else json.dumps(arguments)
    return registry.execute(ToolCall("call_1", name, text))


def answered(registry: ToolRegistry, name: str, arguments: Any) -> str:
    """The content of the tool message for a call. There is always one."""
    execution = execute(registry, name, arguments)
    assert execution.message == {
        "role": "tool",
        "tool_call_id": "call_1",
        "name": name,
        "content": execution.message["content"],
    }
    return str(execution.message["content"])


def registry_of(result: object) -> ToolRegistry:
    """A registry of one tool that returns this."""
    return ToolRegistry([({"name": "f"}, lambda: result)])


# --- what a tool is made of


def test_definitions_are_those_of_the_functions_in_order() -> None:
    registry = ToolRegistry()

    @registry.tool
    def get_weather(city: str, days: int = 1) -> str:
        """Get the weather."""
        return f"{city} {days}"

    registry.add({"type": "function", "function": {"name": "now"}}, lambda: "noon")
    assert get_weather("Oslo") == "Oslo 1"
    assert registry.definitions == [
        {
            "type": "function",
            "function": {
                "name": "get_weather",
                "description": "Get the weather.",
                "parameters": {
                    "type": "object",
                    "properties": {"city": {"type": "string"}, "days": {"type": "integer", "default": 1}},
                    "required": ["city"],
                },
            },
        },
        {"type": "function", "function": {"name": "now"}},
    ]
    assert [tool["function"]["name"] for tool in toolfmt.messages.tools.canonical_tools(registry.definitions)] == [
        "get_weather",
        "now",
    ]


def test_what_is_handed_out_is_a_list_of_its_own() -> None:
    registry = ToolRegistry([Note])
    registry.definitions.clear()
    assert len(registry.definitions) == 1


def only_by_place(city: str, /) -> str:
    return city


class Store:
    def __init__(self) -> None:
        self.kept: list[str] = []

    def keep(self, words: str) -> int:
        """Store the words."""
        self.kept.append(words)
        return len(self.kept)


def test_a_bound_method_keeps_its_object() -> None:
    store = Store()
    assert answered(ToolRegistry([store.keep]), "keep", {"words": "one"}) == "1"
    assert store.kept == ["one"]


def test_a_class_is_called_or_given_to_a_function() -> None:
    assert answered(ToolRegistry([Note]), "Note", {"words": "a"}) == "a []"
    given: list[Any] = []
    registry = ToolRegistry([(Booking, given.append), (Note, given.append)])
    assert answered(registry, "Booking", {"name": "Ada", "seats": [{"row": 3}]}) == "null"
    assert answered(registry, "Note", {"words": "b", "tags": ["t"]}) == "null"
    assert given == [Booking(name="Ada", seats=[Seat(row=3, letter="A")]), Note("b", ["t"])]


def test_a_function_may_be_called_by_another() -> None:
    def get_weather(city: str) -> str:
        return city

    registry = ToolRegistry([(get_weather, lambda city: f"logged {city}")])
    assert answered(registry, "get_weather", {"city": "Oslo"}) == "logged Oslo"


@pytest.mark.parametrize(
    ("tools", "message"),
    [
        ([WEATHER], r"tools\[0\] \(get_weather\): a definition alone cannot be called"),
        ([(WEATHER, 5)], r"tools\[0\] \(get_weather\): what is to be called is a int"),
        ([Note, Booking], r"tools\[1\] \(Booking\): its instances cannot be called; .* add\(Booking, function\)"),
        ([(WEATHER, print), (WEATHER, print)], r"tools\[1\]: tools\[0\] is called 'get_weather' too"),
        ([({"name": "f", "parameters": {"type": "objekt"}}, print)], r"tools\[0\] \(f\): .*'objekt' is not valid"),
        (
            [(WEATHER, only_by_place)],
            r"tools\[0\] \(get_weather\): city .* is positional only, .*remove the /",
        ),
        (
            [(WEATHER, Store.keep)],
            r"\(get_weather\): its function needs self, which its schema does not name",
        ),
        ([(WEATHER, [].append)], r"\(get_weather\): object of its function is positional only"),
        ([(Note, print), lambda x: x], r"tools\[1\] \(<lambda>\): a lambda has no name"),
        ([5], r"tools\[0\]: a tool definition is an object, not a number"),
    ],
)
def test_an_invalid_tool_is_rejected(tools: list[Any], message: str) -> None:
    with pytest.raises(BadTools, match=message):
        ToolRegistry(tools)


def test_a_function_that_a_call_can_reach_is_not_rejected() -> None:
    def by_name(city: str, days: int = 1, *rest: int, **more: int) -> str:
        return city

    def loosely(a: int = 0, /, **more: Any) -> str:
        return str(more["city"])

    open_schema = {"name": "f", "parameters": {"additionalProperties": True}}
    pattern = {"name": "f", "parameters": {"patternProperties": {"^ci": {}}}}
    for tool in ((WEATHER, by_name), (WEATHER, loosely), (open_schema, by_name), (pattern, by_name)):
        registry = ToolRegistry([tool])
        assert answered(registry, registry.definitions[0]["function"]["name"], {"city": "Oslo"}) == "Oslo"


def test_a_rejected_tool_leaves_no_trace() -> None:
    registry = ToolRegistry()
    with pytest.raises(BadTools):
        registry.add(WEATHER)
    assert registry.definitions == []
    registry.add(WEATHER, lambda city: city)


# --- arguments


def test_arguments_are_converted_to_their_type_hints() -> None:
    given: dict[str, Any] = {}

    def book(
        day: date, seat: Seat, unit: Unit = Unit.KELVIN, note: Note | None = None, price: Decimal = Decimal(1)
    ) -> None:
        given.update(locals())
        del given["given"]

    registry = ToolRegistry([book])
    assert answered(registry, "book", {"day": "2026-11-23", "seat": {"row": 1}, "note": {"words": "w"}}) == "null"
    assert given == {
        "day": date(2026, 11, 23),
        "seat": Seat(row=1),
        "unit": Unit.KELVIN,
        "note": Note("w"),
        "price": Decimal(1),
    }


def test_defaults_are_the_functions_own() -> None:
    def f(
        a: int,
        b: list[int] = [1],  # noqa: B006  models of pydantic copy mutable defaults
        c: int = Field(3, description="In a field."),
        *,
        d: Annotated[int, Field(alias="dd")] = 4,
    ) -> str:
        b.append(a)
        return f"{a} {b} {c} {d}"

    registry = ToolRegistry([f])
    assert [answered(registry, "f", {"a": 2}) for _ in range(2)] == ["2 [1, 2] 3 4"] * 2
    assert answered(registry, "f", {"a": 2, "dd": 5}) == "2 [1, 2] 3 5"


def test_arguments_of_a_definition_are_json_as_it_was_read() -> None:
    given: list[Any] = []
    schema = {"properties": {"func": {}, "self": {}, "n": {"type": "integer"}}}
    registry = ToolRegistry([({"name": "f", "parameters": schema}, lambda **named: given.append(named))])
    arguments = {"func": {"a": [1.5, None]}, "self": True, "n": 10**30}
    assert answered(registry, "f", arguments) == "null"
    assert given == [arguments]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({}, "'city' is a required property"),
        ({"city": 5}, "5 is not of type 'string' (at $.city)"),
        ({"city": "Oslo", "when": 1}, "Additional properties are not allowed ('when' was unexpected)"),
        ({"city": "Oslo", "days": "3"}, "'3' is not of type 'integer' (at $.days)"),
        ("", "they are not JSON (Expecting value: line 1 column 1 (char 0))"),
        ('{"city": "Os', "they are not JSON (Unterminated string starting at: line 1 column 10 (char 9))"),
        ('{"city": NaN}', "they are not JSON (NaN is not JSON)"),
        ('{"city": "Oslo", "city": "Rome"}', "they are not JSON ('city' appears twice)"),
        ('{"city": {"a": 1, "b": 2, "a": 1}}', "they are not JSON ('a' appears twice)"),
        ('{"city": "\\ud800"}', "they contain half of a character"),
        ('{"city": -1e999}', "-1e999 is too large for a 64-bit float"),
        ('{"city": ' + "[" * 256 + "]" * 256 + "}", "they are nested too deeply (more than 256 levels)"),
        ("[" * 100_000, "they are not JSON (nested too deeply)"),
        ("1" * 5000, "they are not JSON (an integer of more than 4300 digits)"),
        ('["Oslo"]', "they are not a JSON object"),
        ("null", "they are not a JSON object"),
    ],
)
def test_invalid_arguments_are_reported_and_nothing_is_called(arguments: Any, message: str) -> None:
    called: list[str] = []

    def get_weather(city: str, days: int = 1) -> None:
        called.append(city)

    registry = ToolRegistry([get_weather])
    assert execute(registry, "get_weather", arguments).outcome == "invalid_arguments"
    assert answered(registry, "get_weather", arguments) == (
        f"get_weather was not executed, because its arguments are not valid: {message}"
    )
    assert called == []


def test_type_hints_that_are_stricter_than_the_schema_are_checked_too() -> None:
    called: list[Any] = []

    def when(day: date, seats: list[Seat] = []) -> None:  # noqa: B006  not changed
        called.append(day)

    registry = ToolRegistry([(Booking, called.append), when])
    message = "was not executed, because its arguments are not valid:"
    assert answered(registry, "Booking", {"name": "Ada2"}) == (
        f"Booking {message} Value error, a name has no digits (at $.name)"
    )
    wrong = answered(registry, "when", {"day": "2026-02-30"})
    assert wrong.startswith(f"when {message} Input should be a valid date") and wrong.endswith("(at $.day)")
    assert execute(registry, "when", {"day": "2026-02-30"}).outcome == "invalid_arguments"
    assert called == []


@dataclass
class Meal:
    dish: str
    seats: list[Seat]


REJECTED = "not carried out"
VALUES: list[tuple[Any, str, Any]] = [
    (int, "3.0", 3),
    (int, "1e5", 100000),
    (int, "0.0", 0),
    (int, "1e20", 10**20),
    (int, "1e308", REJECTED),
    (int, "-0.0", REJECTED),
    (int, "9007199254740993", 9007199254740993),
    (int, "9007199254740993.0", REJECTED),
    (int, "1" + "0" * 400, 10**400),
    (float, "3", 3.0),
    (float, "-0.5e1", -5.0),
    (float, "1" + "0" * 308, 1e308),
    (float, "1" + "0" * 309, REJECTED),
    (float, "-1" + "0" * 400, REJECTED),
    (Decimal, "12345678901234567.89", REJECTED),
    (Decimal, '"12345678901234567.89"', Decimal("12345678901234567.89")),
    (Decimal, "0.10", Decimal("0.1")),
    (bool | int, "1.0", 1),
    (bool | int, "true", True),
    (int | date, '"3"', REJECTED),
    (int | UUID, '"3"', REJECTED),
    (datetime, '"3"', REJECTED),
    (datetime, '"2026-11-23"', REJECTED),
    (datetime, '"2026-11-23T10:00"', datetime(2026, 11, 23, 10)),
    (date, '"0"', REJECTED),
    (date, '"2026-11-23T00:00:00"', REJECTED),
    (list[date], '["0"]', REJECTED),
    (time, '"10:30"', time(10, 30)),
    (timedelta, '"3 days"', REJECTED),
    (timedelta, '"P3D"', timedelta(3)),
    (dict[bool, str], '{"yes": "a"}', REJECTED),
    (dict[bool, str], '{"true": "a"}', {True: "a"}),
    (dict[int, str], '{"3": "a", "03": "b"}', REJECTED),
    (dict[int, str], '{"3": "a", "-4": "b"}', {3: "a", -4: "b"}),
    (dict[date, str], '{"0": "a"}', REJECTED),
    (Seat, '{"row": 1}', Seat(row=1)),
    (Seat, '{"row": 1, "z": 2}', REJECTED),
    (list[Seat], '[{"row": 1, "z": 2}]', REJECTED),
    (Meal, '{"dish": "d", "seats": [{"row": 1}]}', Meal("d", [Seat(row=1)])),
    (Meal, '{"dish": "d", "seats": [], "z": 1}', REJECTED),
    (Meal, '{"dish": "d", "seats": [{"row": 1, "z": 2}]}', REJECTED),
    (dict[str, Any], '{"z": {"y": 1.5}}', {"z": {"y": 1.5}}),
    (str, '"3.0 \\" 3.0"', '3.0 " 3.0'),
]


@pytest.mark.parametrize(("hint", "written", "given"), VALUES)
def test_a_tool_is_called_with_exactly_the_written_arguments(hint: Any, written: str, given: Any) -> None:
    seen: list[Any] = []

    def f(x: Any) -> None:
        seen.append(x)

    f.__annotations__["x"] = hint
    execution = execute(ToolRegistry([f]), "f", f'{{"x": {written}}}')
    if given is REJECTED:
        assert (execution.outcome, seen) == ("invalid_arguments", [])
    else:
        assert [(type(given), given)] == [(type(x), x) for x in seen]


def test_keys_that_can_be_written_in_many_ways_are_no_hint() -> None:
    def f(x: dict[float, str]) -> None: ...

    with pytest.raises(BadTools, match="keys of type float can be written in many ways; make them str"):
        ToolRegistry([f])


class OpenWithin(BaseModel):
    model_config = ConfigDict(extra="allow")


def test_a_nested_model_may_allow_extra_arguments() -> None:
    def f(x: OpenWithin) -> Any:
        return x.model_extra

    assert answered(ToolRegistry([f]), "f", {"x": {"y": 1}}) == '{"y": 1}'


def test_a_model_that_is_strict_is_given_json() -> None:
    class Day(BaseModel):
        model_config = ConfigDict(strict=True)
        day: date

    assert answered(ToolRegistry([(Day, lambda it: it.day)]), "Day", {"day": "2026-11-23"}) == '"2026-11-23"'


@pytest.mark.parametrize(
    ("schema", "message"),
    [
        ({}, "Additional properties are not allowed ('x' was unexpected)"),
        ({"properties": {"y": {}}}, "Additional properties are not allowed ('x' was unexpected)"),
        ({"additionalProperties": True}, None),
        ({"additionalProperties": {"type": "string"}}, "1 is not of type 'string' (at $.x)"),
        ({"unevaluatedProperties": True}, None),
        ({"patternProperties": {"^x": {}}}, None),
        ({"allOf": [{"properties": {"x": {}}}]}, None),
        ({"$ref": "#/$defs/X", "$defs": {"X": {"properties": {"x": {}}}}}, None),
        ({"anyOf": [{"properties": {"y": {}}}]}, "Unevaluated properties are not allowed ('x' was unexpected)"),
    ],
)
def test_arguments_that_the_schema_does_not_name_are_rejected(schema: dict[str, Any], message: str | None) -> None:
    registry = ToolRegistry([({"name": "f", "parameters": schema}, lambda **named: "called")])
    wrong = f"f was not executed, because its arguments are not valid: {message}"
    assert answered(registry, "f", {"x": 1}) == (wrong if message else "called")


DRAFT_7 = {"$schema": "http://json-schema.org/draft-07/schema#"}
X = {"properties": {"x": {"type": "integer"}}}


OLD = [f"http://json-schema.org/draft-{number:02d}/schema#" for number in (4, 6, 7)]
NEW = [f"https://json-schema.org/draft/{year}/schema" for year in ("2019-09", "2020-12")]
NAMED = {"$ref": "#/definitions/X", "definitions": {"X": X}}
NAMING_X: list[tuple[dict[str, Any], list[str]]] = [
    (X, OLD + NEW),
    ({"allOf": [X]}, OLD + NEW),
    ({"anyOf": [X]}, OLD + NEW),
    (NAMED, OLD + NEW),
    ({"if": {"required": ["x"]}, "then": X}, OLD[2:] + NEW),
    # Next to a $ref, it counts in later JSON Schema drafts and rejects what that schema allows.
    ({**NAMED, "additionalProperties": False}, OLD),
    ({**NAMED, "definitions": {"X": {}}, "allOf": [X]}, OLD + NEW),
]


@pytest.mark.parametrize(
    ("schema", "draft"), [(schema, draft) for schema, drafts in NAMING_X for draft in drafts], ids=repr
)
def test_other_arguments_are_rejected_with_any_json_schema_draft(schema: dict[str, Any], draft: str) -> None:
    registry = ToolRegistry([({"name": "f", "parameters": {"$schema": draft, **schema}}, lambda **named: "called")])
    assert answered(registry, "f", {"x": 1}) == "called"
    assert "('z' was unexpected)" in answered(registry, "f", {"x": 1, "z": 2})
    assert "is not of type 'integer'" in answered(registry, "f", {"x": "1"})


def test_a_draft_7_schema_may_allow_extra_arguments() -> None:
    for schema in ({"allOf": [X], "additionalProperties": True}, {"$ref": "#/definitions/X", "definitions": {"X": {}}}):
        more = {**DRAFT_7, "additionalProperties": True, **schema}
        registry = ToolRegistry([({"name": "f", "parameters": more}, lambda **named: "called")])
        assert answered(registry, "f", {"z": 1}) == "called"


def test_a_class_may_allow_extra_arguments() -> None:
    class Open(BaseModel):
        model_config = ConfigDict(extra="allow")

    registry = ToolRegistry([(Open, lambda it: it.model_extra), (Seat, lambda it: it)])
    assert answered(registry, "Open", {"x": 1}) == '{"x": 1}'
    assert "('x' was unexpected)" in answered(registry, "Seat", {"row": 1, "x": 1})


# --- results


@dataclass
class Point:
    x: int
    when: date


@dataclass
class Reading:
    at: Any


class WithoutStr:
    """States only where it is."""


class WithStr:
    def __str__(self) -> str:
        return "it tells itself"


@pytest.mark.parametrize(
    ("result", "content"),
    [
        ("Rain, 7 °C.\n", "Rain, 7 °C.\n"),
        ("", ""),
        (None, "null"),
        (7, "7"),
        ({"a": [1, None, "ø"]}, '{"a": [1, null, "ø"]}'),
        ((1, 2), "[1, 2]"),
        (Seat(row=2), '{"row": 2, "letter": "A"}'),
        ([Seat(row=2)], '[{"row": 2, "letter": "A"}]'),
        ({"p": Point(1, date(2026, 11, 23))}, '{"p": {"x": 1, "when": "2026-11-23"}}'),
        ({"b", "c", "a"}, '["a", "b", "c"]'),
        ({1, 10, 2}, "[1, 2, 10]"),
        (frozenset({1, "b", 3, "a", 2, "c"}), '[1, 2, 3, "a", "b", "c"]'),
        (Unit.KELVIN, '"kelvin"'),
        (b"bytes", '"bytes"'),
        (Path("a/b"), '"a/b"'),
        (WithStr(), '"it tells itself"'),
        ({"it": WithStr()}, '{"it": "it tells itself"}'),
        (float("inf"), "null"),
        ({"a": [float("nan"), 1.5]}, '{"a": [null, 1.5]}'),
        (Reading(float("nan")), '{"at": null}'),
        ({(1, 2): 3}, '{"1,2": 3}'),
        (
            {date(2026, 11, 23): 1, None: 2, True: 3, 7: 4, 1.5: 5},
            '{"2026-11-23": 1, "null": 2, "true": 3, "7": 4, "1.5": 5}',
        ),
        (range(3), "[0, 1, 2]"),
        ({"r": {1: 2}.items()}, '{"r": [[1, 2]]}'),
        (MappingProxyType({"a": {2, 1}}), '{"a": [1, 2]}'),
        (Reading(range(2)), '{"at": [0, 1]}'),
        ([(n for n in (1, 2)), float("nan")], "[[1, 2], null]"),
        ((n for n in (1, 2)), "[1, 2]"),
        ("half \ud800 a character", "half ? a character"),
        ({"half": "\ud800"}, '{"half": "?"}'),
    ],
)
def test_a_text_is_itself_and_the_rest_is_json(result: object, content: str) -> None:
    execution = execute(registry_of(result), "f", {})
    assert ("result", content) == (execution.outcome, execution.message["content"])
    assert execution.value is result and execution.error is None


ENDLESS: list[Any] = []
ENDLESS.append(ENDLESS)


@pytest.mark.parametrize(
    ("result", "why"),
    [
        (b"\xff", "bytes, which cannot be written as JSON ("),
        ([{"a": b"\xff"}], "list, which cannot be written as JSON ("),
        ({b"\xff": 1}, "dict, which cannot be written as JSON ("),
        (ENDLESS, "list, which cannot be written as JSON ("),
        ({1: "a", "1": "b"}, "dict, of which two keys are one in JSON"),
    ],
)
def test_what_json_cannot_hold_is_no_result(result: object, why: str) -> None:
    execution = execute(registry_of(result), "f", {})
    assert execution.outcome == "exception"
    assert execution.message["content"].startswith(f"f failed: NoResult: the tool returned a value of the type {why}")
    assert repr(result) not in execution.message["content"]


@pytest.mark.parametrize(
    "result", [WithoutStr(), [WithoutStr()], {"a": WithoutStr()}, object(), Store().keep, [Store()]]
)
def test_a_value_with_only_a_default_repr_is_not_a_result(result: object) -> None:
    content = answered(registry_of(result), "f", {})
    assert content.startswith("f failed: NoResult: the tool returned a value of the type ")
    assert "0x" not in content


def test_a_result_that_json_can_hold_is_returned_without_pydantic() -> None:
    code = (
        "import sys; sys.modules['pydantic'] = sys.modules['pydantic_core'] = None\n"
        "import datetime\n"
        "from toolfmt import ToolCall, ToolRegistry\n"
        "registry = ToolRegistry([({'name': 'f'}, lambda: {'a': 1}), ({'name': 'g'}, datetime.date.today)])\n"
        "print([registry.dispatch(ToolCall('1', name, '{}'))['content'] for name in 'fg'])\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=300)
    message = (
        "g failed: NoResult: converting a result of type date requires pydantic: pip install pydantic docstring_parser"
    )
    assert done.stdout == str(['{"a": 1}', message]) + "\n"


# --- what is not a result


def test_an_unknown_tool_is_reported_with_the_tools_that_exist() -> None:
    registry = ToolRegistry([Note, (WEATHER, print)])
    assert answered(registry, "weather", {}) == "No tool is called 'weather'. The tools are: Note, get_weather."
    assert answered(ToolRegistry(), "f", {}) == "No tool is called 'f'. There are no tools."
    assert execute(registry, "x" * 1000, {}).outcome == "unknown_tool"
    assert len(answered(registry, "x" * 1000, {})) < 200


class Unspeakable(Exception):
    def __str__(self) -> str:
        raise RuntimeError("not even this")


@pytest.mark.parametrize(
    ("error", "content"),
    [
        (ValueError("no such city: Osl"), "f failed: ValueError: no such city: Osl"),
        (KeyError("Osl"), "f failed: KeyError: 'Osl'"),
        (TimeoutError(), "f failed: TimeoutError"),
        (Unspeakable(), "f failed: Unspeakable"),
        (OSError("\ud800"), "f failed: OSError: ?"),
        (ValueError(WithoutStr()), f"f failed: ValueError: <{__name__}.WithoutStr object>"),
        (KeyError(0x7F48), "f failed: KeyError: 32584"),
        (
            TypeError(f"no client: {WithoutStr()!r}, look at 0x7f48 or 0x11"),
            f"f failed: TypeError: no client: <{__name__}.WithoutStr object>, look or 0x11",
        ),
        (ValueError("x" * 5000), f"f failed: ValueError: {'x' * 988}…"),
        (StopIteration(), "f failed: StopIteration"),
        (asyncio.CancelledError(), "f failed: CancelledError"),
    ],
)
@pytest.mark.parametrize("kind", ["plain", "async"])
def test_an_exception_of_a_tool_is_reported_with_type_and_message(
    error: BaseException, content: str, kind: str
) -> None:
    def fails() -> None:
        raise error

    async def fails_later() -> None:
        await asyncio.sleep(0)
        raise error

    registry = ToolRegistry([({"name": "f"}, fails if kind == "plain" else fails_later)])
    if kind == "async" and isinstance(error, StopIteration):
        content = "f failed: RuntimeError: coroutine raised StopIteration"
    execution = execute(registry, "f", {})
    assert ("exception", content) == (execution.outcome, execution.message["content"])
    assert execution.error is not None and execution.error.__traceback__ is not None
    assert __file__ not in execution.message["content"]


def test_pydantics_errors_inside_a_tool_are_the_tools() -> None:
    assert execute(ToolRegistry([({"name": "f"}, lambda: Seat(row="x"))]), "f", {}).outcome == "exception"  # type: ignore[arg-type]  # wrong on purpose


@pytest.mark.parametrize("end", [KeyboardInterrupt, SystemExit])
def test_what_ends_a_program_passes(end: type[BaseException]) -> None:
    def stop() -> None:
        raise end

    async def stop_later() -> None:
        await asyncio.sleep(0)
        raise end

    for tool in (stop, stop_later):
        with pytest.raises(end):
            execute(ToolRegistry([tool]), tool.__name__, {})


@pytest.mark.parametrize(
    ("rejected", "message"),
    [
        (
            Rejected(0, "incomplete_output", (0, 9), '{"city": ', "get_weather", '{"city": '),
            "Call to get_weather rejected: the output ended before the call was complete.",
        ),
        (
            Rejected(0, "malformed_syntax", (0, 9), "raw", message="Tool call rejected: expected ':'."),
            "Tool call rejected: expected ':'.",
        ),
        (
            Rejected(0, "undeclared_tool", (0, 9), "raw"),
            "Tool call rejected: the tool is not declared.",
        ),
        (
            Rejected(0, "undeclared_tool", (0, 9), "raw", message="Tool call rejected: no f; available tools: g."),
            "Tool call rejected: no f; available tools: g.",
        ),
    ],
)
def test_a_rejected_call_is_never_executed(rejected: Rejected, message: str) -> None:
    called: list[str] = []
    registry = ToolRegistry([(WEATHER, lambda city: called.append(city))])
    tools = "" if "available tools" in message else "The tools are: get_weather. "
    content = f"{message} {tools}Write the complete call again, or answer without it."
    assert registry.dispatch(rejected) == {"role": "user", "content": content}
    assert registry.execute(rejected).outcome == "rejected"
    assert called == []


def test_every_reason_of_a_rejection_has_a_message() -> None:
    from typing import get_args

    from toolfmt.messages.events import RejectionReason

    reasons = get_args(RejectionReason)
    contents = {ToolRegistry().dispatch(Rejected(0, reason, (0, 0), ""))["content"] for reason in reasons}
    assert len(contents) == len(reasons)


# --- calls in other forms

ARGUMENTS = '{"city": "Oslo"}'


@pytest.mark.parametrize(
    "call",
    [
        ToolCall("1", "get_weather", ARGUMENTS),
        ToolCall("1", "get_weather", ARGUMENTS).to_dict(),
        {"id": "1", "function": {"name": "get_weather", "arguments": {"city": "Oslo"}}},
        {"id": "1", "name": "get_weather", "arguments": ARGUMENTS},
        {"id": "1", "name": "get_weather", "input": {"city": "Oslo"}, "type": "tool_use"},
        {"call_id": "1", "name": "get_weather", "arguments": ARGUMENTS, "type": "function_call"},
        {"type": "tool_call", "id": "1", "name": "get_weather", "args": {"city": "Oslo"}},
    ],
)
def test_a_call_may_have_the_shape_of_any_client(call: Any) -> None:
    dispatched(call)


@pytest.mark.sample(0)
def test_a_call_may_be_the_object_of_a_client() -> None:
    from anthropic.types import ToolUseBlock
    from openai.types.chat import ChatCompletionMessageFunctionToolCall
    from openai.types.responses import ResponseFunctionToolCall

    dispatched(ChatCompletionMessageFunctionToolCall.model_validate(ToolCall("1", "get_weather", ARGUMENTS).to_dict()))
    dispatched(ToolUseBlock(id="1", name="get_weather", input={"city": "Oslo"}, type="tool_use"))
    function = {"id": "fc_9", "call_id": "1", "name": "get_weather", "arguments": ARGUMENTS, "type": "function_call"}
    dispatched(ResponseFunctionToolCall.model_validate(function))


def dispatched(call: Any) -> None:
    registry = ToolRegistry([(WEATHER, lambda city: city)])
    expected = {"role": "tool", "tool_call_id": "1", "name": "get_weather", "content": "Oslo"}
    assert expected == registry.dispatch(call)


@pytest.mark.parametrize(
    "call",
    [
        {"function": {"name": "get_weather", "arguments": ARGUMENTS}},
        {"id": None, "name": "get_weather", "arguments": ARGUMENTS},
        ToolCall("", "get_weather", ARGUMENTS),
    ],
)
def test_the_answer_to_a_call_without_an_id_names_none(call: Any) -> None:
    dispatched_without_id(call)


def test_the_answer_to_a_call_of_ollama_names_no_id() -> None:
    import ollama

    function = ollama.Message.ToolCall.Function(name="get_weather", arguments={"city": "Oslo"})
    dispatched_without_id(ollama.Message.ToolCall(function=function))


def dispatched_without_id(call: Any) -> None:
    registry = ToolRegistry([(WEATHER, lambda city: city)])
    assert registry.dispatch(call) == {"role": "tool", "name": "get_weather", "content": "Oslo"}


def test_missing_or_unexpected_arguments_are_reported() -> None:
    registry = ToolRegistry([({"name": "f"}, lambda: "called")])
    prefix = "f was not executed, because its arguments are not valid: "
    for arguments, message in ((None, "they are missing"), ([1], "they are a list")):
        call = {"id": "1", "function": {"name": "f", "arguments": arguments}}
        assert registry.dispatch(call)["content"] == prefix + message
    nan = {"function": {"name": "f", "arguments": {"x": float("nan")}}}
    assert registry.dispatch(nan) == {
        "role": "tool",
        "name": "f",
        "content": f"{prefix}they hold what JSON does not: NaN",
    }


@pytest.mark.parametrize("call", [None, "f", 5, [], {}, {"function": {}}, {"name": None}, {"function": "f"}, "x" * 500])
def test_what_is_no_call_is_misuse(call: Any) -> None:
    with pytest.raises(TypeError, match="not a call: ") as raised:
        ToolRegistry().dispatch(call)
    assert len(str(raised.value)) < 250


# --- async tools

WHERE: contextvars.ContextVar[str] = contextvars.ContextVar("WHERE", default="nowhere")


class Clock:
    """A tool that belongs to the loop it was first used in, as a client of HTTP does."""

    def __init__(self) -> None:
        self.loops: list[asyncio.AbstractEventLoop] = []
        self.threads: list[int] = []

    async def wait(self, n: int) -> dict[str, Any]:
        """Wait."""
        self.loops.append(asyncio.get_running_loop())
        self.threads.append(threading.get_ident())
        await asyncio.sleep(0)
        return {"n": n, "where": WHERE.get()}


def test_an_async_tool_is_waited_for() -> None:
    WHERE.set("here")
    clock = Clock()
    assert answered(ToolRegistry([clock.wait]), "wait", {"n": 1}) == '{"n": 1, "where": "here"}'
    assert clock.threads == [threading.get_ident()]
    assert clock.loops[0].is_closed()


def test_what_returns_a_coroutine_is_waited_for_too() -> None:
    registry = ToolRegistry([({"name": "f"}, lambda: asyncio.sleep(0, "slept"))])
    assert answered(registry, "f", {}) == "slept"


def test_an_async_tool_is_awaited_even_if_a_loop_is_running() -> None:
    clock = Clock()

    async def notebook() -> str:
        WHERE.set("in a notebook")
        return answered(ToolRegistry([clock.wait]), "wait", {"n": 1})

    assert asyncio.run(notebook()) == '{"n": 1, "where": "in a notebook"}'
    assert clock.threads != [threading.get_ident()]


def test_an_async_generator_is_no_result() -> None:
    async def many() -> Any:
        yield 1

    assert "which is neither text nor JSON" in answered(ToolRegistry([many]), "many", {})


def test_an_execution_shows_the_program_more_than_the_model() -> None:
    execution = execute(ToolRegistry([Note]), "Note", {"words": "w"})
    assert dataclasses.asdict(execution) == {
        "outcome": "result",
        "name": "Note",
        "message": {"role": "tool", "tool_call_id": "call_1", "name": "Note", "content": "w []"},
        "value": "w []",
        "error": None,
    }
