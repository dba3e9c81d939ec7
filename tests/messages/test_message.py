"""Events folded into messages and emitted as chunks: the nine rules of an OpenAI stream, and the real client reading
it.
"""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

import toolfmt
from toolfmt.formats import Parser, WholeCalls
from toolfmt.integrations.protocols import Chat
from toolfmt.messages.events import Event
from toolfmt.messages.message import Message

TWO = (
    'Let me see.\n<tool_call>\n{"name": "weather", "arguments": {"city": "Os\\u006co"}}\n</tool_call>\n'
    '<tool_call>\n{"name": "now"}\n</tool_call>'
)


def stream(text: str, size: int = 3, **options: Any) -> list[dict[str, Any]]:
    parser, chunks = Parser("json", **options), Chat("chatcmpl-1", "some-model", 0, whole_calls=False)
    emitted = [chunk for at in range(0, len(text), size) for chunk in chunks.push(parser.feed(text[at : at + size]))]
    return emitted + chunks.push(parser.finish()) + chunks.finish()


def deltas(chunks: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [chunk["choices"][0]["delta"] for chunk in chunks]


def test_a_message_holds_everything() -> None:
    before, cut = "<think>hm</think>" + TWO, '<tool_call>{"name": "x'
    message = toolfmt.parse(before + cut, "json")
    assert message.to_dict() == {
        "role": "assistant",
        "content": "Let me see.\n",
        "reasoning_content": "hm",
        "tool_calls": [
            {
                "id": "call_0",
                "type": "function",
                "function": {"name": "weather", "arguments": '{"city": "Os\\u006co"}'},
            },
            {"id": "call_1", "type": "function", "function": {"name": "now", "arguments": "{}"}},
        ],
        "rejected": [
            {
                "index": 2,
                "reason": "incomplete_output",
                "span": [len(before), len(before + cut)],
                "raw": cut,
                "name": None,
                "arguments": "",
                "at": len(before + cut),
                "expected": "the end of the string",
                "message": "Tool call rejected: the output ended before the call was complete; "
                "expected the end of the string (character 22 of the call).",
            }
        ],
    }


def test_an_answer_of_calls_alone_has_no_content() -> None:
    assert toolfmt.parse('\n<tool_call>{"name": "f"}</tool_call>\n', "json").content is None


def test_ids_are_unique_over_a_conversation() -> None:
    text = '<tool_call>{"id": "a", "name": "f"}</tool_call>' * 2
    calls = toolfmt.parse(text, "json", taken_ids=["call_0"]).tool_calls
    assert [call.id for call in calls] == ["a", "call_1"]


def test_a_continued_message_is_whole() -> None:
    message = toolfmt.parse("world!", "json", prefix="<|im_start|>assistant\n<think>\nhm\n</think>\n\nHello, ")
    assert (message.content, message.reasoning) == ("\n\nHello, world!", "\nhm\n")


def test_a_call_started_in_the_prompt_is_returned_whole() -> None:
    prefix = '<|im_start|>assistant\n<tool_call>\n{"name": "f", "arguments": {"a": "x'
    parser = Parser("json", prefix=prefix)
    events: list[Event] = [*parser.feed('y"}}\n</tool_call>'), *parser.finish()]
    (call,) = Message.from_events(events).tool_calls
    assert (call.name, call.arguments) == ("f", '{"a": "xy"}')


def test_the_stream_follows_the_rules() -> None:
    """INTERFACES rules 1 to 4, 7 and 8: indexes, what comes first and only once, fragments, the last chunk."""
    chunks = stream(TWO)
    assert deltas(chunks)[0]["role"] == "assistant"
    assert all("role" not in delta for delta in deltas(chunks)[1:])
    calls: dict[int, list[Any]] = {}
    for delta in deltas(chunks):
        for call in delta.get("tool_calls", []):
            calls.setdefault(call["index"], []).append(call)
    assert sorted(calls) == [0, 1]
    for pieces in calls.values():
        assert pieces[0]["type"] == "function" and pieces[0]["id"] and pieces[0]["function"]["arguments"] == ""
        assert all(
            set(piece) == {"index", "function"} and set(piece["function"]) == {"arguments"} for piece in pieces[1:]
        )
        assert isinstance(json.loads("".join(piece["function"]["arguments"] for piece in pieces)), dict)
    assert [chunk["choices"][0]["finish_reason"] for chunk in chunks] == [None] * (len(chunks) - 1) + ["tool_calls"]
    assert deltas(chunks)[-1] == {}


@pytest.mark.parametrize(
    ("text", "reason"),
    [("Hi", "stop"), ("", "stop"), (TWO, "tool_calls"), ('<tool_call>{"name": "f", "arguments": {"a": "', "length")],
)
def test_the_stream_ends_with_its_reason(text: str, reason: str) -> None:
    assert stream(text)[-1]["choices"][0]["finish_reason"] == reason


def test_a_call_that_broke_under_way_ends_the_stream_with_an_error() -> None:
    chunks = stream('<tool_call>{"name": "f", "arguments": {"a": 1 @}}</tool_call>')
    assert chunks[-1]["error"]["type"] == "malformed_syntax"


@pytest.mark.parametrize("size", [1, 5, 1000])
def test_the_openai_client_reads_the_stream(size: int) -> None:
    """The real client library accumulates the chunks into the message that `parse` gives."""
    openai = pytest.importorskip("openai", reason="the openai client is a test dependency")
    from openai.lib.streaming.chat import ChatCompletionStreamState
    from openai.types.chat import ChatCompletionChunk

    state = ChatCompletionStreamState()
    done = []
    for chunk in stream(TWO, size):
        events = state.handle_chunk(ChatCompletionChunk.model_validate(chunk))
        done += [event for event in events if event.type == "tool_calls.function.arguments.done"]
    (choice,) = state.get_final_completion().choices
    expected = toolfmt.parse(TWO, "json")
    assert openai and choice.finish_reason == "tool_calls" and choice.message.content == expected.content
    calls = [(call.id, call.function.name, call.function.arguments) for call in choice.message.tool_calls or []]
    assert calls == [(call.id, call.name, call.arguments) for call in expected.tool_calls]
    assert [event.name for event in done] == ["weather", "now"]


@pytest.mark.parametrize(
    ("format", "prefix", "fed"),
    [
        ("json", '{"name":"f","arguments":{}}', " Done."),
        ("json", '<tool_call>\n{"name":"f","arguments":{}}', "\nDone."),
        ("json", '<think>draft <tool_call>{"name":"f","arguments":{}}</tool_call>', " so."),
        ("lfm2", "<|tool_call_start|>[f()]", "\nDone"),
        ("xml_function", "<tool_call><function=f></function>", "\nDone"),
        ("json", '<tool_call>{"name": ]', "abc"),
    ],
)
def test_a_call_that_ended_in_the_prompt_is_not_emitted_again(format: str, prefix: str, fed: str) -> None:
    parser = Parser(format, prefix=prefix)
    events = [*parser.feed(fed), *parser.finish()]
    assert {type(event).__name__ for event in events} <= {"Content", "Reasoning"}
    assert "".join(event.to_dict()["text"] for event in events).strip() == fed.strip()


def test_a_message_for_an_endpoint_has_no_empty_key_and_nothing_rejected() -> None:
    whole = toolfmt.parse("<think>hm</think>" + TWO + '<tool_call>{"name": "x', "json")
    calls = [call.to_dict() for call in whole.tool_calls]
    expected = {"role": "assistant", "content": "Let me see.\n", "reasoning_content": "hm", "tool_calls": calls}
    assert whole.rejected and whole.to_openai() == expected
    alone = toolfmt.parse(TWO.partition("\n")[2], "json").to_openai()
    assert alone == {"role": "assistant", "tool_calls": calls}
    assert toolfmt.parse("Hi.", "json").to_openai() == {"role": "assistant", "content": "Hi."}
    for nothing in ("", "<think></think>", '<tool_call>{"name": "x'):
        assert toolfmt.parse(nothing, "json").to_openai() == {"role": "assistant", "content": ""}


class Dumped:
    """What pydantic's models look like from outside."""

    def __init__(self, data: Any) -> None:
        self._data = data

    def model_dump(self) -> Any:
        return self._data


def test_the_ids_that_a_conversation_holds() -> None:
    messages: list[Any] = [
        {"role": "user", "content": "?"},
        {"role": "assistant", "tool_calls": [{"id": "a", "function": {}}, {"id": None}, {}, 1]},
        {"role": "tool", "tool_call_id": "a", "content": ""},
        Dumped({"role": "assistant", "tool_calls": [{"id": "b"}]}),
        {"role": "assistant", "tool_calls": (Dumped({"id": "c"}),)},
        {"role": "tool", "tool_call_id": "lost"},
        {"role": "assistant", "tool_calls": None},
        toolfmt.Message(tool_calls=[toolfmt.ToolCall("d", "f", "{}")]),
        None,
    ]
    assert toolfmt.taken_ids(messages) == ["a", "b", "c", "lost", "d"]
    assert toolfmt.taken_ids([]) == []


def test_ids_that_are_taken_are_found_in_other_shapes() -> None:
    anthropic = [
        {"role": "assistant", "content": [{"type": "text", "text": "a"}, {"type": "tool_use", "id": "a", "name": "f"}]},
        {
            "role": "user",
            "content": [{"type": "tool_result", "tool_use_id": "b"}, {"type": "image", "id": "x"}, "text"],
        },
    ]
    items = [
        {"type": "function_call", "id": "fc", "call_id": "c", "name": "f", "arguments": "{}"},
        Dumped({"type": "function_call_output", "call_id": "d", "output": ""}),
    ]
    assert toolfmt.taken_ids([*anthropic, *items]) == ["a", "b", "c", "d"]


def test_ids_go_on_from_those_that_are_taken() -> None:
    ids = toolfmt.CallIds(["functions.f:0", "x"], "functions.{name}:{number}")
    given = [ids.of(toolfmt.ToolCallStart(0, "f", id)) for id in (None, "x", "own", "own", None)]
    assert given == ["functions.f:2", "functions.f:3", "own", "functions.f:4", "functions.f:5"]
    messages = [toolfmt.parse(TWO, "json").to_openai()]
    again = toolfmt.parse(TWO, "json", taken_ids=toolfmt.taken_ids(messages))
    assert [call.id for call in again.tool_calls] == ["call_2", "call_3"]


@pytest.mark.parametrize(
    ("form", "problem"),
    [
        ("call", r"has no {number}, so that every call would have one id; write a form such as 'call_{number}'"),
        ("{name}", "has no {number}"),
        ("{{number}}", "has no {number}"),
        ("call_{foo}", "has the placeholder {foo}, and only {name} and {number} are known"),
        ("call_{}", "has the placeholder {}, and"),
        ("call_{number.real}", "has the placeholder {number.real}, and"),
        ("call_{number", "cannot be filled in"),
        ("call_{number:s}", "cannot be filled in"),
        ("call_{number:{name}}", "has a placeholder within another"),
        ("call_{number!s:.1}", "gives two numbers one id"),
        (None, "is not a string"),
        (["{number}"], "is not a string"),
    ],
)
def test_a_call_id_format_that_gives_no_two_ids_is_rejected_at_once(form: Any, problem: str) -> None:
    message = "^" + re.escape(f"call_id {form!r} {problem}")
    with pytest.raises(ValueError, match=message):
        toolfmt.CallIds((), form)
    with pytest.raises(ValueError, match=message):
        Message.from_events([], call_id=form)


@pytest.mark.parametrize(
    ("form", "expected"),
    [("call{number:05d}", "call00000"), ("{name:>3}-{number!r}", "  f-0"), ("{{{number:x}}}", "{0}")],
)
def test_a_call_id_format_may_specify_how_its_parts_are_written(form: str, expected: str) -> None:
    ids = toolfmt.CallIds((), form)
    assert ids.of(toolfmt.ToolCallStart(0, "f")) == expected
    assert len({ids.of(toolfmt.ToolCallStart(0, "f")) for _ in range(30)}) == 30


@pytest.mark.parametrize("taken", ["call_0", b"call_0", None, 3, [{"role": "user"}], [Message()], ["a", None]])
def test_an_invalid_collection_of_ids_is_rejected(taken: Any) -> None:
    message = r"^taken_ids is a collection of ids; taken_ids\(messages\) makes one$"
    with pytest.raises(TypeError, match=message):
        Message.from_events([], taken)
    with pytest.raises(TypeError, match=message):
        toolfmt.parse("Hi.", "json", taken_ids=taken)


@pytest.mark.parametrize("alone", [{"role": "tool", "tool_call_id": "a"}, Message(), Dumped({"role": "user"}), "a"])
def test_one_message_alone_holds_ids_only_in_a_list(alone: Any) -> None:
    with pytest.raises(TypeError, match=r"^messages is a list of messages; taken_ids\(\[message\]\) takes one alone$"):
        toolfmt.taken_ids(alone)


@pytest.mark.parametrize(
    ("given", "description"),
    [
        ([[toolfmt.Content("x")]], "[Content(text='x', start=0)]"),
        ("x", "'x'"),
        ([None], "None"),
        (["x" * 1000], "'" + "x" * 99 + "…"),
    ],
)
def test_what_is_no_event_is_named(given: Any, description: str) -> None:
    for read in (Message.from_events, WholeCalls().events):
        with pytest.raises(TypeError, match=f"^{re.escape('not an event: ' + description)}$"):
            read(given)


def test_objects_without_an_id_have_no_taken_ids() -> None:
    messages: list[Any] = [Dumped, Dumped(1), {"tool_calls": 3}, {"tool_calls": [{"id": 3}, {"id": ""}]}, 5]
    assert toolfmt.taken_ids(messages) == []


def test_a_call_that_was_never_announced_breaks_no_stream_and_takes_no_index() -> None:
    nameless = '<tool_call>{"name": "", "arguments": {}}</tool_call>'
    assert stream(nameless)[-1]["choices"][0]["finish_reason"] == "stop"
    chunks = stream(nameless + '<tool_call>{"name": "f", "arguments": {}}</tool_call>')
    assert {call["index"] for delta in deltas(chunks) for call in delta.get("tool_calls", [])} == {0}
    assert chunks[-1]["choices"][0]["finish_reason"] == "tool_calls"


def test_the_stream_of_an_empty_answer_has_a_role() -> None:
    assert deltas(stream("")) == [{"role": "assistant", "content": ""}, {}]


def test_an_argument_that_is_called_id_is_no_id_of_the_call() -> None:
    tools = [{"name": "f", "parameters": {"type": "object", "properties": {"id": {"type": "string"}}}}]
    (call,) = toolfmt.parse('<tool_call>{"name": "f", "id": "x"}</tool_call>', "json", tools=tools).tool_calls
    assert (call.id, call.arguments) == ("call_0", '{"id": "x"}')


def test_a_name_with_a_space_is_called_if_a_tool_has_it() -> None:
    tools = [{"name": "get time", "parameters": {"type": "object", "properties": {}}}]
    (call,) = toolfmt.parse('{"name": "get time", "parameters": {}}', "llama3", tools=tools).tool_calls
    assert call.name == "get time"


def test_events_of_two_calls_are_never_one() -> None:
    pieces: list[Event] = [toolfmt.ToolCallArguments(index, "{}") for index in (0, 0, 1)]
    assert toolfmt.merge(pieces) == [toolfmt.ToolCallArguments(0, "{}{}"), toolfmt.ToolCallArguments(1, "{}")]
