"""Many answers at once are what each is alone, in the same order, in however many processes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

import toolfmt
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


def test_tools_that_come_once_are_there_for_every_text() -> None:
    tools: Iterator[Any] = iter(TOOLS)
    messages = toolfmt.parse_many([CALL.format(7)] * 2, "glm4", tools=tools)
    assert [message.tool_calls[0].arguments for message in messages] == ['{"zip": "7"}'] * 2


def test_bad_input_is_told_before_a_text_is_read() -> None:
    def never() -> Iterator[str]:
        raise AssertionError("a text was read")
        yield ""

    with pytest.raises(UnknownFormat):
        toolfmt.parse_many(never(), "jsn")
    with pytest.raises(BadTools):
        toolfmt.parse_many(never(), "json", tools={})
    with pytest.raises(ValueError, match="processes must be at least 1, not 0"):
        toolfmt.parse_many(never(), "json", processes=0)
