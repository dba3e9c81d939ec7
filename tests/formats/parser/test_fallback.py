"""Calls in the syntax of another format, and `auto`."""

from __future__ import annotations

import json
from typing import Any

import depth
import pytest

import toolfmt
from toolfmt.errors import CannotWrite
from toolfmt.formats import FORMATS, Parser, ToolCallFormat, write
from toolfmt.formats.parser.fallback import AUTO
from toolfmt.messages.events import Content, Event, ToolCallEnd, ToolCallRejected, ToolCallStart, merge
from toolfmt.testing.prose_pieces import MOST, TOOLS, pieces, read

WEATHER = [
    {
        "name": "get_weather",
        "parameters": {"type": "object", "properties": {"city": {"type": "string"}, "days": {"type": "integer"}}},
    },
    {"name": "get_time", "parameters": {"type": "object", "properties": {}}},
]
SETS: list[list[tuple[str, dict[str, Any]]]] = [
    [("get_weather", {"city": "Oslo", "days": 3})],
    [("get_time", {})],
    [("get_weather", {"city": "Oslo"}), ("get_time", {})],
    [("get_weather", {"city": 'a {b} "c" d'})],
]
WRITERS = [(format, variant) for format in FORMATS for variant in ("", *format.variants)]
JSON_CALL = '{"name": "get_weather", "arguments": {"city": "Oslo"}}'


def _events(format: str | ToolCallFormat, text: str, size: int = 0, **options: Any) -> list[Event]:
    parser = Parser(format, **{"tools": WEATHER, **options})
    size = size or len(text) or 1
    events = [event for at in range(0, len(text), size) for event in parser.feed(text[at : at + size])]
    return merge(events + parser.finish())


def _calls(format: str, text: str) -> list[tuple[str, Any]]:
    message = toolfmt.parse(text, format, tools=WEATHER)
    return [(call.name, json.loads(call.arguments)) for call in message.tool_calls]


@pytest.mark.sample(8)
@pytest.mark.parametrize(("format", "variant"), WRITERS, ids=lambda part: getattr(part, "name", part))
def test_auto_reads_what_every_format_writes(format: ToolCallFormat, variant: str) -> None:
    for calls in SETS:
        try:
            text = write(format.with_variant(variant), calls, tools=WEATHER)
        except CannotWrite:
            continue
        assert _calls("auto", text) == calls
        whole = _events("auto", text)
        assert whole == _events("auto", text, 3) == _events("auto", text, 1)
        assert not any(isinstance(event, Content) and event.text.strip() for event in whole)
        assert not any("foreign_format" in name for event in whole if isinstance(event, ToolCallEnd)
                       for name in event.tolerated)  # fmt: skip


HEADERS = ("atem", "beam", "functionary_v32", "mistral", "gpt_oss")
"""Formats with a variant whose start is a word, or counts only at the start of a message."""


@pytest.mark.sample(8)
@pytest.mark.parametrize("reader", [format.name for format in FORMATS])
def test_every_format_reads_what_the_others_write(reader: str) -> None:
    """A reading in the own syntax has no `foreign_format`, because some formats share a syntax."""
    calls = SETS[2]
    for writer in FORMATS:
        if writer.name in HEADERS:
            continue
        assert _calls(reader, write(writer, calls, tools=WEATHER)) == calls, writer.name


def test_strict_rejects_a_call_in_another_syntax() -> None:
    ended = _events("glm4", JSON_CALL)
    assert [event.tolerated[0] for event in ended if isinstance(event, ToolCallEnd)] == ["foreign_format:json_object"]
    for options in ({"strict": True}, {"tolerate": ["missing_opener"]}):
        (event,) = _events("glm4", JSON_CALL, **options)
        assert isinstance(event, ToolCallRejected)
        assert "foreign_format" in event.message


@pytest.mark.parametrize("tools", [None, []])
def test_without_declared_tools_only_the_own_start_marker_counts(tools: list[Any] | None) -> None:
    assert [type(event) for event in _events("glm4", JSON_CALL, tools=tools)] == [Content]
    framed = f"<tool_call>{JSON_CALL}</tool_call>"
    ended = [event for event in _events("glm4", framed, tools=tools) if isinstance(event, ToolCallEnd)]
    assert len(ended) == (tools is None)
    assert [type(event) for event in _events("lfm2", framed, tools=tools)] == [Content]


def test_a_tag_with_the_name_of_a_tool_needs_a_tolerance_in_auto_too() -> None:
    """No format has such tags."""
    text = "<get_weather><city>Oslo</city></get_weather>"
    (end,) = [event for event in _events("auto", text) if isinstance(event, ToolCallEnd)]
    assert end.tolerated == ("foreign_format:name_tag",)
    (event,) = _events("auto", text, strict=True)
    assert isinstance(event, ToolCallRejected)


def test_auto_rejects_an_undeclared_tool_in_a_frame() -> None:
    text = '<tool_call>{"name": "open_door", "arguments": {}}</tool_call>'
    (event,) = _events("auto", text)
    assert isinstance(event, ToolCallRejected) and event.reason == "undeclared_tool"
    assert [type(event) for event in _events("auto", '{"name": "open_door", "arguments": {}}')] == [Content]


@pytest.mark.sample(6)
@pytest.mark.parametrize("format", [format.name for format in FORMATS])
def test_auto_takes_no_prose_for_a_call(format: str) -> None:
    for piece in pieces(format):
        waiting, calls, reasoned = read("auto", piece, tools=TOOLS)
        assert (waiting <= MOST, calls, reasoned) == (True, 0, False), piece


def test_a_program_in_a_fence_is_no_call() -> None:
    for format in ("glm4", "auto"):
        text = '```python\nget_weather(city="Oslo")\n```'
        assert [type(event) for event in _events(format, text)] == [Content]


@pytest.mark.parametrize("format", ["glm4", "json", "auto"])
def test_a_call_without_a_frame_between_sentences_is_an_example(format: str) -> None:
    line = 'get_weather(city="Oslo")'
    for size in (200, 3, 1):
        assert [type(event) for event in _events(format, f"Do not run:\n{line}\nIt is slow.", size)] == [Content]
        ended = _events(format, f"I look.\n{line}\n{line}\n", size)
        assert sum(isinstance(event, ToolCallEnd) for event in ended) == 2
    assert [type(event) for event in _events(format, "The tag is\n<get_time></get_time>\nin XML.")] == [Content]


@pytest.mark.parametrize("format", ["auto", "glm4"])
def test_a_malformed_call_in_another_frame_is_rejected_up_to_its_end_marker(format: str) -> None:
    text = '<function_call>{"name": "get_weather", "arguments": {"city": Oslo}}</function_call> That is all.'
    for size in (len(text), 3, 1):
        events = _events(format, text, size)
        rejected = [event for event in events if isinstance(event, ToolCallRejected)]
        assert [text[slice(*event.span)] for event in rejected] == [text.removesuffix(" That is all.")]


@pytest.mark.parametrize("format", ["jamba", "hunyuan_v3", "deepseek_dsml"])
def test_a_longer_start_marker_of_another_format_is_read_although_a_tag_follows_the_own_one(format: str) -> None:
    text = f"<tool_calls><tool_call>{JSON_CALL}</tool_call></tool_calls>"
    assert _calls(format, text) == [("get_weather", {"city": "Oslo"})]


def test_a_word_starts_a_frame_only_at_the_start_of_a_line() -> None:
    text = f"functools[{JSON_CALL}]"
    assert any(isinstance(event, ToolCallEnd) for event in _events("glm4", f"I look.\n{text}"))
    assert [type(event) for event in _events("glm4", f"Not {text}")] == [Content]


def test_cost_does_not_depend_on_the_number_of_formats() -> None:
    """A start marker that no call follows is compared with each syntax of that start, not with all."""
    for format in ("auto", "glm4", "lfm2"):
        for piece in ("<tool_call>", "get_weather\n", "{", "`", "\n", "[TOOL_CALLS]", "```\n"):
            text = piece * ((20_000 if depth.all_cases else 5_000) // len(piece))
            parser = Parser(format, tools=WEATHER)
            for at in range(0, len(text), 50):
                parser.feed(text[at : at + 50])
            parser.finish()
            assert parser.scanned_characters <= 60 * len(text), (format, piece)


def test_auto_is_no_format_to_write_in() -> None:
    assert Parser("auto").format is AUTO
    with pytest.raises(ValueError, match="auto only parses"):
        write(AUTO, SETS[0])


def test_a_tag_with_the_name_of_a_tool_has_only_arguments() -> None:
    for body in ("<city>Oslo</city> and more", "Oslo", "<city>a</city><city>b</city>", "<city><days>1</days></city>"):
        text = f"<get_weather>{body}</get_weather>"
        assert [type(event) for event in _events("qwen3_5", text)] == [Content], body


@pytest.mark.parametrize("shown", ["<tool_call>\nnothing\n", ""])
def test_end_markers_are_dropped_only_without_a_start_marker(shown: str) -> None:
    (event,) = _events("xml_function", f"Text.\n{shown}</tool_call>")
    assert isinstance(event, Content)
    assert event.text == ("Text.\n" + shown + "</tool_call>" * bool(shown))


def test_a_tool_with_a_name_of_one_letter_is_found() -> None:
    tools = [{"name": "f"}, {"name": "fo"}]
    for name in ("f", "fo"):
        for text in (f"{name}{{}}", f"Now.\n{name}{{}}"):
            events = _events("step_audio", text, tools=tools)
            assert [event.name for event in events if isinstance(event, ToolCallStart)] == [name]
