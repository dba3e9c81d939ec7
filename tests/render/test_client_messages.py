"""Messages as clients hold them: every wire format gives the same canonical messages, and invalid ones are rejected."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from openai.types.chat import ChatCompletionMessage
from openai.types.responses import ResponseFunctionToolCall, ResponseOutputMessage, ResponseReasoningItem

import toolfmt
from toolfmt.errors import BadMessages, ToolfmtError
from toolfmt.messages.message import Message, Rejected, ToolCall
from toolfmt.render.request.messages import arguments_of, calls_of, checked_messages, flattened

USER = {"role": "user", "content": "Will it rain?"}
ARGUMENTS = '{"place": "Oslo"}'


def call(id: str | None = "c1", *, name: str = "get_weather", arguments: Any = ARGUMENTS) -> dict[str, Any]:
    named = {} if id is None else {"id": id}
    return {**named, "type": "function", "function": {"name": name, "arguments": arguments}}


def result(content: Any, id: str = "c1", **more: Any) -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": id, "content": content, **more}


def read(*messages: object, known_roles: tuple[str, ...] = ()) -> list[dict[str, Any]]:
    return checked_messages(list(messages), known_roles)


def rejection(*messages: object) -> str:
    with pytest.raises(BadMessages) as caught:
        read(*messages)
    assert "\n" not in str(caught.value)
    return str(caught.value)


# OpenAI, Chat Completions


def test_messages_of_chat_completions_stay_as_they_are() -> None:
    messages: list[dict[str, Any]] = [
        {"role": "system", "content": "Be brief."},
        {"role": "developer", "content": "No lists."},
        {**USER, "name": "ann", "citations": [1]},
        {"role": "assistant", "content": None, "reasoning": "Hm.", "thinking": "Hm.", "tool_calls": [call()]},
        result("Rain.", name="get_weather"),
        {"role": "assistant", "content": ""},
        {"role": "user", "content": [{"type": "text", "text": "And?"}, {"type": "image_url", "image_url": {}}]},
        {"role": "assistant", "tool_calls": [{"name": "f", "arguments": {"a": None}}]},
    ]
    assert messages == checked_messages(messages)
    assert [list(message) for message in messages] == [list(message) for message in checked_messages(messages)]


def test_keys_that_are_none_are_left_out_but_for_the_content() -> None:
    nulls = {"role": "assistant", "content": None, "name": None, "reasoning_content": None, "tool_calls": None}
    assert read(nulls) == [{"role": "assistant", "content": None}]
    nones = {"id": "c1", "index": None, "function": {"name": "f", "arguments": {"a": None}, "description": None}}
    assert read({"role": "assistant", "tool_calls": [nones]})[0]["tool_calls"] == [
        {"id": "c1", "function": {"name": "f", "arguments": {"a": None}}}
    ]


def test_objects_of_the_openai_package_go_back_as_they_are() -> None:
    answered = ChatCompletionMessage.model_validate({"role": "assistant", "content": None, "tool_calls": [call()]})
    expected = {"role": "assistant", "content": None, "tool_calls": [call()]}
    assert [USER, expected, expected] == read(
        USER, answered, {"role": "assistant", "content": None, "tool_calls": answered.tool_calls}
    )


def test_a_refusal_is_the_text_of_its_message() -> None:
    with_refusal = ChatCompletionMessage.model_validate({"role": "assistant", "content": None, "refusal": "No."})
    expected = {"role": "assistant", "content": "No."}
    assert [expected, expected] == read(
        with_refusal, {"role": "assistant", "content": [{"type": "refusal", "refusal": "No."}]}
    )
    both = [{"type": "text", "text": "Well."}, {"type": "text", "text": "No."}]
    assert [{"role": "assistant", "content": both}] == read({"role": "assistant", "content": "Well.", "refusal": "No."})


def test_parts_without_a_type_are_text() -> None:
    text = {"type": "text", "text": "a"}
    document = {"title": "t", "text": "b"}
    parts = ["a", {"text": "a"}, {**text, "cache_control": {"type": "ephemeral"}, "citations": None}, document]
    assert [{"role": "user", "content": [text, text, text, document]}] == read({"role": "user", "content": parts})


def test_calls_of_custom_tools_hold_their_input() -> None:
    custom = {"id": "c1", "type": "custom", "custom": {"name": "run", "input": "ls"}}
    assert [call(name="run", arguments={"input": "ls"})] == read({"role": "assistant", "tool_calls": [custom]})[0][
        "tool_calls"
    ]


def test_the_older_shape_gets_ids_that_are_its_own() -> None:
    call_message = {
        "role": "assistant",
        "content": None,
        "function_call": {"name": "get_weather", "arguments": ARGUMENTS},
    }
    answer = {"role": "function", "name": "get_weather", "content": "Rain."}
    taken = [{"role": "assistant", "tool_calls": [call("function_call_0")]}, result("Sun.", "function_call_0")]
    assert [
        *taken,
        {"role": "assistant", "content": None, "tool_calls": [call("function_call_1")]},
        result("Rain.", "function_call_1", name="get_weather"),
        {"role": "assistant", "content": None, "tool_calls": [call("function_call_2")]},
        result("Rain.", "function_call_2", name="get_weather"),
        result("Rain.", "function_call_3", name="get_weather"),
    ] == read(*taken, call_message, answer, call_message, answer, answer)


def test_an_id_in_the_older_shape_does_not_change_when_the_conversation_grows() -> None:
    call_message = {"role": "assistant", "content": None, "function_call": {"name": "f", "arguments": "{}"}}
    grown = [
        call_message,
        {"role": "function", "name": "f", "content": "1"},
        {"role": "assistant", "tool_calls": [call()]},
    ]
    assert read(*grown)[:2] == read(*grown[:2])


def test_a_result_in_the_older_shape_answers_a_call_with_an_id() -> None:
    call_message = {"role": "assistant", "tool_calls": [call("a"), call("b"), call(None, name="g")]}
    results = [{"role": "function", "name": name, "content": name} for name in ("get_weather", "get_weather", "g")]
    ids = [message.get("tool_call_id") for message in read(call_message, *results)[1:]]
    assert ids == ["a", "b", None]


# What a parser gives


def test_what_a_parser_gives_goes_back() -> None:
    rejected = Rejected(1, "malformed_syntax", (0, 3), "<to")
    message = Message("Well.", None, [ToolCall("c1", "get_weather", ARGUMENTS)], [rejected])
    expected = {"role": "assistant", "content": "Well.", "tool_calls": [call()]}
    assert [expected] * 3 == read(message, message.to_dict(), message.to_openai())
    assert read(toolfmt.parse("<think>Hm.</think>", "json")) == [
        {"role": "assistant", "content": None, "reasoning_content": "Hm.", "tool_calls": []}
    ]


# Anthropic, Messages


def test_tool_use_and_thinking_of_anthropic_are_read() -> None:
    answered = {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": "m",
        "content": [
            {"type": "thinking", "thinking": "Hm.", "signature": "s"},
            {"type": "redacted_thinking", "data": "opaque"},
            {"type": "text", "text": "Let me look.", "citations": None},
            {"type": "tool_use", "id": "c1", "name": "get_weather", "input": {"place": None}},
        ],
        "stop_reason": "tool_use",
        "stop_sequence": None,
        "usage": {"input_tokens": 1},
    }
    expected = {
        "role": "assistant",
        "content": "Let me look.",
        "reasoning_content": "Hm.",
        "tool_calls": [call(arguments={"place": None})],
    }
    assert [expected] == read(answered)
    bare = {"role": "assistant", "content": [{"type": "tool_use", "id": "c1", "name": "get_weather", "input": {}}]}
    assert [{"role": "assistant", "content": None, "tool_calls": [call(arguments={})]}] == read(bare)


def test_results_of_anthropic_come_before_the_rest_of_their_message() -> None:
    image = {"type": "image", "source": {"type": "url", "url": "u"}}
    parts = [
        {"type": "text", "text": "Go on."},
        {"type": "tool_result", "tool_use_id": "c1", "content": "Rain."},
        {"type": "tool_result", "tool_use_id": "c2", "content": [{"type": "text", "text": "Sun."}]},
        {"type": "tool_result", "tool_use_id": "c3", "content": [{"type": "text", "text": "Fog."}, image]},
        {"type": "tool_result", "tool_use_id": "c4"},
    ]
    fog = [{"type": "text", "text": "Fog."}, image]
    results = [result("Rain."), result("Sun.", "c2"), result(fog, "c3"), result("", "c4")]
    assert [*results, {"role": "user", "content": "Go on."}] == read({"role": "user", "content": parts})
    assert results == read({"role": "user", "content": parts[1:]})


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("no such place", "Error: no such place"),
        ("Error: no such place", "Error: no such place"),
        (None, "Error: the tool failed"),
        ([{"type": "text", "text": "no such place"}], "Error: no such place"),
        (
            [{"type": "image", "source": {}}],
            [{"type": "text", "text": "Error:"}, {"type": "image", "source": {}}],
        ),
    ],
)
def test_a_result_that_is_an_error_is_marked_as_one(content: Any, expected: Any) -> None:
    part = {"type": "tool_result", "tool_use_id": "c1", "content": content, "is_error": True}
    assert [result(expected)] == read({"role": "user", "content": [part]})


def test_documents_and_search_results_of_anthropic_are_text() -> None:
    text = {"type": "text", "text": "b"}
    parts = [
        {"type": "document", "title": "a", "source": {"type": "text", "media_type": "text/plain", "data": "b"}},
        {"type": "document", "source": {"type": "content", "content": [text, text]}},
        {"type": "search_result", "title": "t", "source": "s", "content": [text]},
    ]
    texts = [{"type": "text", "text": part_text} for part_text in ("a\nb", "b\nb", "t\ns\nb")]
    assert [{"role": "user", "content": texts}] == read({"role": "user", "content": parts})
    own = [{"type": "document", "document": {"a": 1}}]  # as templates that have documents read them
    assert [result(own)] == read(result(own))


def test_thinking_of_mistral_is_a_list_of_texts() -> None:
    thinking = {"type": "thinking", "thinking": [{"type": "text", "text": "H"}, {"type": "text", "text": "m."}]}
    assert read({"role": "assistant", "content": [thinking, {"type": "text", "text": "Rain."}]}) == [
        {"role": "assistant", "content": "Rain.", "reasoning_content": "Hm."}
    ]


def test_thinking_in_a_system_prompt_is_a_part_of_it() -> None:
    shown = [{"type": "text", "text": "Think first."}, {"type": "thinking", "thinking": "Hm.", "closed": True}]
    assert read({"role": "system", "content": shown}) == [{"role": "system", "content": shown}]
    assert flattened(shown) == "Think first.\nHm."


# OpenAI, Responses


def reasoning(text: str, key: str = "summary") -> dict[str, Any]:
    return {"type": "reasoning", "id": "rs", "summary": [], key: [{"type": f"{key}_text", "text": text}]}


def item_call(id: str = "c1") -> dict[str, Any]:
    return {"type": "function_call", "id": "fc", "call_id": id, "name": "get_weather", "arguments": ARGUMENTS}


def item_result(output: Any, id: str = "c1") -> dict[str, Any]:
    return {"type": "function_call_output", "call_id": id, "output": output}


def item_message(text: str, role: str = "assistant") -> dict[str, Any]:
    part = {"type": "output_text" if role == "assistant" else "input_text", "text": text}
    return {"type": "message", "id": "msg", "status": "completed", "role": role, "content": [part]}


def test_items_of_one_turn_are_one_message() -> None:
    turn = {
        "role": "assistant",
        "content": "Let me look.",
        "reasoning_content": "Hm.",
        "tool_calls": [call(), call("c2")],
    }
    items = [reasoning("Hm."), item_message("Let me look."), item_call(), item_call("c2")]
    results = [item_result("Rain."), item_result([{"type": "input_text", "text": "Sun."}], "c2")]
    expected_results = [result("Rain."), result("Sun.", "c2")]
    later = {"role": "assistant", "content": None, "reasoning_content": "Hm.\n\nOh.", "tool_calls": [call("c3")]}
    assert [{**USER}, turn, *expected_results, later] == read(
        item_message("Will it rain?", "user"),
        *items,
        *results,
        reasoning("Hm.", "content"),
        reasoning("Oh."),
        item_call("c3"),
    )


def test_objects_of_the_responses_api_are_items() -> None:
    output_text = {"type": "output_text", "text": "Rain.", "annotations": []}
    output = [
        ResponseReasoningItem.model_validate(reasoning("") | {"summary": [], "encrypted_content": "x"}),
        ResponseOutputMessage.model_validate({**item_message(""), "content": [output_text]}),
        ResponseFunctionToolCall.model_validate(item_call()),
    ]
    assert [USER, {"role": "assistant", "content": "Rain.", "tool_calls": [call()]}] == read(USER, *output)


def test_a_short_message_takes_the_reasoning_before_and_the_calls_after_it() -> None:
    short = {"role": "assistant", "content": "Let me look."}
    read_ = read(short, reasoning("Hm."), short, item_call(), short)
    assert [short, {**short, "reasoning_content": "Hm.", "tool_calls": [call()]}, short] == read_


def test_a_turn_of_several_messages_keeps_each_text() -> None:
    texts = [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]
    read_ = read(item_message("a"), item_call(), item_message("b"), item_result("Rain."), item_message("c"))
    assert [
        {"role": "assistant", "content": texts, "tool_calls": [call()]},
        result("Rain."),
        {"role": "assistant", "content": "c"},
    ] == read_


def test_other_items_and_parts_of_the_responses_api() -> None:
    custom = {"type": "custom_tool_call", "call_id": "c1", "name": "run", "input": "ls"}
    output = {"type": "custom_tool_call_output", "call_id": "c1", "output": "a.txt"}
    image = {"role": "user", "content": [{"type": "input_image", "image_url": "u", "detail": "auto"}]}
    assert [
        {"role": "assistant", "content": None, "tool_calls": [call(name="run", arguments={"input": "ls"})]},
        result("a.txt"),
        {"role": "user", "content": [{"type": "image_url", "image_url": {"url": "u"}}]},
    ] == read(custom, output, image)


# Ollama


def test_results_of_ollama_have_a_name_and_no_id() -> None:
    call_message = {
        "role": "assistant",
        "content": "",
        "thinking": "Hm.",
        "tool_calls": [call(None, arguments={"place": "Oslo"})],
    }
    answered = {"role": "tool", "content": "Rain."}
    assert read(call_message, {**answered, "tool_name": "get_weather"}) == [
        call_message,
        {**answered, "name": "get_weather"},
    ]
    assert read(call_message, {**answered, "tool_name": "x", "name": "get_weather"})[1] == {
        **answered,
        "name": "get_weather",
    }
    assert (
        rejection(call_message, {**answered, "tool_name": 1})
        == 'messages[1]: "tool_name" must be a string, not a number'
    )
    assert read({**USER, "tool_name": "x"}) == [{**USER, "tool_name": "x"}]


def test_images_of_ollama_are_parts_after_the_text() -> None:
    image = {"type": "image", "image": "iVBORw0="}
    text = {"type": "text", "text": "Will it rain?"}
    assert read({**USER, "images": ["iVBORw0="]}) == [{"role": "user", "content": [text, image]}]
    assert read({"role": "user", "content": [text], "images": ["iVBORw0="]}) == [
        {"role": "user", "content": [text, image]}
    ]
    assert read({"role": "user", "content": "", "images": ["iVBORw0="]}) == [{"role": "user", "content": [image]}]
    assert read({**USER, "images": []}) == [USER]


# Requests


def test_a_request_begins_with_its_system_text() -> None:
    system = {"role": "system", "content": "Be brief."}
    tools = [{"name": "f"}]
    chat = {"model": "m", "messages": [USER], "functions": tools}
    assert toolfmt.read_request(chat) == toolfmt.ClientRequest([USER], tools)
    anthropic = {"system": [{"type": "text", "text": "Be brief."}], "messages": [USER], "tools": tools}
    assert toolfmt.read_request(anthropic) == toolfmt.ClientRequest([system, USER], tools, True)
    responses = {"instructions": "Be brief.", "input": "Will it rain?", "previous_response_id": None}
    assert toolfmt.read_request(responses) == toolfmt.ClientRequest([system, USER], None, True)


@pytest.mark.parametrize(
    ("request_", "message"),
    [
        ([USER], 'the request: a request is an object with "messages", not a list'),
        ({}, 'the request: no "messages" and no "input"; give one of them'),
        ({"input": "a", "messages": []}, 'the request: both "messages" and "input"; give one of them'),
        (
            {"input": "a", "previous_response_id": "resp_1"},
            'the request: "previous_response_id" names turns that only its server holds; give them all in "input"',
        ),
        (
            {"messages": [USER], "system": {}},
            'the request: "system" must be a string or a list of text parts, not an object',
        ),
    ],
)
def test_an_invalid_request_is_rejected_in_one_line(request_: object, message: str) -> None:
    with pytest.raises(ToolfmtError) as caught:
        toolfmt.read_request(request_)
    assert str(caught.value) == message


# What is rejected


def test_an_unknown_role_is_rejected_in_one_line() -> None:
    assert rejection(USER, {"role": "narrator", "content": "x"}) == (
        "messages[1]: no role is called 'narrator'; roles: system, developer, user, assistant, tool"
    )  # fmt: skip
    ipython_message = {"role": "ipython", "content": "x"}
    assert [USER, ipython_message] == read(USER, ipython_message, known_roles=("user", "ipython"))
    with pytest.raises(BadMessages, match=r"^messages\[0\]: no role is called 'x'; .* assistant, tool, a, b, ipython$"):
        read({"role": "x"}, known_roles=("user", "ipython", "b", "a"))


def part(role: str, **part: Any) -> dict[str, Any]:
    return {"role": role, "content": [part]}


@pytest.mark.parametrize(
    ("message", "error"),
    [
        (
            {"role": "user", "content": [1]},
            "messages[0].content[0]: a part must be an object or a string, not a number",
        ),
        (part("user", type="text"), 'messages[0].content[0]: "text" must be a string, not null'),
        (part("user", type="input_text", text=1), 'messages[0].content[0]: "text" must be a string, not a number'),
        (
            part("user", type="tool_use", id="1", name="f", input={}),
            "messages[0].content[0]: a part of type 'tool_use' can only be in a message of the role "
            "assistant, not user",
        ),
        (
            part("assistant", type="tool_result", tool_use_id="1"),
            "messages[0].content[0]: a part of type 'tool_result' can only be in a message of the role user, "
            "not assistant",
        ),
        (
            part("assistant", type="tool_use", id="1", input={}),
            'messages[0].content[0]: the call has no "name"; a name is a string that is not empty',
        ),
        (
            part("assistant", type="tool_use", id="1", name="f", input=[]),
            'messages[0].content[0]: "arguments" must be an object or a string of JSON, not a list',
        ),
        (
            part("user", type="tool_result", content="x"),
            'messages[0].content[0]: "tool_use_id" must be a string, not null',
        ),
        (
            part("user", type="tool_result", tool_use_id="1", content={}),
            "messages[0].content[0].content must be a string or a list of parts, not an object",
        ),
        (
            part("assistant", type="server_tool_use", name="web_search"),
            "messages[0].content[0]: a part of type 'server_tool_use' is a tool that a server ran by itself; "
            "leave it out",
        ),
        (
            part("user", type="document", source={"type": "base64", "data": "x"}),
            "messages[0].content[0]: this document is not text; pass its text, or leave it out",
        ),
        (
            part("assistant", type="thinking", thinking=[1]),
            "messages[0].content[0].thinking: a part must be an object with text, not a number",
        ),
        (
            {"type": "web_search_call", "id": "ws"},
            "messages[0]: an item of type 'web_search_call' is not a message; leave it out (supported items: message, "
            "function_call, function_call_output, reasoning, custom_tool_call, custom_tool_call_output)",
        ),
        (
            {"type": "function_call", "call_id": "1"},
            'messages[0]: the call has no "name"; a name is a string that is not empty',
        ),
        (
            {"type": "function_call_output", "call_id": "1", "output": 1},
            'messages[0]: "output" must be a string or a list of parts, not a number',
        ),
        ({"type": "reasoning", "summary": 1}, "messages[0]: the texts of a reasoning must be a list, not a number"),
        ({"role": "function", "content": "x"}, 'messages[0]: "name" must be a string, not null'),
        (
            {"role": "assistant", "function_call": {"name": "f"}, "tool_calls": [call()]},
            'messages[0] has both "tool_calls" and "function_call"; leave the older one out',
        ),
        ({"role": "assistant", "function_call": 1}, 'messages[0]: "function_call" must be an object, not a number'),
        ({"role": "assistant", "refusal": 1}, 'messages[0]: "refusal" must be a string, not a number'),
        (
            {"role": "assistant", "reasoning_content": 1},
            'messages[0]: "reasoning_content" must be a string, not a number',
        ),
        (
            {"type": "reasoning", "summary": []},
            "messages contains no text; pass at least one message with text",
        ),
    ],
)
def test_an_invalid_message_is_rejected_in_one_line(message: object, error: str) -> None:
    assert error == rejection(message)


def test_endlessly_nested_parts_are_rejected() -> None:
    nested: Any = "x"
    for _ in range(5000):
        nested = [{"type": "document", "source": {"type": "content", "content": nested}}]
    assert rejection({"role": "user", "content": nested}) == "messages[0] is nested too deeply; give its text"


# Guarantees

_WORDS = [
    "role",
    "content",
    "type",
    "text",
    "system",
    "developer",
    "user",
    "assistant",
    "tool",
    "function",
    "message",
    "tool_calls",
    "function_call",
    "name",
    "id",
    "arguments",
    "input",
    "output",
    "call_id",
    "tool_call_id",
    "tool_use_id",
    "tool_use",
    "tool_result",
    "thinking",
    "redacted_thinking",
    "refusal",
    "reasoning",
    "reasoning_content",
    "summary",
    "is_error",
    "document",
    "source",
    "data",
    "custom",
    "custom_tool_call",
    "image_url",
    "input_image",
    "input_text",
    "output_text",
    "search_result",
    "title",
    "function_call_output",
    "custom_tool_call_output",
    "rejected",
]
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=2) | st.sampled_from(_WORDS),
    lambda inside: st.lists(inside, max_size=4) | st.dictionaries(st.sampled_from(_WORDS), inside, max_size=5),
    max_leaves=30,
)
PART = st.fixed_dictionaries(
    {"type": st.sampled_from(_WORDS)},
    optional={
        **dict.fromkeys(("text", "thinking", "id", "name", "tool_use_id", "refusal", "title"), JSON | st.just("x")),
        **dict.fromkeys(("input", "content", "source", "is_error", "image_url"), JSON),
    },
)
MESSAGE = st.fixed_dictionaries(
    {},
    optional={
        "role": st.sampled_from(["system", "user", "assistant", "tool", "function", "x"]),
        "type": st.sampled_from(_WORDS),
        "content": st.none() | st.just("x") | st.lists(PART | JSON, max_size=3),
        "tool_calls": st.lists(JSON | st.just(call()), max_size=2) | JSON,
        "function_call": JSON | st.just({"name": "f", "arguments": "{}"}),
        **dict.fromkeys(("name", "call_id", "refusal", "arguments", "tool_call_id"), JSON | st.just("f")),
        **dict.fromkeys(("output", "summary", "input", "reasoning_content", "rejected"), JSON | st.lists(PART)),
    },
)


@given(JSON | st.lists(MESSAGE | JSON, max_size=4))
def test_any_json_value_is_read_or_rejected(messages: Any) -> None:
    try:
        canonical = checked_messages(messages)
    except BadMessages as error:
        assert "\n" not in str(error)
        return
    for message in canonical:
        assert message["role"] in ("system", "developer", "user", "assistant", "tool")
        assert [key for key, value in message.items() if value is None and key != "content"] == []
        content = message.get("content")
        assert content is None or isinstance(content, (str, list))
        assert not isinstance(content, list) or all(isinstance(part, dict) for part in content)
        assert all(isinstance(one, dict) for one in calls_of(message))
    assert canonical == checked_messages(canonical)


@pytest.mark.parametrize("key, value", [("tool_calls", [None]), ("function_call", {"name": "f", "arguments": "{}"})])
def test_a_result_in_the_older_shape_makes_no_calls(key: str, value: Any) -> None:
    messages = [{"role": "user", "content": "one"}, {"role": "function", "name": "f", "content": "r", key: value}]
    with pytest.raises(BadMessages, match=rf'^messages\[1\]: .* makes no calls; leave "{key}" out$'):
        checked_messages(messages)
    assert key not in checked_messages([messages[0], {**messages[1], key: None}])[1]


TEXT = st.text(min_size=1, max_size=4)
CALL = st.tuples(st.sampled_from(["f", "g"]), st.dictionaries(TEXT, st.none() | TEXT | st.integers(), max_size=2), TEXT)
TURN = st.tuples(TEXT, st.none() | TEXT, st.none() | TEXT, st.lists(CALL, max_size=2), TEXT)
"""The user's question; reasoning, text and calls (name, arguments, result) of the response; the text that ends it."""


def as_chat(turns: Any) -> Iterator[dict[str, Any]]:
    for at, (question, thought, text, calls, end) in enumerate(turns):
        yield {"role": "user", "content": question}
        if calls:
            reasoned = {"reasoning_content": thought} if thought else {}
            made = [call(f"{at}.{n}", name=one[0], arguments=one[1]) for n, one in enumerate(calls)]
            yield {"role": "assistant", "content": text, "tool_calls": made, **reasoned}
            yield from (result(one[2], f"{at}.{n}") for n, one in enumerate(calls))
        yield {"role": "assistant", "content": end}


def as_anthropic(turns: Any) -> Iterator[dict[str, Any]]:
    for at, (question, thought, text, calls, end) in enumerate(turns):
        yield {"role": "user", "content": question}
        if calls:
            parts = [{"type": "thinking", "thinking": thought, "signature": "s"}] if thought else []
            parts += [{"type": "text", "text": text}] if text else []
            parts += [
                {"type": "tool_use", "id": f"{at}.{n}", "name": name, "input": sent}
                for n, (name, sent, _) in enumerate(calls)
            ]
            yield {"role": "assistant", "content": parts}
            results = [
                {"type": "tool_result", "tool_use_id": f"{at}.{n}", "content": [{"type": "text", "text": one[2]}]}
                for n, one in enumerate(calls)
            ]
            yield {"role": "user", "content": results}
        yield {"role": "assistant", "content": end}


def as_items(turns: Any) -> Iterator[dict[str, Any]]:
    for at, (question, thought, text, calls, end) in enumerate(turns):
        yield item_message(question, "user")
        if calls:
            yield from [reasoning(thought)] if thought else []
            yield from [item_message(text)] if text else []
            for n, (name, sent, _) in enumerate(calls):
                yield {**item_call(f"{at}.{n}"), "name": name, "arguments": json.dumps(sent)}
            yield from (item_result(one[2], f"{at}.{n}") for n, one in enumerate(calls))
        yield item_message(end)


def canonical_messages(messages: Iterator[dict[str, Any]]) -> list[dict[str, Any]]:
    """The canonical messages, arguments as objects."""
    read = checked_messages(list(messages))
    for message in read:
        for one in calls_of(message):
            one["function"]["arguments"] = arguments_of(one, "a call")
    return read


@given(st.lists(TURN, min_size=1, max_size=3))
def test_a_conversation_is_the_same_in_every_shape(turns: Any) -> None:
    chat = canonical_messages(as_chat(turns))
    assert chat == list(as_chat(turns))
    assert chat == canonical_messages(as_anthropic(turns))
    assert chat == canonical_messages(as_items(turns))


@given(st.lists(CALL, min_size=1, max_size=3))
def test_a_conversation_in_the_older_shape_is_the_same_but_for_its_ids(calls: Any) -> None:
    older: list[dict[str, Any]] = []
    for name, sent, returned in calls:
        call_message = {
            "role": "assistant",
            "content": None,
            "function_call": {"name": name, "arguments": json.dumps(sent)},
        }
        older += [call_message, {"role": "function", "name": name, "content": returned}]
    expected: list[dict[str, Any]] = []
    for number, (name, sent, returned) in enumerate(calls):
        id = f"function_call_{number}"
        expected.append({"role": "assistant", "content": None, "tool_calls": [call(id, name=name, arguments=sent)]})
        expected.append(result(returned, id, name=name))
    assert expected == canonical_messages(iter(older))
