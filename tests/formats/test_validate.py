"""`Parser(validate=…)`: a complete call whose arguments fail the caller's check is rejected."""

from __future__ import annotations

import pickle
from typing import Any

import depth
import pytest
from guarantees import check_tiling, cut, dropped, events_of
from hypothesis import given
from hypothesis import strategies as st
from law_texts import NAMES, texts

import toolfmt
from toolfmt.errors import BadTools
from toolfmt.formats import Parser, get
from toolfmt.messages.arguments import read_object
from toolfmt.messages.events import Event, ToolCallArguments, ToolCallEnd, ToolCallRejected, ToolCallStart, merge
from toolfmt.testing.corpus import Case, cases

PLANT = {"type": "object", "properties": {"plant": {"type": "string"}}, "required": ["plant"]}
TOOLS: list[Any] = [{"name": "water_plant", "parameters": PLANT}]
FERN = '<tool_call>{"name": "water_plant", "arguments": {"plant": "fern"}}</tool_call>'
EMPTY = '<tool_call>{"name": "water_plant", "arguments": {}}</tool_call>'
TEXT = f"One. {FERN} Two. {EMPTY} Three. {FERN}{EMPTY} Four."


class Check:
    """Records the calls that it checks; the answers of `answers` are repeated."""

    def __init__(self, *answers: Any) -> None:
        self.calls: list[tuple[str, dict[str, Any]]] = []
        self._answers = answers

    def __call__(self, name: str, arguments: dict[str, Any]) -> Any:
        self.calls.append((name, arguments))
        answer = self._answers[(len(self.calls) - 1) % len(self._answers)]
        if isinstance(answer, BaseException):
            raise answer
        return answer


def ended_calls(events: list[Event]) -> list[tuple[str, dict[str, Any]]]:
    calls: list[tuple[str, dict[str, Any]]] = []
    name = text = ""
    for event in events:
        if isinstance(event, ToolCallStart):
            name, text = event.name, ""
        elif isinstance(event, ToolCallArguments):
            text += event.delta
        elif isinstance(event, ToolCallEnd):
            calls.append((name, read_object(text)[0]))
    return calls


def kinds(events: list[Event]) -> list[Any]:
    """Return the events, of a call's end only that it has one."""
    ends = (ToolCallEnd, ToolCallRejected)
    return [("end", event.index, event.span) if isinstance(event, ends) else event for event in events]


def check_text(format: str, text: str, places: list[int], **options: Any) -> None:
    """Each complete call is checked once, with its whole arguments, however the text is cut."""
    unchecked = events_of(format, [text], **options)
    for chunks in ([text], list(text), cut(text, places)):
        check = Check(None)
        passed = events_of(format, chunks, validate=check, **options)
        unread = [e for e in passed if isinstance(e, ToolCallRejected) and e.expected.startswith("valid arguments")]
        assert kinds(passed) == kinds(unchecked)
        assert len(check.calls) + len(unread) == sum(isinstance(event, ToolCallEnd) for event in unchecked)
        assert check.calls == ended_calls(passed)
        assert all(type(event) is not ToolCallEnd or event in unchecked for event in passed)
        failed = events_of(format, chunks, validate=Check("no"), **options)
        assert kinds(failed) == kinds(unchecked)
        assert not ended_calls(failed)
        for event in failed:
            if isinstance(event, ToolCallRejected):
                assert event.raw == text[event.span[0] : event.span[1]]
        check_tiling(text, failed, dropped(get(format)))


@pytest.mark.sample(8)
@pytest.mark.parametrize("format", NAMES)
@given(data=st.data(), declared=st.booleans())
def test_every_complete_call_of_a_random_text_is_checked_once(format: str, data: st.DataObject, declared: bool) -> None:
    places = data.draw(st.lists(st.integers(0, 400), max_size=8))
    tools = [{"name": "f"}, {"name": "get_weather"}] if declared else None
    check_text(format, data.draw(texts(format)), places, tools=tools)


@pytest.mark.sample(80)
@pytest.mark.parametrize("case", depth.spread(cases(), 4), ids=lambda case: case.id)
def test_every_complete_call_of_the_corpus_is_checked_once(case: Case) -> None:
    options: dict[str, Any] = {"tools": case.tools, "prefix": case.prefix}
    unchecked = events_of(case.format, [case.text], **options)
    for size in (len(case.text) or 1, 1, 5):
        chunks = [case.text[at : at + size] for at in range(0, len(case.text), size)]
        check = Check(None)
        passed = events_of(case.format, chunks, validate=check, **options)
        assert kinds(passed) == kinds(unchecked)
        assert check.calls == ended_calls(passed)


@pytest.mark.sample(80)
@pytest.mark.parametrize("case", depth.spread(cases(), 4), ids=lambda case: case.id)
def test_a_copy_checks_only_the_calls_that_it_emits(case: Case) -> None:
    options: dict[str, Any] = {"tools": case.tools, "prefix": case.prefix}
    for at in range(0, len(case.text) + 1, max(len(case.text) // 6, 1)):
        check = Check(None)
        parser = Parser(case.format, validate=check, **options)
        before = parser.feed(case.text[:at])
        checked = len(check.calls)
        twin = parser.copy()
        assert len(check.calls) == checked
        rest = twin.feed(case.text[at:]) + twin.finish()
        assert check.calls == ended_calls([*before, *rest])
        del check.calls[checked:]
        assert merge([*before, *parser.feed(case.text[at:]), *parser.finish()]) == merge([*before, *rest])
        assert check.calls == ended_calls([*before, *rest])


def test_invalid_arguments_reject_the_call_with_the_error() -> None:
    message = toolfmt.parse(TEXT, "json", tools=TOOLS, validate=toolfmt.validator(TOOLS))
    assert [call.arguments for call in message.tool_calls] == ['{"plant": "fern"}'] * 2
    assert message.content == "One.  Two.  Three.  Four."
    assert [(call.reason, call.raw, call.expected, call.message) for call in message.rejected] == [
        (
            "invalid_arguments",
            EMPTY,
            "valid arguments",
            "Call to water_plant rejected: the arguments are invalid: 'plant' is a required property.",
        )
    ] * 2
    assert [call.at for call in message.rejected] == [TEXT.index(EMPTY) + len(EMPTY), TEXT.rindex(EMPTY) + len(EMPTY)]


def test_a_call_without_its_required_argument_is_invalid_in_a_tagged_format_too() -> None:
    text = "<tool_call>water_plant</tool_call>"
    assert toolfmt.parse(text, "glm4", tools=TOOLS).tool_calls[0].arguments == "{}"
    assert not toolfmt.parse(text, "glm4", tools=TOOLS, validate=toolfmt.validator(TOOLS)).tool_calls


def test_a_rejected_or_cut_call_is_not_checked() -> None:
    check = Check(None)
    parser = Parser("json", tools=TOOLS, strict=True, validate=check)
    parser.feed(FERN.replace("water", "wash") + FERN.replace('"}}', '",}}') + FERN[:-20])
    parser.finish(cut=True)
    assert check.calls == []


def test_arguments_that_cannot_be_read_are_rejected_without_the_check() -> None:
    check = Check(None)
    text = '<tool_call>{"name": "water_plant", "arguments": {"plant": 1e999}}</tool_call>'
    (rejected,) = toolfmt.parse(text, "json", validate=check).rejected
    assert (check.calls, rejected.reason) == ([], "invalid_arguments")
    assert "the arguments are invalid: 1e999 is too large for a 64-bit float" in rejected.message


@pytest.mark.parametrize("size", [1, 3, 7, 1000])
@pytest.mark.parametrize("raised", [ZeroDivisionError("x"), KeyboardInterrupt()])
def test_an_exception_of_the_check_is_raised_and_the_output_continues(size: int, raised: BaseException) -> None:
    """The call is rejected. The events of the chunk come with the next one, or with another `finish`."""
    check = Check(None, raised, raised)
    parser = Parser("json", tools=TOOLS, validate=check, stop=["<|im_end|>"])
    events: list[Event] = []
    exceptions = 0
    text = TEXT + "<|im_end|>x"
    steps = [*((parser.feed, text[at : at + size]) for at in range(0, len(text), size)), (parser.feed, "")]
    for step, chunk in steps:
        try:
            events += step(chunk)
        except type(raised):
            exceptions += 1
    for _ in range(3):
        try:
            events += parser.finish()
        except type(raised):
            exceptions += 1
    assert (exceptions, len(check.calls)) == (2, 4)
    assert parser.finish() == []
    ended = [type(event) for event in events if isinstance(event, (ToolCallEnd, ToolCallRejected))]
    assert ended == [ToolCallEnd, ToolCallRejected, ToolCallRejected, ToolCallEnd]
    assert kinds(merge(events)) == kinds(events_of("json", [TEXT], tools=TOOLS))
    assert {event.message for event in events if isinstance(event, ToolCallRejected)} == {
        "Call to water_plant rejected: the arguments are invalid: they could not be checked."
    }


def test_a_copy_after_an_exception_has_the_held_events_too() -> None:
    parser = Parser("json", tools=TOOLS, validate=Check(ZeroDivisionError("x")))
    with pytest.raises(ZeroDivisionError):
        parser.feed("Hi." + FERN + "<think></")  # the parser waits inside the reasoning
    twin = parser.copy()
    for one in (parser, twin):
        said = [type(event).__name__ for event in merge(one.feed("x") + one.finish())]
        assert said == ["Content", "ToolCallStart", "ToolCallArguments", "ToolCallRejected", "Reasoning"]


def test_a_call_of_the_prompt_is_not_checked_but_one_that_it_leaves_open_is() -> None:
    check = Check(None)
    parser = Parser("json", tools=TOOLS, prefix=EMPTY + FERN[:-22], validate=check)
    events = parser.feed(FERN[-22:]) + parser.finish()
    assert isinstance(events[-1], ToolCallEnd)
    assert check.calls == [("water_plant", {"plant": "fern"})]


@pytest.mark.parametrize("answer", [True, 0, ["no"]])
def test_a_check_returns_text_or_none(answer: Any) -> None:
    parser = Parser("json", validate=Check(answer))
    with pytest.raises(TypeError, match=r"^validate must return a str or None, not (bool|int|list)$"):
        parser.feed(FERN)
    assert isinstance(parser.finish()[-1], ToolCallRejected)


def test_a_check_is_a_function() -> None:
    options: dict[str, Any] = {"validate": True}
    with pytest.raises(TypeError, match=r"^validate must be a function, not bool; see toolfmt\.validator$"):
        Parser("json", **options)


def test_the_message_has_one_line_and_is_bounded() -> None:
    (rejected,) = toolfmt.parse(FERN, "json", validate=lambda name, arguments: "a\n\x1b" + "b" * 2000).rejected
    assert rejected.message.startswith(r"Call to water_plant rejected: the arguments are invalid: a\n\x1bbb")
    assert len(rejected.message) < 1000


def test_an_empty_error_passes() -> None:
    assert toolfmt.parse(FERN, "json", validate=lambda name, arguments: "").tool_calls


def test_a_validator_of_tools_is_as_strict_as_a_registry() -> None:
    check = pickle.loads(pickle.dumps(toolfmt.validator(TOOLS)))
    assert check("water_plant", {"plant": "fern"}) is None
    assert check("water_plant", {"plant": 3}) == "3 is not of type 'string' (at $.plant)"
    assert "Additional properties are not allowed" in check("water_plant", {"plant": "fern", "litres": 2})
    assert check("wash", {}) == "no schema is known for this tool"
    with pytest.raises(BadTools, match=r"^f: its parameters are not a JSON Schema: "):
        toolfmt.validator([{"name": "f", "parameters": {"type": "strin"}}])


def test_the_parser_of_a_prompt_and_of_a_model_check_the_same() -> None:
    model = toolfmt.load("corpus/models/double-encoded")
    prompt = model.render([{"role": "user", "content": "?"}], tools=TOOLS)
    check = toolfmt.validator(TOOLS)
    for parser in (prompt.parser(validate=check), model.parser(tools=TOOLS, validate=check)):
        assert isinstance((parser.feed(EMPTY) + parser.finish())[-1], ToolCallRejected)


def test_the_events_before_an_exception_come_with_the_next_chunk_even_after_a_stop_string() -> None:
    parser = Parser("json", validate=Check(ZeroDivisionError("x")), stop=["<|im_end|>"])
    with pytest.raises(ZeroDivisionError):
        parser.feed(FERN + "<|im_end|>")
    assert parser.ended
    assert isinstance(parser.feed("x")[-1], ToolCallRejected)
    assert parser.finish() == []
