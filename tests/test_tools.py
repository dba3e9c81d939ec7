"""Tool definitions as runtimes hold them: objects that tell themselves, other types, one name twice."""

from __future__ import annotations

import warnings
from typing import Any

import pytest

import toolfmt
from toolfmt.errors import BadTools, RepeatedTool
from toolfmt.tools import canonical_tools, tool_schemas

STRING = {"type": "object", "properties": {"zip": {"type": "string"}}}
INTEGER = {"type": "object", "properties": {"zip": {"type": "integer"}}}
CALL = "<tool_call>find\n<arg_key>zip</arg_key>\n<arg_value>0150</arg_value>\n</tool_call>"


class Dumped:
    """What pydantic's models look like from outside."""

    def __init__(self, told: Any) -> None:
        self._told = told

    def model_dump(self) -> Any:
        return self._told


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
    ],
)
def test_an_object_that_tells_itself_is_a_definition(given: Any) -> None:
    assert tool_schemas([given]) == {"find": STRING}
    assert canonical_tools([given]) == canonical_tools([tool()])
    assert arguments([given]) == ['{"zip": "0150"}']
    assert toolfmt.write("glm4", [("find", {"zip": "0150"})], tools=[given]) == CALL


def test_a_class_is_no_definition() -> None:
    with pytest.raises(BadTools, match=r"^tools\[0\]: a tool definition is an object"):
        tool_schemas([Dumped])
    with pytest.raises(BadTools, match=r"^tools\[0\]: a tool definition is an object, not a number"):
        tool_schemas([Dumped(1)])


def test_entries_of_other_types_are_passed_over_by_the_parser() -> None:
    others = [{"type": "web_search"}, {"type": "mcp", "server_label": "x"}, Dumped({"type": "code_interpreter"})]
    assert tool_schemas([*others, tool()]) == {"find": STRING}
    assert arguments([*others, tool()]) == ['{"zip": "0150"}']
    message = toolfmt.parse(CALL, "glm4", tools=others)
    assert [rejected.reason for rejected in message.rejected] == ["undeclared_tool"]


def test_a_prompt_refuses_an_entry_that_it_cannot_hold() -> None:
    with pytest.raises(BadTools, match=r"^tools\[1\]: a tool of type 'web_search' is no function"):
        canonical_tools([tool(), {"type": "web_search"}])


@pytest.mark.parametrize("entry", [{}, {"type": "function"}, {"type": 1}, {"function": {}}])
def test_a_function_without_a_name_is_refused(entry: Any) -> None:
    for read in (tool_schemas, canonical_tools):
        with pytest.raises(BadTools, match=r'has no "name"'):
            read([entry])


def test_of_two_tools_with_one_name_the_first_counts_and_that_is_said_once() -> None:
    twice = [tool(), tool(parameters=INTEGER), tool("other")]
    with pytest.warns(
        RepeatedTool, match=r"^tools\[1\]: a second tool is called 'find'; the first one counts$"
    ) as said:
        parser = toolfmt.Parser("glm4", tools=twice)
    assert [warning.filename for warning in said] == [__file__]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        told = [event.delta for event in parser.feed(CALL) if isinstance(event, toolfmt.ToolCallArguments)]
    assert "".join(told) == '{"zip": "0150"}'
    with pytest.raises(BadTools, match="tool names must differ"):
        canonical_tools(twice)
