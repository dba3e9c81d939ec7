"""Events as clients read them: each protocol's own client library ends up with the content of the events."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import product
from os.path import commonprefix
from typing import Any

import depth
import pytest
from client_readers import ENDINGS, READERS, Answer
from openai.types.responses import ResponseUsage

import toolfmt
from toolfmt.formats import Parser, ToolCallFormat, formats
from toolfmt.integrations.protocols import Chat, Messages, Ollama, Payload, Responses, StreamEncoder, Usage
from toolfmt.messages.events import Content, Event, ToolCallArguments, ToolCallEnd, ToolCallRejected, ToolCallStart
from toolfmt.messages.message import Message

SHAPES = list(READERS)
PROPERTIES = {
    "city": {"type": "string"},
    "days": {"type": "integer"},
    "text": {"type": "string"},
    "o": {"type": "object"},
}
TOOLS = [
    {"type": "function", "function": {"name": name, "parameters": {"type": "object", "properties": PROPERTIES}}}
    for name in ("f", "g")
]
CALLS: dict[str, list[tuple[str, dict[str, Any]]]] = {
    "one": [("f", {"city": "A"})],
    "typed": [("f", {"city": "Paris", "days": 2, "o": {"a": [1, True, None]}})],
    "two": [("f", {"city": "A"}), ("g", {"city": "B"})],
    "none": [("f", {})],
    "code": [("f", {"text": '  if x:\n    "y" \\ {z} [1] & <b> ü 🌍\n'})],
}
CLOSED_BEFORE = {"atem": "\n</atem:function_calls>"}
"""A frame of several calls that the writer opens for each call: its end marker comes after a call that is whole."""
CALL = '<tool_call>\n{"name": "f", "arguments": {"city": "Paris"}}\n</tool_call>'
MALFORMED = '<tool_call>{"name": "f", "arguments": {"a": 1 @}}</tool_call>'
INCOMPLETE = '<tool_call>{"name": "f", "arguments": {"city": "Os'
MALFORMED_MESSAGE = "Call to f rejected: expected ',' or '}', but found '@}}</tool_call>' (character 46 of the call)."
INCOMPLETE_MESSAGE = (
    "Call to f rejected: the output ended before the call was complete; expected the end of the string "
    "(character 50 of the call)."
)


def events(
    text: str, format: str | ToolCallFormat = "json", *, cut: bool = False, size: int = 3
) -> Iterator[list[Event]]:
    parser = Parser(format, tools=TOOLS)
    for piece in depth.pieces(text, size):
        yield parser.feed(piece)
    yield parser.finish(cut=cut)


def made(kind: type[StreamEncoder], **options: Any) -> StreamEncoder:
    return kind("answer-1", "some-model", 1_700_000_000, **options)


def stream(
    kind: type[StreamEncoder], batches: Iterator[list[Event]], reason: Any = None, **options: Any
) -> list[Payload]:
    shape = made(kind, **options)
    payloads = [payload for pushed in batches for payload in shape.push(pushed)]
    return payloads + shape.finish(reason)


def read(kind: type[StreamEncoder], payloads: list[Payload]) -> Answer:
    return READERS[kind][0](payloads)


def both(kind: type[StreamEncoder], text: str, reason: Any = None, **options: Any) -> Answer:
    """What a client gets from the response; the stream and the whole response give the same."""
    streamed = read(kind, stream(kind, events(text), reason, **options))
    whole = made(kind, **options).whole([event for batch in events(text) for event in batch], reason)
    assert streamed == READERS[kind][1](whole)
    return streamed


def written(format: ToolCallFormat, calls: list[tuple[str, Any]]) -> str | None:
    try:
        return toolfmt.write(format.name, calls, tools=TOOLS)
    except toolfmt.CannotWrite:
        return None


@pytest.mark.sample(2)
@pytest.mark.parametrize("kind", SHAPES)
@pytest.mark.parametrize("format", formats(), ids=lambda format: format.name)
def test_every_format_reaches_every_client(format: ToolCallFormat, kind: type[StreamEncoder]) -> None:
    tried = 0
    for (name, calls), whole_calls in product(CALLS.items(), (True, False)):
        if (text := written(format, calls)) is None or (not depth.every and whole_calls != (name != "typed")):
            continue
        answer = read(kind, stream(kind, events(text, format), whole_calls=whole_calls))
        assert Answer(calls=calls, ending=ENDINGS[kind]["calls"]) == answer
        tried += 1
    assert tried > 1


CUT_CALLS: list[list[tuple[str, dict[str, Any]]]] = [
    [("f", {"city": "Oslo", "days": 12}), ("g", {"text": "a {b}, 'c' <d>"}), ("g", {"city": "B"})],
    [("f", {"o": {"a": [1, True, None]}, "days": 345}), ("f", {}), ("g", {"city": "B"})],
    [("f", {"city": "A"}), ("g", {})],  # for formats that cannot write the others
]


def quoting_calls(format: ToolCallFormat) -> list[list[tuple[str, dict[str, Any]]]]:
    """Return calls with a value that contains what ends a call, without the end marker of a value."""
    ends = [markers[0] for markers in (format.engine.inner.closers, format.engine.closers) if markers]
    values = ["a" + before + "\n".join(ends) + " b" for before in ("\n", "}", "]")]
    return [[("g", {"text": value}), ("g", {"city": "B"})] for value in values]


def ends_of_calls(format: ToolCallFormat, calls: list[tuple[str, Any]]) -> Iterator[int]:
    """Where each of the calls but the last is complete: a text with one call more is the same up to there."""
    for count in range(1, len(calls)):
        common = commonprefix([written(format, calls[:count]) or "", written(format, calls[: count + 1]) or ""])  # noqa: RUF071  # must be characters
        yield len(common.rstrip("<[{,; \n").partition(CLOSED_BEFORE.get(format.name, "\0"))[0])


@pytest.mark.sample(2)
@pytest.mark.parametrize("format", formats(), ids=lambda format: format.name)
def test_no_cut_makes_a_call_that_was_not_written_whole(format: ToolCallFormat) -> None:
    """Cut at every character: each call of each protocol is one of those written, and was complete there.

    Nothing of an unfinished call is content, and the response ends as cut.
    """
    tried = 0
    for calls in [*CUT_CALLS, *depth.some(quoting_calls(format), 3)]:
        text = written(format, calls[:-1])
        if text is None or written(format, calls) is None:
            continue
        tried += 1
        ends = list(ends_of_calls(format, calls))
        for place in depth.some(range(len(text) + 1), 7):
            emitted = [event for pushed in events(text[:place], format, cut=True, size=1000) for event in pushed]
            content = "".join(event.text for event in emitted if isinstance(event, Content))
            rejected = [event for event in emitted if isinstance(event, ToolCallRejected)]
            assert [event.reason for event in rejected] in ([], ["incomplete_output"]), text[:place]
            assert not rejected or emitted[-1] is rejected[0], text[:place]
            for kind in SHAPES:
                payloads = stream(kind, iter([emitted]), "length")
                for answer in (READERS[kind][1](made(kind).whole(emitted, "length")), light(kind, payloads)):
                    whole = sum(end <= place for end in ends)
                    assert answer.calls == calls[: len(answer.calls)], text[:place]
                    assert len(answer.calls) <= whole, text[:place]
                    assert (answer.content, answer.ending) == (content, ENDINGS[kind]["cut"]), text[:place]
    assert tried


def light(kind: type[StreamEncoder], payloads: list[Payload]) -> Answer:
    """The response that the payloads of a stream add up to."""
    return READERS[kind][1](made(kind)._joined(payloads))


def has_call(payloads: list[Payload]) -> bool:
    text = json.dumps(payloads)
    return any(delimiter in text for delimiter in ('"tool_calls": [', '"tool_use"', '"function_call"'))


@pytest.mark.parametrize("kind", SHAPES)
def test_text_reasoning_and_calls_arrive_in_every_protocol(kind: type[StreamEncoder]) -> None:
    answer = both(kind, f"<think>Hm.</think>Let me see.\n{CALL}\n{CALL}Done.")
    calls = [("f", {"city": "Paris"})] * 2
    assert Answer("Let me see.\nDone.", "Hm.", calls, ENDINGS[kind]["calls"]) == answer


@pytest.mark.parametrize("kind", SHAPES)
@pytest.mark.parametrize(
    ("text", "reason", "ending"),
    [
        ("Hi.", "stop", "stop"),
        ("", "stop", "stop"),
        ("", None, "stop"),
        ("Hi.", "length", "cut"),
        (CALL, "stop", "calls"),
        (CALL, None, "calls"),
        (CALL + "And", "length", "cut"),
        (INCOMPLETE, None, "cut"),
        (INCOMPLETE, "length", "cut"),
        (INCOMPLETE, "stop", "stop"),
        (MALFORMED, None, "stop"),
        (MALFORMED, "length", "cut"),
        (CALL + MALFORMED, "stop", "calls"),
        (CALL + INCOMPLETE, "stop", "calls"),
    ],
)
def test_an_answer_ends_as_its_protocol_specifies(
    kind: type[StreamEncoder], text: str, reason: Any, ending: str
) -> None:
    """A malformed call is not a truncated output; only the runtime, or a call without its end, makes one."""
    assert ENDINGS[kind][ending] == both(kind, text, reason).ending


@pytest.mark.parametrize("kind", SHAPES)
@pytest.mark.parametrize("wrong", [MALFORMED, INCOMPLETE])
def test_the_text_of_a_rejected_call_goes_where_the_caller_requests(kind: type[StreamEncoder], wrong: str) -> None:
    before = f"Well.{CALL}"
    calls = [("f", {"city": "Paris"})]
    assert ("Well." + wrong, calls) == ((answer := both(kind, before + wrong, "stop")).content, answer.calls)
    assert ("Well.", calls) == ((answer := both(kind, before + wrong, "stop", rejected="drop")).content, answer.calls)


@pytest.mark.parametrize("kind", SHAPES)
@pytest.mark.parametrize("rejected", ["content", "drop", "error"])
@pytest.mark.parametrize("reason", ["length", None])
def test_nothing_of_an_unfinished_call_of_a_cut_response_is_shown(
    kind: type[StreamEncoder], rejected: Any, reason: Any
) -> None:
    """Half of a call's markup helps nobody, and the finish reason says what happened. Text before it stays."""
    calls = [("f", {"city": "Paris"})]
    for text in (INCOMPLETE, "<tool_call>", INCOMPLETE.partition("arg")[0]):
        answer = read(kind, stream(kind, events(f"Well.{CALL}{text}", cut=True), reason, rejected=rejected))
        assert Answer("Well.", "", calls, ENDINGS[kind]["cut"]) == answer


@pytest.mark.parametrize("kind", SHAPES)
def test_a_malformed_call_of_a_cut_response_is_still_content(kind: type[StreamEncoder]) -> None:
    answer = read(kind, stream(kind, events(f"{MALFORMED}Then {INCOMPLETE}", cut=True), "length"))
    assert Answer(f"{MALFORMED}Then ", "", [], ENDINGS[kind]["cut"]) == answer


@pytest.mark.parametrize("kind", SHAPES)
def test_what_follows_an_unfinished_call_is_shown_after_it(kind: type[StreamEncoder]) -> None:
    unfinished = ToolCallRejected(0, "incomplete_output", (0, 2), "<x")
    batches: list[list[Event]] = [[Content("A"), unfinished], [Content("B", 2)]]
    assert read(kind, stream(kind, iter(batches), "stop")).content == "A<xB"
    assert read(kind, stream(kind, iter(batches), "length")).content == "AB"


def error(payload: Payload) -> str | None:
    """The error message of a payload, in the form of its protocol."""
    reported = payload.get("error") or (payload.get("response") or {}).get("error")
    return reported["message"] if isinstance(reported, dict) else reported


@pytest.mark.parametrize("kind", SHAPES)
def test_a_rejected_call_is_an_error_if_the_caller_requests_it(kind: type[StreamEncoder]) -> None:
    payloads = stream(kind, events(f"Well.{MALFORMED}"), rejected="error")
    assert error(payloads[-1]) == MALFORMED_MESSAGE
    whole = made(kind, rejected="error").whole([event for batch in events(MALFORMED) for event in batch])
    assert error(whole) == MALFORMED_MESSAGE
    cut = stream(kind, events(INCOMPLETE), "length", rejected="error")
    assert error(cut[-1]) is None and read(kind, cut).ending == ENDINGS[kind]["cut"]


@pytest.mark.parametrize("kind", SHAPES)
def test_a_call_that_repeats_another_one_is_no_error(kind: type[StreamEncoder]) -> None:
    call = '{"name": "f", "arguments": {"city": "A"}}'
    payloads = stream(kind, events(f"<tool_call>{call}</tool_call>\nIn Python:\nf(city='A')"), rejected="error")
    assert error(payloads[-1]) is None
    assert len(read(kind, payloads).calls) == 1


@pytest.mark.parametrize("kind", [Chat, Messages, Responses])
def test_a_call_that_broke_under_way_ends_a_stream_with_an_error(kind: type[StreamEncoder]) -> None:
    """Its arguments were already sent: nothing else would show the client that it must not be executed."""
    payloads = stream(kind, events(f"{MALFORMED} Sorry."), "stop", whole_calls=False)
    assert has_call(payloads) and error(payloads[-1]) == MALFORMED_MESSAGE
    assert MALFORMED not in json.dumps(payloads)
    at_the_limit = stream(kind, events(f"{MALFORMED} Sor"), "length", whole_calls=False)
    assert error(at_the_limit[-1]) == MALFORMED_MESSAGE
    incomplete = stream(kind, events(INCOMPLETE), "stop", whole_calls=False)
    assert error(incomplete[-1]) == INCOMPLETE_MESSAGE
    cut = stream(kind, events(INCOMPLETE), "length", whole_calls=False)
    assert error(cut[-1]) is None and ENDINGS[kind]["cut"] in json.dumps(cut[-2:])


@pytest.mark.parametrize("kind", SHAPES)
def test_a_whole_answer_has_whole_calls_whatever_a_stream_would_have(kind: type[StreamEncoder]) -> None:
    for wrong in (INCOMPLETE, MALFORMED):
        emitted = [event for pushed in events(CALL + wrong) for event in pushed]
        assert made(kind).whole(emitted, "length") == made(kind, whole_calls=False).whole(emitted, "length")


@pytest.mark.parametrize("kind", [Chat, Messages, Responses])
def test_the_first_call_that_broke_decides(kind: type[StreamEncoder]) -> None:
    payloads = stream(kind, events(MALFORMED + INCOMPLETE), "length", whole_calls=False)
    assert error(payloads[-1]) == MALFORMED_MESSAGE


def test_the_text_in_which_a_response_was_cut_is_incomplete() -> None:
    statuses = {
        reason: [item["status"] for item in stream(Responses, events(CALL + "Hi."), reason)[-1]["response"]["output"]]
        for reason in ("stop", "length")
    }
    assert statuses == {"stop": ["completed", "completed"], "length": ["completed", "incomplete"]}


def test_a_whole_completion_without_text_has_content_where_it_has_no_calls() -> None:
    assert made(Chat).whole([], "stop")["choices"][0]["message"] == {"role": "assistant", "content": ""}
    emitted = [event for pushed in events(CALL) for event in pushed]
    assert made(Chat).whole(emitted)["choices"][0]["message"]["content"] is None


def test_a_call_that_broke_is_no_completed_item_of_a_response() -> None:
    last = stream(Responses, events(INCOMPLETE), "length", whole_calls=False)[-1]["response"]
    assert [(item["type"], item["status"]) for item in last["output"]] == [("function_call", "incomplete")]
    done = [payload["type"] for payload in stream(Responses, events(INCOMPLETE), "length", whole_calls=False)]
    assert "response.function_call_arguments.done" not in done and "response.output_item.done" in done


@pytest.mark.parametrize("kind", [Chat, Messages, Responses])
def test_arguments_leave_as_they_come_where_calls_need_not_be_whole(kind: type[StreamEncoder]) -> None:
    shape = made(kind, whole_calls=False)
    parser = Parser("json", tools=TOOLS)
    shape.push(parser.feed('<tool_call>{"name": "f", "arguments": {"text": "a long'))
    more = shape.push(parser.feed(" story"))
    assert len(more) == 1 and " story" in json.dumps(more)
    assert made(kind).push(Parser("json").feed('<tool_call>{"name": "f", "arguments": {"text": "a long')) == []


def test_ollama_always_gets_whole_calls() -> None:
    payloads = stream(Ollama, events(CALL), whole_calls=False)
    assert [payload["message"].get("tool_calls") for payload in payloads] == [
        [{"id": "call_0", "function": {"index": 0, "name": "f", "arguments": {"city": "Paris"}}}],
        None,
    ]


@pytest.mark.parametrize("kind", [Chat, Messages, Responses])
def test_ids_are_those_of_the_family_and_not_taken(kind: type[StreamEncoder]) -> None:
    options = {"taken_ids": ["functions.f:0"], "call_id": "functions.{name}:{number}"}
    answer = read(kind, stream(kind, events(CALL + CALL), **options))
    assert answer.ids == ["functions.f:1", "functions.f:2"]
    broken = read(kind, stream(kind, events(MALFORMED + CALL), "stop"))
    assert broken.ids == ["call_0"]


@pytest.mark.parametrize("kind", SHAPES)
def test_token_usage_is_reported_at_the_end(kind: type[StreamEncoder]) -> None:
    shape = made(kind)
    payloads = shape.push([Content("Hi.")]) + shape.finish("stop", Usage(7, 5, cached_tokens=3, reasoning_tokens=2))
    last_payloads = json.dumps(payloads[-2:])
    names = {
        Chat: ('"prompt_tokens": 7', '"completion_tokens": 5', '"total_tokens": 12', '"cached_tokens": 3'),
        Messages: ('"input_tokens": 4', '"output_tokens": 5', '"cache_read_input_tokens": 3'),
        Responses: ('"input_tokens": 7', '"output_tokens": 5', '"total_tokens": 12', '"reasoning_tokens": 2'),
        Ollama: ('"prompt_eval_count": 7', '"eval_count": 5'),
    }
    assert [name for name in names[kind] if name not in last_payloads] == []
    answer = made(kind).whole([Content("Hi.")], "stop", Usage(7, 5, 3, 2))
    if kind is Responses:
        ResponseUsage.model_validate(answer["usage"])
    whole = json.dumps(answer)
    assert [name for name in names[kind] if name not in whole] == []


def test_a_stream_of_chat_completions_may_have_no_usage_and_its_own_choice() -> None:
    payloads = stream(Chat, events(CALL), choice=2)
    assert {choice["index"] for payload in payloads for choice in payload["choices"]} == {2}
    assert all("usage" not in payload for payload in payloads)
    whole = made(Chat, choice=2).whole([Content("Hi.")])
    assert whole["choices"][0]["index"] == 2 and "usage" not in whole


@pytest.mark.parametrize("keys", [(), ("reasoning",), ("reasoning_content", "reasoning")])
def test_reasoning_is_emitted_under_the_requested_keys(keys: tuple[str, ...]) -> None:
    payloads = stream(Chat, events("<think>Hm.</think>Hi."), reasoning_keys=keys)
    deltas = [payload["choices"][0]["delta"] for payload in payloads]
    merged_reasoning = {
        key: "".join(delta.get(key, "") for delta in deltas) for key in ("reasoning_content", "reasoning")
    }
    assert merged_reasoning == {key: "Hm." if key in keys else "" for key in merged_reasoning}
    assert deltas[0]["role"] == "assistant"
    whole = made(Chat, reasoning_keys=keys).whole(
        [event for batch in events("<think>Hm.</think>Hi.") for event in batch]
    )
    assert whole["choices"][0]["message"] == {"role": "assistant", "content": "Hi."} | dict.fromkeys(keys, "Hm.")


def test_blocks_of_a_message_are_one_at_a_time_and_numbered() -> None:
    payloads = stream(Messages, events(f"<think>Hm.</think>A{CALL}B"))
    kinds = [
        (payload["type"].removeprefix("content_block_"), payload["index"])
        for payload in payloads
        if payload["type"] in ("content_block_start", "content_block_stop")
    ]
    assert kinds == [(kind, index) for index in range(4) for kind in ("start", "stop")]
    started = [payload["content_block"]["type"] for payload in payloads if payload["type"] == "content_block_start"]
    assert started == ["thinking", "text", "tool_use", "text"]
    assert [payloads[0]["type"], payloads[-2]["type"], payloads[-1]["type"]] == [
        "message_start",
        "message_delta",
        "message_stop",
    ]


def test_events_of_a_response_are_numbered_and_every_item_ends() -> None:
    payloads = stream(Responses, events(f"<think>Hm.</think>A{CALL}B"))
    assert [payload["sequence_number"] for payload in payloads] == list(range(len(payloads)))
    added = [payload["item"]["id"] for payload in payloads if payload["type"] == "response.output_item.added"]
    done = [payload["item"]["id"] for payload in payloads if payload["type"] == "response.output_item.done"]
    assert added == done == [item["id"] for item in payloads[-1]["response"]["output"]]
    assert len(set(added)) == 4
    assert payloads[0]["type"] == "response.created" and payloads[0]["response"]["output"] == []


@pytest.mark.parametrize("kind", SHAPES)
def test_emitted_payloads_never_change_afterwards(kind: type[StreamEncoder]) -> None:
    """Payloads are serialized later than they are made: none changes with what follows."""
    shape = made(kind, **({} if kind is Ollama else {"whole_calls": False}))
    emitted: list[tuple[Payload, str]] = []
    for pushed in [*events(f"<think>Hm.</think>A{CALL}B"), None]:
        payloads = shape.finish("stop") if pushed is None else shape.push(pushed)
        emitted += [(payload, json.dumps(payload)) for payload in payloads]
    assert [dumped for _, dumped in emitted] == [json.dumps(payload) for payload, _ in emitted]


@pytest.mark.parametrize("kind", SHAPES)
def test_each_payload_is_one_ascii_line_on_the_wire(kind: type[StreamEncoder]) -> None:
    """A lone surrogate, which a model may write in an escape, cannot be sent unchanged."""
    shape = made(kind)
    payloads = shape.push([Content("ü\n\n\ud83c data: x")]) + shape.finish("stop")
    lines = "".join(shape.wire(payload) for payload in payloads).splitlines()
    assert all(line.isascii() for line in lines)
    if kind is Ollama:
        assert payloads == [json.loads(line) for line in lines]
    else:
        data = [line.removeprefix("data: ") for line in lines if line.startswith("data: ")]
        assert payloads == [json.loads(line) for line in data]
        named = [line.removeprefix("event: ") for line in lines if line.startswith("event: ")]
        assert named == ([] if kind is Chat else [payload["type"] for payload in payloads])


HUGE = [
    ("9" * 300, int("9" * 300)),
    ("9" * 301, "9" * 301),
    ("-" + "9" * 5000, "-" + "9" * 5000),
    ("1e999", "1e999"),
    ("-1E+400", "-1E+400"),
    ("1e308", 1e308),
]


@pytest.mark.parametrize(("written", "expected"), HUGE, ids=lambda value: str(value)[:8])
@pytest.mark.parametrize("kind", [Messages, Ollama])
def test_a_number_that_no_reader_can_hold_is_emitted_as_text(
    kind: type[StreamEncoder], written: str, expected: Any
) -> None:
    call: list[Event] = [ToolCallStart(0, "f"), ToolCallArguments(0, f'{{"n": {written}}}'), ToolCallEnd(0, (0, 1))]
    whole = json.loads(json.dumps(made(kind).whole(call), allow_nan=False))
    arguments = (
        whole["content"][0]["input"] if kind is Messages else whole["message"]["tool_calls"][0]["function"]["arguments"]
    )
    assert arguments == {"n": expected}


@pytest.mark.parametrize("kind", [Messages, Ollama])
def test_half_a_character_in_arguments_can_be_sent(kind: type[StreamEncoder]) -> None:
    written = r'{"a\uD83C": "\ud83c\udf0d \uD800", "b": "\\ud800"}'
    call: list[Event] = [ToolCallStart(0, "f"), ToolCallArguments(0, written), ToolCallEnd(0, (0, 1))]
    whole = made(kind).whole(call)
    assert json.loads(json.dumps(whole, ensure_ascii=False).encode()) == whole
    (call_block,) = whole["content"] if kind is Messages else whole["message"]["tool_calls"]
    arguments = call_block["input"] if kind is Messages else call_block["function"]["arguments"]
    assert arguments == {"a\ufffd": "🌍 \ufffd", "b": "\\ud800"}


@pytest.mark.parametrize("kind", SHAPES)
def test_invalid_encoder_options_and_events_are_rejected(kind: type[StreamEncoder]) -> None:
    with pytest.raises(ValueError, match=r"^rejected is 'content', 'drop' or 'error', not 'hide'$"):
        made(kind, rejected="hide")
    with pytest.raises(ValueError, match=r"^call_id 'x' has no {number}"):
        made(kind, call_id="x")
    with pytest.raises(TypeError, match=r"^taken_ids is a collection of ids"):
        made(kind, taken_ids="x")
    with pytest.raises(TypeError, match=r"^not an event: 'x'$"):
        made(kind).push(["x"])  # type: ignore[list-item]  # deliberately not an event
    with pytest.raises(TypeError, match=r"^not an event: 'x'$"):
        made(kind, whole_calls=False).push(["x"])  # type: ignore[list-item]  # deliberately not an event


def test_the_message_of_the_events_and_of_a_chat_completion_are_one() -> None:
    all_events = [event for pushed in events(f"<think>Hm.</think>A{CALL}") for event in pushed]
    message = made(Chat).whole(all_events)["choices"][0]["message"]
    assert message == Message.from_events(all_events).to_openai()


@pytest.mark.parametrize("kind", SHAPES)
def test_a_shape_is_for_one_answer_and_knows_two_reasons(kind: type[StreamEncoder]) -> None:
    shape = made(kind)
    for reason in ("max_tokens", "tool_calls", 5):
        with pytest.raises(ValueError, match=f"^reason is 'stop' or 'length', not {reason!r}$"):
            shape.finish(reason)  # type: ignore[arg-type]  # another reason is the point
    shape.finish("stop")
    failed = made(kind)
    failed.fail("no more memory")
    for ended in (shape, failed):
        over = pytest.raises(RuntimeError, match=r"^the response has ended; create an encoder for each response$")
        with over:
            ended.push([])
        with over:
            ended.finish("stop")
        with over:
            ended.fail("again")
