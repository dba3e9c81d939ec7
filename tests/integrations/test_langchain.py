"""LangChain reads the calls of any model: invoked, in batches and streamed, and joins chunks without inventing any."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from functools import reduce
from operator import add
from typing import Any

import pytest
from langchain_core.language_models.fake_chat_models import FakeListChatModel
from langchain_core.messages import AIMessage, AIMessageChunk, HumanMessage
from langchain_core.tools import tool

import toolfmt
from toolfmt.errors import BadTools, UnknownFormat
from toolfmt.formats import FORMATS
from toolfmt.integrations.langchain import read_calls

TOOLS: list[Any] = [
    {"name": "get_weather", "parameters": {"type": "object", "properties": {"city": {"type": "string"}}}},
    {"name": "now", "parameters": {"type": "object", "properties": {}}},
]
CALLS = [("get_weather", {"city": "Oslo"}), ("now", {})]
THOUGHT = "<think>Hm.</think>"
CUT = '<tool_call>\n{"name": "get_weather", "arguments": {"city": "Os'
WHY = (
    "Call to get_weather rejected: the output ended before the call was complete; expected the end of the string "
    "(character 61 of the call)."
)
TEXT = "Let me look."
ANSWER = THOUGHT + TEXT + toolfmt.write("json", CALLS, TOOLS) + "\n" + CUT
RAW_JSON = '{"name": "get_weather", "parameters": {"city": "Os'
"""A call that was cut in a format without markers: what is completed for a client makes a call of it."""


def made(message: Any) -> list[tuple[str, Any]]:
    return [(call["name"], call["args"]) for call in message.tool_calls]


def joined(chunks: Iterator[Any]) -> Any:
    return reduce(add, chunks)


def in_pieces(text: str, size: int = 3) -> Iterator[AIMessageChunk]:
    return (AIMessageChunk(content=text[at : at + size]) for at in range(0, len(text), size))


def test_a_chain_returns_a_message_with_the_calls_and_the_truncated_ones() -> None:
    message = (FakeListChatModel(responses=[ANSWER]) | read_calls("json", TOOLS)).invoke("How is it?")
    assert type(message) is AIMessage
    assert (message.content, message.additional_kwargs, made(message)) == (TEXT, {"reasoning_content": "Hm."}, CALLS)
    (bad,) = message.invalid_tool_calls
    expected = {"name": "get_weather", "args": CUT, "id": None, "error": WHY}
    assert expected | {"type": "invalid_tool_call"} == bad


def test_a_chain_streams_content_as_it_comes_and_calls_when_they_are_whole() -> None:
    chunks = list((FakeListChatModel(responses=[ANSWER]) | read_calls("json", TOOLS)).stream("How is it?"))
    assert list(TEXT) == [chunk.content for chunk in chunks if chunk.content]
    assert [[call] for call in CALLS] == [made(chunk) for chunk in chunks if chunk.tool_calls]
    assert [chunk.invalid_tool_calls[0]["error"] for chunk in chunks if chunk.invalid_tool_calls] == [WHY]
    assert [chunk.chunk_position for chunk in chunks[-2:]] == [None, "last"]
    message = joined(iter(chunks))
    assert (message.content, made(message)) == (TEXT, CALLS)
    rejected = [{"reason": "incomplete_output", "message": WHY, "raw": CUT}]
    assert message.additional_kwargs == {"reasoning_content": "Hm.", "rejected": rejected}
    assert [json.loads(bad["args"]) for bad in message.invalid_tool_calls] == [CUT]
    assert message.id == chunks[0].id is not None


def test_a_cut_call_without_markers_is_no_call_when_chunks_are_joined() -> None:
    assert made(AIMessageChunk(content="", invalid_tool_calls=[_invalid(RAW_JSON)]) + AIMessageChunk(content="")) != []
    message = joined(read_calls("llama3", TOOLS).transform(in_pieces(RAW_JSON)))
    assert (made(message), [json.loads(bad["args"]) for bad in message.invalid_tool_calls]) == ([], [RAW_JSON])


def _invalid(text: str) -> Any:
    return {"name": "get_weather", "args": text, "id": None, "error": None, "type": "invalid_tool_call"}


@pytest.mark.parametrize("name", [format.name for format in FORMATS])
def test_every_format_is_read_whole_and_in_pieces(name: str) -> None:
    calls = CALLS[:1] if name == "step3_xml" else CALLS
    text = toolfmt.write(name, calls, TOOLS)
    reader = read_calls(name, TOOLS)
    assert calls == made(reader.invoke(text)) == made(joined(reader.transform(in_pieces(text))))


def test_it_runs_in_batches_and_in_a_loop_of_events() -> None:
    reader = read_calls("json", TOOLS)
    assert [made(message) for message in reader.batch([ANSWER, TEXT])] == [CALLS, []]

    async def run() -> tuple[Any, Any]:
        streamed = [chunk async for chunk in (FakeListChatModel(responses=[ANSWER]) | reader).astream("How is it?")]
        return await reader.ainvoke(ANSWER), joined(iter(streamed))

    whole, streamed = asyncio.run(run())
    assert (made(whole), made(streamed), streamed.content) == (CALLS, CALLS, TEXT)


def test_contents_in_parts_keep_what_is_no_text() -> None:
    image = {"type": "image_url", "image_url": {"url": "data:,"}}
    text = toolfmt.write("json", CALLS, TOOLS)
    opened = {"type": "text", "text": TEXT[3:] + text[:6], "index": 0}
    content = [image, TEXT[:3], opened, {"type": "text", "text": text[6:]}]
    expected = [image, {"type": "text", "text": TEXT, "index": 0}]
    reader = read_calls("json", TOOLS)
    message = reader.invoke(AIMessage(content=content))
    assert (message.content, made(message)) == (expected, CALLS)
    message = joined(reader.stream(AIMessage(content=content)))
    assert (message.content, made(message)) == (expected, CALLS)
    assert reader.invoke(AIMessage(content=[{"type": "text", "text": text}])).content == []


def test_other_fields_of_the_message_are_kept() -> None:
    usage = {"input_tokens": 1, "output_tokens": 2, "total_tokens": 3}
    own = {"name": "now", "args": {}, "id": "own", "type": "tool_call"}
    about: Any = {"id": "m1", "usage_metadata": usage, "response_metadata": {"model_name": "m"}}
    given = AIMessage(
        content=ANSWER, tool_calls=[own], additional_kwargs={"reasoning_content": "So. ", "k": 1}, **about
    )
    for message in (read_calls("json", TOOLS).invoke(given), joined(read_calls("json", TOOLS).stream(given))):
        assert about == {name: getattr(message, name) for name in about}
        assert made(message) == [("now", {}), *CALLS]
        assert message.tool_calls[0]["id"] == "own"
        assert (message.additional_kwargs["reasoning_content"], message.additional_kwargs["k"]) == ("So. Hm.", 1)
    assert (given.content, given.tool_calls, given.additional_kwargs["reasoning_content"]) == (ANSWER, [own], "So. ")


def test_ids_are_the_model_s_own_where_it_wrote_one_and_never_given_twice() -> None:
    reader = read_calls("json", TOOLS)
    ids = [call["id"] for message in reader.batch([ANSWER] * 3) for call in message.tool_calls]
    ids += [call["id"] for call in joined(reader.transform(in_pieces(ANSWER))).tool_calls]
    assert len({*ids}) == 8
    assert {len(id) <= 40 for id in ids} == {True}
    twice = "".join(
        f"<|tool_calls_section_begin|><|tool_call_begin|>functions.now:{number}<|tool_call_argument_begin|>{{}}"
        "<|tool_call_end|><|tool_calls_section_end|>"
        for number in (4, 4)
    )
    for message in (
        read_calls("kimi_k2", TOOLS).invoke(twice),
        joined(read_calls("kimi_k2", TOOLS).transform(in_pieces(twice))),
    ):
        first, second = (call["id"] for call in message.tool_calls)
        assert first == "functions.now:4" != second


def test_hard_values_come_through_both_ways() -> None:
    deep: Any = {}
    for _ in range(250):
        deep = {"a": deep}
    arguments = {"n": 10**4000, "deep": deep, "s": "\ud800 }</tool_call>\n", "f": 1e300}
    text = toolfmt.write("json", [("f", arguments)])
    reader = read_calls("json")
    assert made(reader.invoke(text)) == made(joined(reader.transform(in_pieces(text)))) == [("f", arguments)]
    too_long = '<tool_call>{"name": "f", "arguments": {"n": ' + "9" * 5000 + "}}</tool_call>"
    for message in (reader.invoke(too_long), joined(reader.transform(in_pieces(too_long)))):
        assert (made(message), len(message.invalid_tool_calls)) == ([], 1)


def test_tools_of_langchain_and_options_of_the_parser_are_taken() -> None:
    @tool  # type: ignore[untyped-decorator]  # langchain-core is read as Any
    def add_up(first: str, number: int) -> str:
        """Add them up."""
        return ""

    text = "Hm.</think><tool_call>add_up\n" + "".join(
        f"<arg_key>{key}</arg_key>\n<arg_value>7</arg_value>\n" for key in ("first", "number")
    )
    message = read_calls("glm4", [add_up], prefix="<think>").invoke(text + "</tool_call>")
    assert made(message) == [("add_up", {"first": "7", "number": 7})]
    assert message.additional_kwargs == {"reasoning_content": "Hm."}


def test_bad_input_is_reported_when_the_reader_is_created() -> None:
    with pytest.raises(UnknownFormat):
        read_calls("jsn")
    with pytest.raises(BadTools):
        read_calls("json", [{"name": ""}])
    with pytest.raises(TypeError, match=r"^read_calls takes an AIMessage or text, not HumanMessage$"):
        read_calls("json").invoke(HumanMessage("hi"))


def test_a_chunk_alone_is_read_to_a_message_and_may_hold_all_of_an_answer() -> None:
    wrong = '<tool_call>\n{"name": "now", "arguments": 3}\n</tool_call>'
    chunk = AIMessageChunk(content=wrong + toolfmt.write("json", CALLS, TOOLS), response_metadata={"k": 1})
    reader = read_calls("json", TOOLS)
    message = reader.invoke(chunk)
    assert (type(message), message.response_metadata) == (AIMessage, {"k": 1})
    streamed = joined(reader.transform(iter([chunk])))
    assert made(message) == made(streamed) == CALLS
    assert [bad["args"] for bad in message.invalid_tool_calls] == [wrong]
    assert [json.loads(bad["args"]) for bad in streamed.invalid_tool_calls] == [wrong]
