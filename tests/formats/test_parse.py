"""Many outputs together are parsed like each alone, in the same order, with any number of processes."""

from __future__ import annotations

import copy
import pickle
import threading
from collections.abc import Iterator
from typing import Any

import pytest

import toolfmt
import toolfmt.messages.tools as tools_module
from toolfmt.errors import BadTools, UnknownFormat

TOOLS = [{"name": "f", "parameters": {"type": "object", "properties": {"zip": {"type": "string"}}}}]
CALL = "<tool_call>f\n<arg_key>zip</arg_key>\n<arg_value>{}</arg_value>\n</tool_call>"
TEXTS = [
    "",
    "Hi.",
    "<think>hm</think>Well.",
    *(CALL.format(number) for number in range(300)),
    "<tool_call>f\n<arg_key>",
]


@pytest.mark.parametrize("processes", [1, 3])
def test_each_message_is_what_parse_makes_of_its_text(processes: int) -> None:
    options: dict[str, Any] = {"tools": TOOLS, "prefix": "<think>", "strict": True}
    expected = [toolfmt.parse(text, "glm4", **options) for text in TEXTS]
    assert toolfmt.parse_many(iter(TEXTS), "glm4", **options, processes=processes) == expected
    assert toolfmt.parse_many([], toolfmt.get("glm4"), processes=processes) == []


@pytest.mark.parametrize("prefix", ["The capital\n\n", "Hello <tool_", "a <"])
def test_what_the_prefix_holds_back_at_its_end_is_in_the_message(prefix: str) -> None:
    assert toolfmt.parse("b", "json", prefix=prefix).content == prefix + "b"


def test_whitespace_alone_after_a_start_marker_in_the_prefix_is_not() -> None:
    assert toolfmt.parse("Hm.</think>Yes.", "json", prefix="<think>\n").reasoning == "Hm."


def test_tools_that_come_once_are_there_for_every_text() -> None:
    tools: Iterator[Any] = iter(TOOLS)
    messages = toolfmt.parse_many([CALL.format(7)] * 2, "glm4", tools=tools)
    assert [message.tool_calls[0].arguments for message in messages] == ['{"zip": "7"}'] * 2


class RuntimeTool:
    """A tool as in a runtime: an object with a method that describes it, which cannot be sent to another process."""

    def __init__(self) -> None:
        self.lock = threading.Lock()

    def model_dump(self) -> Any:
        return TOOLS[0]


@pytest.mark.parametrize("processes", [1, 2])
def test_tools_that_do_not_pickle_are_sent_as_their_definitions(processes: int) -> None:
    messages = toolfmt.parse_many([CALL.format(7)] * 2, "glm4", tools=[RuntimeTool()], processes=processes)
    assert [message.tool_calls[0].arguments for message in messages] == ['{"zip": "7"}'] * 2


def test_tools_are_checked_once_for_all_texts(monkeypatch: pytest.MonkeyPatch) -> None:
    checked: list[object] = []
    check = tools_module._checked_function

    def counted(tool: Any, position: int) -> Any:
        checked.append(tool)
        return check(tool, position)

    monkeypatch.setattr(tools_module, "_checked_function", counted)
    expected = [toolfmt.parse(text, "glm4", tools=TOOLS) for text in TEXTS[:20]]
    checked.clear()
    assert toolfmt.parse_many(TEXTS[:20], "glm4", tools=TOOLS) == expected
    assert checked == TOOLS


@pytest.mark.parametrize("again", [copy.copy, copy.deepcopy, lambda tools: pickle.loads(pickle.dumps(tools))])
def test_tools_that_were_checked_are_the_same_in_another_process(again: Any) -> None:
    given = again(tools_module.counting_tools(TOOLS))
    assert given == [{"name": "f", "parameters": TOOLS[0]["parameters"]}]
    assert tools_module.tool_schemas(given) == {"f": TOOLS[0]["parameters"]}


@pytest.mark.parametrize("processes", [1, 2])
def test_what_is_no_text_is_named(processes: int) -> None:
    texts: Any
    for texts in ("hello", b"hello"):
        with pytest.raises(
            TypeError, match=r"^texts must be a collection of strings, not one string; use parse\(text, format\)"
        ):
            toolfmt.parse_many(texts, "json", processes=processes)
    for text, kind in ((None, "NoneType"), (b"x", "bytes")):
        texts = ["a", text]
        with pytest.raises(TypeError, match=rf"^texts\[1\] must be a string, not {kind}; "):
            toolfmt.parse_many(texts, "json", processes=processes)


@pytest.mark.parametrize("processes", ["2", 2.0, None, True])
def test_what_is_no_number_of_processes_is_named(processes: Any) -> None:
    with pytest.raises(TypeError, match=f"^processes must be an integer of at least 1, not {processes!r}$"):
        toolfmt.parse_many(["a"], "json", processes=processes)


def test_bad_input_is_reported_before_a_text_is_read() -> None:
    def never() -> Iterator[str]:
        raise AssertionError("a text was read")
        yield ""

    with pytest.raises(UnknownFormat):
        toolfmt.parse_many(never(), "jsn")
    with pytest.raises(BadTools):
        toolfmt.parse_many(never(), "json", tools={})
    with pytest.raises(ValueError, match="processes must be at least 1, not 0"):
        toolfmt.parse_many(never(), "json", processes=0)
