"""A call that the model writes again in another syntax runs once."""

from __future__ import annotations

from typing import Any

import pytest
from guarantees import events_of

import toolfmt
from toolfmt.formats import Parser
from toolfmt.messages.events import ToolCallEnd, ToolCallRejected, ToolCallStart, merge
from toolfmt.messages.message import Message

TOOLS = [
    {
        "name": "water_plant",
        "parameters": {"type": "object", "properties": {"plant": {"type": "string"}, "litres": {"type": "number"}}},
    },
    {"name": "get_time", "parameters": {"type": "object", "properties": {}}},
]
OWN = '<tool_call>\n{"name": "water_plant", "arguments": {"plant": "fern", "litres": 2}}\n</tool_call>'
PYTHON = "In Python, that is:\n\nwater_plant(litres=2, plant='fern')"
CALL = [("water_plant", '{"plant": "fern", "litres": 2}')]


def _message(text: str, format: str = "json", **options: Any) -> Message:
    return toolfmt.parse(text, format, tools=TOOLS, **options)


def _calls(message: Message) -> list[tuple[str, str]]:
    return [(call.name, call.arguments) for call in message.tool_calls]


def test_a_call_in_two_syntaxes_runs_once() -> None:
    message = _message(f"{OWN}\n{PYTHON}")
    assert _calls(message) == CALL
    (again,) = message.rejected
    assert (again.reason, again.raw) == ("duplicate_call", "water_plant(litres=2, plant='fern')")
    assert again.message == (
        "Call to water_plant rejected: an earlier call is the same in another syntax; "
        "expected a call that was not made before (character 0 of the call)."
    )


def test_the_other_syntax_may_come_first() -> None:
    message = _message(f"water_plant(litres=2, plant='fern')\n{OWN}")
    assert _calls(message) == [("water_plant", '{"litres": 2, "plant": "fern"}')]
    assert [(again.reason, again.raw) for again in message.rejected] == [("duplicate_call", OWN)]


@pytest.mark.parametrize("format", ["json", "auto", "xml_function"])
def test_the_same_call_twice_in_one_syntax_runs_twice(format: str) -> None:
    assert _calls(_message(f"{OWN}\n{OWN}", format)) == CALL + CALL


@pytest.mark.parametrize(
    "other",
    ["water_plant(litres=3, plant='fern')", "water_plant(litres=True, plant='fern')", "water_plant(plant='fern')"],
)
def test_a_call_with_other_arguments_runs(other: str) -> None:
    message = _message(f"{OWN}\n{other}")
    assert len(message.tool_calls) == 2
    assert not message.rejected


@pytest.mark.parametrize(("first", "second"), [("1e400", "2e400"), ("0.1", "0.10000000000000000001"), ("1", "1.0")])
def test_numbers_are_equal_only_if_their_texts_are(first: str, second: str) -> None:
    own = OWN.replace('"litres": 2', f'"litres": {first}')
    plant = "<arg_key>plant</arg_key><arg_value>fern</arg_value>"
    litres = f"<arg_key>litres</arg_key><arg_value>{second}</arg_value>"
    message = _message(f"{own}\n<tool_call>water_plant{plant}{litres}</tool_call>")
    assert (len(message.tool_calls), message.rejected) == (2, [])


def test_a_rejected_duplicate_is_no_earlier_call() -> None:
    message = _message(f"{OWN}\nwater_plant(litres=2, plant='fern')\n{OWN}")
    assert (len(message.tool_calls), len(message.rejected)) == (2, 1)


def test_another_tool_with_the_same_arguments_runs() -> None:
    other = [*TOOLS, {**TOOLS[0], "name": "feed_plant"}]
    message = toolfmt.parse(f"{OWN}\nfeed_plant(litres=2, plant='fern')", "json", tools=other)
    assert [call.name for call in message.tool_calls] == ["water_plant", "feed_plant"]


def test_calls_between_do_not_matter() -> None:
    between = "".join(
        f'<tool_call>\n{{"name": "get_time", "arguments": {{"n": {n}}}}}\n</tool_call>\n' for n in range(15)
    )
    for count, rejected in ((15, 1), (16, 0)):
        times = between if count == 15 else between + between[: between.index("\n<", 5) + 1]
        message = _message(f"{OWN}\n{times}{PYTHON}")
        assert (len(message.tool_calls), len(message.rejected)) == (count + 2 - rejected, rejected)


def test_long_arguments_are_not_compared() -> None:
    for length, calls in ((987, 1), (988, 2)):  # the arguments have 13 characters more
        plant = "f" * length
        own = f'<tool_call>\n{{"name": "water_plant", "arguments": {{"plant": "{plant}"}}}}\n</tool_call>'
        assert len(_message(f"{own}\nwater_plant(plant='{plant}')").tool_calls) == calls


def test_nothing_of_a_duplicate_call_is_emitted_before_its_end() -> None:
    parser = Parser("json", tools=TOOLS)
    events = parser.feed("water_plant(litres=2, plant='fern')\n")
    for piece in OWN[:60]:
        events += parser.feed(piece)
    assert parser.waiting_for == "The arguments of call 1, water_plant."
    events += parser.feed(OWN[60:]) + parser.finish()
    assert [type(event) for event in events if getattr(event, "index", 0) == 1] == [ToolCallRejected]


def test_of_another_call_everything_is_emitted_at_its_end() -> None:
    text = f"{OWN}\nwater_plant(litres=3, plant='fern')"
    whole = events_of("json", [text], tools=TOOLS)
    assert events_of("json", text, tools=TOOLS) == whole
    last = [type(event) for event in whole if getattr(event, "index", 0) == 1]
    assert (last[0], last[-1]) == (ToolCallStart, ToolCallEnd)


def test_the_arguments_of_a_call_that_may_repeat_another_one_are_withheld() -> None:
    json = '{"name": "water_plant", "arguments": {"plant": "fern", "litres": 2}}'
    parser = Parser("xml_function", tools=TOOLS)
    parser.feed(json + "\n")
    for piece in "<tool_call>\n<function=water_plant>\n<parameter=plant>\na long value in pieces":
        assert all(getattr(event, "index", 0) == 0 for event in parser.feed(piece))


def test_the_start_of_a_call_to_another_tool_is_emitted_at_once() -> None:
    parser = Parser("json", tools=TOOLS)
    parser.feed("water_plant(litres=2, plant='fern')\n")
    events = parser.feed('<tool_call>\n{"name": "get_time", "arguments": {"zone": "')
    assert ToolCallStart in map(type, events)


def test_a_call_repeated_in_its_own_syntax_runs_although_another_one_has_another_syntax() -> None:
    message = _message(f"{OWN}\nwater_plant(litres=3, plant='fern')\n{OWN}")
    assert len(message.tool_calls) == 3


FOREIGN = "water_plant(litres=2, plant='fern')"


@pytest.mark.parametrize(
    "text",
    [f"{OWN}\n{FOREIGN}\nand\n{OWN}", f"{OWN}\n{FOREIGN.replace('2', '3')}\nand\n{OWN}", f"{FOREIGN}\n{OWN}"],
)
def test_copies_at_every_character(text: str) -> None:
    whole = events_of("json", [text], tools=TOOLS)
    for cut in range(len(text) + 1):
        parser = Parser("json", tools=TOOLS)
        first = parser.feed(text[:cut])
        twin = parser.copy()
        for one in (twin, parser):
            assert merge([*first, *one.feed(text[cut:]), *one.finish()]) == whole


def test_a_malformed_call_that_was_withheld_is_rejected() -> None:
    message = _message(f"{OWN}\nwater_plant(litres=2, plant=<fern>)\n{OWN}")
    assert "duplicate_call" not in [each.reason for each in message.rejected]
    assert _calls(message) == CALL + CALL
