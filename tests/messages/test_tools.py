"""Tool definitions as runtimes hold them: objects that describe themselves, other types, duplicate names."""

from __future__ import annotations

import json
import warnings
from typing import Any

import pytest

import toolfmt
from toolfmt.errors import BadTools, RepeatedTool
from toolfmt.messages.tools import canonical_tools, parameter_order, same_order, tool_schemas

STRING = {"type": "object", "properties": {"zip": {"type": "string"}}}
INTEGER = {"type": "object", "properties": {"zip": {"type": "integer"}}}
CALL = "<tool_call>find\n<arg_key>zip</arg_key>\n<arg_value>0150</arg_value>\n</tool_call>"


class Dumped:
    """What pydantic's models look like from outside."""

    def __init__(self, data: Any) -> None:
        self._data = data

    def model_dump(self) -> Any:
        return self._data


def tool(name: str = "find", parameters: Any = STRING) -> dict[str, Any]:
    return {"type": "function", "function": {"name": name, "parameters": parameters}}


def arguments(tools: Any) -> list[str]:
    return [call.arguments for call in toolfmt.parse(CALL, "glm4", tools=tools).tool_calls]


@pytest.mark.parametrize(
    "given",
    [
        Dumped(tool() | {"function": tool()["function"] | {"strict": None, "description": None}}),
        Dumped({"name": "find", "parameters": STRING, "strict": None}),
        {"type": "function", "function": Dumped(tool()["function"] | {"strict": None})},
        tool() | {"function": tool()["function"] | {"strict": None}},
        tool()["function"] | {"type": "function", "strict": None},
    ],
)
def test_an_object_with_model_dump_is_a_definition(given: Any) -> None:
    assert tool_schemas([given]) == {"find": STRING}
    assert canonical_tools([given]) == canonical_tools([tool()])
    assert arguments([given]) == ['{"zip": "0150"}']
    assert toolfmt.write("glm4", [("find", {"zip": "0150"})], tools=[given]) == CALL


@pytest.mark.parametrize(
    "given",
    [
        {"name": "find", "input_schema": STRING},
        {"type": "custom", "name": "find", "input_schema": STRING},
        {"name": "find", "inputSchema": STRING, "parameters": None},
        Dumped({"name": "find", "inputSchema": STRING, "description": None}),
        {"type": "function", "function": {"name": "find", "input_schema": STRING}},
    ],
)
def test_the_schema_is_read_under_the_names_that_others_give_it(given: Any) -> None:
    """Anthropic's Messages API writes `input_schema`, the Model Context Protocol `inputSchema`."""
    assert tool_schemas([given]) == {"find": STRING}
    assert canonical_tools([given]) == canonical_tools([tool()])
    assert arguments([given]) == ['{"zip": "0150"}']


def test_parameters_come_before_the_other_names_of_a_schema() -> None:
    assert tool_schemas([{"name": "find", "inputSchema": INTEGER, "parameters": STRING}]) == {"find": STRING}
    with pytest.raises(
        BadTools, match=r'^tools\[0\] \(find\): "input_schema" must be a JSON Schema object, not a list$'
    ):
        tool_schemas([{"name": "find", "input_schema": []}])


def test_a_class_is_no_definition() -> None:
    message = r"^tools\[0\]: a tool definition is a mapping or an object with model_dump"
    for read in (tool_schemas, canonical_tools):
        with pytest.raises(BadTools, match=message + ": give an instance, not the class Dumped$"):
            read([Dumped])
        with pytest.raises(BadTools, match=message + ", not a builtin_function_or_method$"):
            read([print])
        with pytest.raises(BadTools, match=r'"function" must be .*not the class Dumped$'):
            read([{"type": "function", "function": Dumped}])
    with pytest.raises(BadTools, match=r"^tools\[0\]: a tool definition is an object, not a number"):
        tool_schemas([Dumped(1)])


def test_entries_of_other_types_are_passed_over_by_the_parser() -> None:
    others = [
        {"type": "web_search"},
        {"type": "mcp", "server_label": "x"},
        Dumped({"type": "code_interpreter"}),
        {"type": "web_search_20250305", "name": "find", "max_uses": 5},
        {"type": "custom", "custom": {"name": "find"}},
    ]
    assert tool_schemas([*others, tool()]) == {"find": STRING}
    assert arguments([*others, tool()]) == ['{"zip": "0150"}']
    message = toolfmt.parse(CALL, "glm4", tools=others)
    assert [rejected.reason for rejected in message.rejected] == ["undeclared_tool"]


def test_a_prompt_rejects_an_entry_that_is_not_a_function() -> None:
    for entry in ({"type": "web_search"}, {"type": "web_search", "name": "web_search"}):
        with pytest.raises(BadTools, match=r"^tools\[1\]: a tool of type 'web_search' is not a function"):
            canonical_tools([tool(), entry])


@pytest.mark.parametrize("entry", [{}, {"type": "function"}, {"type": 1}, {"function": {}}])
def test_a_function_without_a_name_is_rejected(entry: Any) -> None:
    for read in (tool_schemas, canonical_tools):
        with pytest.raises(BadTools, match=r'has no "name"'):
            read([entry])


def test_of_two_tools_with_one_name_the_first_counts_and_one_warning_is_given() -> None:
    twice = [tool(), tool(parameters=INTEGER), tool("other")]
    with pytest.warns(
        RepeatedTool, match=r"^tools\[1\]: tools\[0\] is called 'find' too; the first one counts$"
    ) as warned:
        parser = toolfmt.Parser("glm4", tools=twice)
    assert [warning.filename for warning in warned] == [__file__]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        deltas = [event.delta for event in parser.feed(CALL) if isinstance(event, toolfmt.ToolCallArguments)]
    assert "".join(deltas) == '{"zip": "0150"}'
    with pytest.raises(BadTools, match="tool names must differ"):
        canonical_tools(twice)


def read_by_parse(tools: Any) -> None:
    toolfmt.parse(CALL, "glm4", tools=tools)


def read_by_parse_many(tools: Any) -> None:
    toolfmt.parse_many([CALL] * 3, "glm4", tools=tools)


def read_in_processes(tools: Any) -> None:
    toolfmt.parse_many([CALL] * 3, "glm4", tools=tools, processes=2)


def written(tools: Any) -> None:
    toolfmt.write("glm4", [("find", {"zip": "0150"})], tools=tools)


@pytest.mark.parametrize("use", [read_by_parse, read_by_parse_many, read_in_processes, written])
def test_the_warning_comes_once_and_points_at_the_callers_line(use: Any, capfd: pytest.CaptureFixture[str]) -> None:
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        use(iter([tool(), {"type": "web_search"}, tool(parameters=INTEGER), tool()]))
    assert [str(warning.message) for warning in warned] == [
        f"tools[{position}]: tools[0] is called 'find' too; the first one counts" for position in (2, 3)
    ]
    assert {(warning.filename, warning.lineno) for warning in warned} == {(__file__, use.__code__.co_firstlineno + 1)}
    assert capfd.readouterr().err == ""  # a separate process would report it there


def test_one_definition_has_one_canonical_form() -> None:
    function = {"name": "find", "description": None, "parameters": STRING}
    assert canonical_tools([{"type": "function", **function}]) == canonical_tools([tool()])
    assert canonical_tools([{"function": {**function, "parameters": None}}]) == [
        {"type": "function", "function": {"name": "find"}}
    ]


MAIL = {
    "required": ["to", "body"],
    "additionalProperties": False,
    "properties": {
        "to": {"items": {"format": "email", "type": "string"}, "type": "array"},
        "subject": {"default": None, "anyOf": [{"type": "string"}, {"type": "null"}]},
        "body": {"$ref": "#/$defs/text"},
    },
    "$defs": {"text": {"minLength": 1, "type": "string"}, "other": {}},
    "type": "object",
}


def turned(value: Any) -> Any:
    """The same JSON with the keys of every object in reverse."""
    if isinstance(value, dict):
        return {key: turned(value[key]) for key in reversed(value)}
    return [turned(item) for item in value] if isinstance(value, list) else value


def test_the_order_of_tools_and_of_all_in_their_parameters_is_the_callers() -> None:
    function = {"strict": True, "zone": 1, "parameters": MAIL, "area": 2, "description": "Sends.", "name": "send"}
    given = [{"function": function, "type": "function"}, tool("find")]
    expected = {"name": "send", "description": "Sends.", "parameters": MAIL, "strict": True, "area": 2, "zone": 1}
    assert json.dumps(canonical_tools(given)) == json.dumps([{"type": "function", "function": expected}, tool("find")])
    named = [canonical["function"]["name"] for canonical in canonical_tools(given, sort_tools=True)]
    assert named == ["find", "send"]


def test_sorted_properties_are_one_text_in_whatever_order_the_keys_were() -> None:
    texts = {
        json.dumps(canonical_tools([tool(parameters=parameters)], sort_properties=True))
        for parameters in (MAIL, turned(MAIL), dict(sorted(MAIL.items())))
    }
    assert len(texts) == 1
    (ordered,) = canonical_tools([tool(parameters=turned(MAIL))], sort_properties=True)
    parameters = ordered["function"]["parameters"]
    assert list(parameters) == ["type", "properties", "required", "$defs", "additionalProperties"]
    assert list(parameters["properties"]) == ["to", "body", "subject"]
    assert list(parameters["properties"]["to"]) == ["type", "items"]
    assert list(parameters["$defs"]) == ["other", "text"]
    assert parameters == MAIL


def test_required_parameters_are_sorted_first_and_what_is_no_name_is_passed_over() -> None:
    schema = {"type": "object", "properties": {"a": {}, "c": {}, "b": {}}, "required": [["a"], 1, "c", "c"]}
    (ordered,) = canonical_tools([tool(parameters=schema)], sort_properties=True)
    assert list(ordered["function"]["parameters"]["properties"]) == ["c", "a", "b"]


def test_what_was_given_is_not_changed_and_not_shared() -> None:
    for sort in (False, True):
        (canonical,) = canonical_tools([tool(parameters=MAIL)], sort_properties=sort)
        canonical["function"]["parameters"]["properties"]["to"]["type"] = "string"
    assert MAIL["properties"]["to"]["type"] == "array"  # type: ignore[index]


@pytest.mark.parametrize("sort", [False, True])
def test_a_parameters_name_is_a_string(sort: bool) -> None:
    with pytest.raises(BadTools, match=r'^tools\[0\]: the names in "properties" must be strings$'):
        canonical_tools([tool(parameters={"properties": {1: {}}})], sort_properties=sort)


def test_parameters_are_listed_in_the_order_of_their_definition() -> None:
    assert parameter_order(MAIL) == ["to", "subject", "body"]
    assert parameter_order({}) == parameter_order({"properties": None}) == []


@pytest.mark.parametrize(
    "given",
    [
        {"type": "function", "function": {"parameters": STRING, "name": "find"}},
        {"parameters": STRING, "name": "find"},
        {"function": {"name": "find", "parameters": STRING}, "type": "function"},
        Dumped({"parameters": STRING, "name": "find"}),
    ],
)
def test_a_definition_whose_keys_are_reordered_is_detected(given: Any) -> None:
    assert not same_order([given], canonical_tools([given]))


@pytest.mark.parametrize(
    "given",
    [
        tool(),
        tool(parameters=MAIL),
        tool(parameters=turned(MAIL)),
        tool() | {"strict": None},
        {"name": "find", "parameters": STRING},
        {"type": "function", "name": "find", "parameters": STRING},
        {"type": "function", "function": {"name": "find", "input_schema": STRING}},
        tool() | {"function": tool()["function"] | {"description": None}},
        Dumped(tool()),
    ],
)
def test_another_shape_alone_changes_no_order(given: Any) -> None:
    assert same_order([given], canonical_tools([given]))


def test_sorted_tools_and_properties_are_in_another_order() -> None:
    assert not same_order([tool(parameters=MAIL)], canonical_tools([tool(parameters=MAIL)], sort_properties=True))
    assert not same_order([tool(), tool("a")], canonical_tools([tool(), tool("a")], sort_tools=True))
    assert not same_order([tool(), tool("a")], canonical_tools([tool()]))
    assert not same_order([tool(parameters={"minimum": 1})], [tool(parameters={"minimum": True})])


def test_a_schema_is_sixty_four_deep_at_most() -> None:
    schema: dict[str, Any] = {}
    for _ in range(64):
        schema = {"items": schema}
    assert canonical_tools([tool(parameters=schema)])[0]["function"]["parameters"] == schema
    with pytest.raises(BadTools, match="nested more than 64 deep"):
        canonical_tools([tool(parameters={"items": schema})])
