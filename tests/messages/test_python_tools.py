"""Tools made of Python objects: functions, methods, pydantic classes, dataclasses; others are rejected in one line."""

from __future__ import annotations

import datetime
import gc
import subprocess
import sys
import weakref
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path
from typing import Annotated, Any, Literal

import pytest
from pydantic import BaseModel, Field

import toolfmt
from toolfmt.errors import BadTools
from toolfmt.formats import prose
from toolfmt.messages.tools import canonical_tools, same_order, tool_schemas


class Unit(Enum):
    CELSIUS = "celsius"
    KELVIN = "kelvin"


class Person(BaseModel):
    """Who takes part."""

    name: str
    age: int = Field(30, description="In years.", ge=0)


class Tree(BaseModel):
    """A tree of names."""

    name: str
    below: list[Tree] = []


@dataclass
class SaveNote:
    """Keeps a note.

    Attributes:
        words: What to keep.
    """

    words: str
    tags: list[str] = field(default_factory=list)


@dataclass
class Plain:
    number: int


def get_weather(
    city: str,
    unit: Literal["celsius", "fahrenheit"] = "celsius",
    days: Annotated[int, Field(description="How many days.", le=7)] = 1,
    day: datetime.date | None = None,
) -> str:
    """Get the weather of a city,
    as it will be.

    It is asked of a service.

    Args:
        city: The city, for
            example Oslo.
        days: Another text.
        day: The first day.

    Returns:
        A sentence.
    """
    return f"{city} {unit} {days} {day}"


def numpy_style(city: str) -> None:
    """Find a city.

    Parameters
    ----------
    city : str
        Its name.
    """


def sphinx_style(city: str) -> None:
    """Find a city.
    :param city: Its name.
    """


class Office:
    room = "12"

    def find(self, name: str) -> str:
        """Find a person."""
        return name + self.room

    @classmethod
    def all(cls, floor: int = 1) -> str:
        return f"{cls.room} {floor}"


def only(tool: Any) -> Any:
    (made,) = canonical_tools([tool])
    assert made["type"] == "function"
    return made["function"]


def test_a_function_with_hints_and_a_docstring_is_a_tool() -> None:
    assert only(get_weather) == {
        "name": "get_weather",
        "description": "Get the weather of a city, as it will be.",
        "parameters": {
            "type": "object",
            "properties": {
                "city": {"type": "string", "description": "The city, for example Oslo."},
                "unit": {"type": "string", "default": "celsius", "enum": ["celsius", "fahrenheit"]},
                "days": {"type": "integer", "description": "How many days.", "default": 1, "maximum": 7},
                "day": {
                    "description": "The first day.",
                    "anyOf": [{"type": "string", "format": "date"}, {"type": "null"}],
                    "default": None,
                },
            },
            "required": ["city"],
        },
    }
    assert list(only(get_weather)["parameters"]["properties"]) == ["city", "unit", "days", "day"]


@pytest.mark.parametrize("function", [numpy_style, sphinx_style])
def test_parameters_are_described_in_the_other_styles_of_docstrings(function: Any) -> None:
    definition = only(function)
    assert definition["description"] == "Find a city."
    assert definition["parameters"]["properties"] == {"city": {"type": "string", "description": "Its name."}}


def test_a_function_without_a_docstring_or_hints_is_a_tool_all_the_same() -> None:
    def bare(one, two=2): ...  # type: ignore[no-untyped-def]  # what is tested

    assert only(bare) == {
        "name": "bare",
        "parameters": {"type": "object", "properties": {"one": {}, "two": {"default": 2}}, "required": ["one"]},
    }


def test_a_method_is_a_tool_without_its_object() -> None:
    name = {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}
    assert only(Office().find) == {"name": "find", "description": "Find a person.", "parameters": name}
    assert only(Office.all)["parameters"] == {
        "type": "object",
        "properties": {"floor": {"type": "integer", "default": 1}},
    }


def test_a_class_of_pydantic_is_a_tool_by_its_own_name() -> None:
    assert only(Person) == {
        "name": "Person",
        "description": "Who takes part.",
        "parameters": {
            "type": "object",
            "properties": {
                "name": {"type": "string"},
                "age": {"type": "integer", "description": "In years.", "default": 30, "minimum": 0},
            },
            "required": ["name"],
        },
    }


def test_a_dataclass_is_a_tool_and_what_it_writes_of_itself_is_no_description() -> None:
    assert only(SaveNote)["description"] == "Keeps a note."
    assert only(SaveNote)["parameters"]["properties"] == {
        "words": {"type": "string", "description": "What to keep."},
        "tags": {"type": "array", "items": {"type": "string"}},
    }
    assert "description" not in only(Plain)


def invite(guests: list[Person], host: Person, unit: Unit = Unit.KELVIN) -> None:
    """Invite people.

    Args:
        host: Who invites.
    """


def test_nested_models_are_inlined_where_they_are_used() -> None:
    properties = only(invite)["parameters"]["properties"]
    person = only(Person)["parameters"]
    assert only(invite)["parameters"].keys() == {"type", "properties", "required"}
    assert properties["guests"] == {"type": "array", "items": {"description": "Who takes part.", **person}}
    assert properties["host"] == {"description": "Who invites.", **person}
    assert properties["unit"] == {"type": "string", "default": "kelvin", "enum": ["celsius", "kelvin"]}


def test_a_model_that_holds_itself_keeps_its_references() -> None:
    definition = only(Tree)
    assert definition["description"] == "A tree of names."
    assert list(definition["parameters"]["properties"]) == ["name", "below"]
    assert definition["parameters"]["properties"]["below"]["items"] == {"$ref": "#/$defs/Tree"}
    assert definition["parameters"]["$defs"]["Tree"]["required"] == ["name"]


def test_hints_are_read_where_the_function_was_defined() -> None:
    code = "from __future__ import annotations\nfrom typing import Literal\ndef f(a: Literal['x']): ..."
    space: dict[str, Any] = {}
    exec(code, space)
    assert only(space["f"])["parameters"]["properties"] == {"a": {"type": "string", "const": "x"}}


def test_tools_of_python_do_wherever_definitions_do() -> None:
    call = '<tool_call>\n{"name": "get_weather", "arguments": {"city": "Oslo"}}\n</tool_call>'
    message = toolfmt.parse(call, "json", tools=[get_weather])
    assert [(made.name, made.arguments) for made in message.tool_calls] == [("get_weather", '{"city": "Oslo"}')]
    assert toolfmt.write("json", [("get_weather", {"city": "Oslo"})], tools=[get_weather, SaveNote]) == call
    assert list(tool_schemas([get_weather, {"name": "f"}, Person])) == ["get_weather", "f", "Person"]
    assert "- city (string, required): The city, for example Oslo." in prose("json", [get_weather])
    assert same_order([get_weather], canonical_tools([get_weather]))


def test_a_prompt_from_the_process_with_limits_knows_tools_of_python() -> None:
    directory = Path(__file__).parents[2] / "corpus" / "models" / "double-encoded"
    model = toolfmt.load(directory)
    messages = [{"role": "user", "content": "Hi"}]
    here = toolfmt.load(directory, trusted=True).render(messages, [get_weather, SaveNote])
    assert '"name": "get_weather", "description": "Get the weather of a city, as it will be."' in here.text
    assert model.render(messages, iter([get_weather, SaveNote])) == here
    with pytest.raises(BadTools, match="tools must be a list of tool definitions, not a function"):
        model.render(messages, get_weather)


def test_a_definition_is_made_once_and_goes_with_its_function() -> None:
    def here(city: str) -> None: ...

    assert only(here)["parameters"]["required"] is only(here)["parameters"]["required"]
    gone = weakref.ref(here)
    del here
    gc.collect()
    assert gone() is None


def starred(*cities: str) -> None: ...
def keywords(**cities: str) -> None: ...
def positional(city: str, /) -> None: ...
def not_json(office: Office) -> None: ...
def a_callable(call: Callable[[int], int]) -> None: ...
def unknown(city: Nowhere) -> None: ...  # type: ignore[name-defined]  # noqa: F821  # what is tested


@pytest.mark.parametrize(
    ("tool", "message"),
    [
        (starred, r"\(starred\): \*cities has no schema; name each parameter"),
        (keywords, r"\(keywords\): \*\*cities has no schema; name each parameter"),
        (positional, r"\(positional\): city is positional only, and a call names its arguments; remove the /"),
        (Office.find, r"\(find\): a method without its object; give it of an instance"),
        (lambda city: city, r"\(<lambda>\): a lambda has no name to be called by; define a function"),
        (unknown, r"\(unknown\): its type hints give no JSON Schema: name 'Nowhere' is not defined"),
        (not_json, r"\(not_json\): its type hints give no JSON Schema: Unable to generate .*\.Office'>"),
        (a_callable, r"\(a_callable\): its type hints give no JSON Schema: Cannot generate .*"),
    ],
)
def test_an_invalid_tool_is_reported_in_one_line(tool: Any, message: str) -> None:
    for read in (canonical_tools, tool_schemas):
        with pytest.raises(BadTools, match=rf"^tools\[1\] {message}$") as raised:
            read([{"name": "f"}, tool])
        assert "\n" not in str(raised.value)


CODE = """
import sys
sys.modules["{missing}"] = None
from toolfmt.messages.tools import canonical_tools
def f(city: str):
    '''Find.

    Args:
        city: Which.
    '''
canonical_tools([{{"name": "g"}}])
assert "toolfmt.messages.python_tools" not in sys.modules
try:
    canonical_tools([f])
except ValueError as error:
    print(error)
"""


@pytest.mark.parametrize(
    ("missing", "message"),
    [
        ("pydantic", "making a tool from Python requires pydantic: pip install pydantic docstring_parser"),
        ("docstring_parser", "reading the docstring requires docstring_parser: pip install pydantic docstring_parser"),
    ],
)
def test_a_missing_library_is_reported_with_what_to_install(missing: str, message: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", CODE.format(missing=missing)], capture_output=True, text=True, check=True, timeout=300
    )
    assert done.stdout == f"tools[0] (f): {message}\n"
