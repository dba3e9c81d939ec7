"""What the driver guarantees for every format: bounds, attempts, quotations, reasoning, stop strings, truncated
outputs.

Every text is read whole and character by character.
"""

from __future__ import annotations

import copy
import pickle
from typing import Any

import pytest
from guarantees import check_copy, events_of

from toolfmt.formats import FORMATS, Parser, ToolCallFormat, get, write
from toolfmt.formats.scanner.literals import literals
from toolfmt.formats.scanner.lookahead import MAX_LOOKAHEAD
from toolfmt.formats.values.schema_types import parameter_types
from toolfmt.messages.events import (
    Content,
    Event,
    Reasoning,
    ToolCallArguments,
    ToolCallEnd,
    ToolCallRejected,
    ToolCallStart,
    merge,
)

TOOLS: list[Any] = [
    {
        "type": "function",
        "function": {
            "name": "get_weather",
            "parameters": {"type": "object", "properties": {"city": {"type": "string"}}},
        },
    }
]
CALL = '<tool_call>\n{"name": "get_weather", "arguments": {"city": "Paris"}}\n</tool_call>'
PROSE = "And so the answer goes on, line after line. " * 60


def read(text: str, format: str = "json", **options: Any) -> list[Event]:
    """The merged events, the same for the whole text and for its characters."""
    whole = events_of(format, [text], **options)
    assert events_of(format, list(text), **options) == whole
    return whole


def summary(events: list[Event]) -> list[tuple[str, str]]:
    """Each event as its kind and its text."""
    pairs: list[tuple[str, str]] = []
    for event in events:
        if isinstance(event, (Content, Reasoning)):
            pairs.append((type(event).__name__.lower(), event.text))
        elif isinstance(event, ToolCallStart):
            pairs.append(("call", event.name))
        elif isinstance(event, ToolCallEnd):
            pairs.append(("end", ""))
        elif isinstance(event, ToolCallRejected):
            pairs.append((event.reason, event.raw))
    return pairs


# --- an error does not stop parsing


@pytest.mark.parametrize(
    ("format", "partial"),
    [
        ("json", '<tool_call>{"name": "f", "arguments": {"a": 1 2}}'),
        ("json", '<tool_call>{"name": "f", "arguments": {"n": 1, "s": @ '),
        ("lfm2", "<|tool_call_start|>[f(a=1 2)]"),
        ("mistral", '[TOOL_CALLS]f[ARGS]{"a": 1 2}'),
        ("glm4", "<tool_call>f<arg_key>a</arg_key><arg_value>1</arg_value><arg_key>b</arg_key>c"),
    ],
)
def test_a_rejection_is_reported_within_a_bound(format: str, partial: str) -> None:
    """At most 400 characters and a marker's length of an output with a malformed call are held back."""
    parser = Parser(format)
    text = partial + PROSE
    waiting = 0
    for at, character in enumerate(text):
        for event in parser.feed(character):
            if isinstance(event, ToolCallRejected):
                waiting = at - event.span[1]
    assert 0 < waiting <= 430
    assert summary(read(text, format))[-1][0] == "content"


def test_a_call_is_rejected_up_to_its_closer_if_that_is_near() -> None:
    broken = '<tool_call>{"name": "f", "arguments": {"a": 1 2}}%s</tool_call>'
    assert summary(read(broken % (" " * 350) + "Done."))[-2:] == [
        ("malformed_syntax", broken % (" " * 350)),
        ("content", "Done."),
    ]
    assert summary(read(broken % (" " * 450) + "Done."))[-1] == ("content", "2}}" + " " * 450 + "</tool_call>Done.")
    assert summary(read(broken % "\n\n" + "Done."))[-1] == ("content", "2}}\n\n</tool_call>Done.")


@pytest.mark.parametrize(
    "format", ["json", "glm4", "xml_function", "qwen3_5", "kimi_k2", "gemma4", "command_a", "hunyuan_v4"]
)
def test_the_end_of_a_call_is_reported_with_its_end_marker(format: str) -> None:
    """A client that executes calls need not wait for the end of the output."""
    parser = Parser(format, tools=TOOLS)
    events = parser.feed(write(format, [("get_weather", {"city": "Paris"})], TOOLS))
    assert isinstance(events[-1], ToolCallEnd)


def test_trailing_markers_after_a_call_are_not_shown() -> None:
    called = [("call", "get_weather"), ("end", "")]
    for residue in ("}", " }}\n", "\n```json\n```", "\n<tools></tools>"):
        assert summary(read(CALL + residue, tools=TOOLS)) == called
    assert summary(read(CALL + "} is a brace", tools=TOOLS)) == [*called, ("content", "} is a brace")]
    assert summary(read("Yes.\n}", tools=TOOLS)) == [("content", "Yes.\n}")]


# --- attempts


@pytest.mark.parametrize(
    ("format", "text"),
    [
        ("glm4", "<tool_call>get_weather</arg_key>Paris</tool_call>"),
        ("xml_function", "<tool_call>\n<parameter=get_weather>\nParis</tool_call>"),
        ("json", "<tool_call>get_weather: Paris</tool_call>"),
        ("json", "<tool_call>\nget_weather(Paris)"),
        ("kimi_k2", "<|tool_calls_section_begin|><|tool_call_begin|>get_weather?<|tool_call_end|>"),
    ],
)
def test_an_attempt_is_rejected(format: str, text: str) -> None:
    assert summary(read(text, format, tools=TOOLS)) == [("malformed_syntax", text)]


@pytest.mark.parametrize(
    "text",
    [
        "<tool_call> get_weather is the tool's name",
        "<tool_call>get_weather is the tool's name",
        "Write <tool_call> and </tool_call> around it",
        "<tool_call>an object</tool_call> is how it is written",
        "<tool_call>\n\nget_weather: Paris",
    ],
)
def test_prose_that_names_an_opener_is_no_attempt(text: str) -> None:
    assert summary(read(text, tools=TOOLS)) == [("content", text)]


def test_an_attempt_ends_with_its_line() -> None:
    assert summary(read("<tool_call>get_weather: Paris\nDone.", tools=TOOLS)) == [
        ("malformed_syntax", "<tool_call>get_weather: Paris"),
        ("content", "\nDone."),
    ]


def test_a_long_call_of_an_undeclared_tool_is_content() -> None:
    """Prose that begins like a call would be lost, and so would a file; a short one is rejected."""
    for format, call in (
        ("json", '<tool_call>{"name": "write", "arguments": {"text": "%s"}}</tool_call>'),
        ("glm4", "<tool_call>write<arg_key>text</arg_key><arg_value>%s</arg_value></tool_call>"),
        ("gpt_oss", '<|channel|>commentary to=functions.write<|message|>{"text": "%s"}<|call|>'),
    ):
        assert [kind for kind, _ in summary(read(call % ("x" * 300), format, tools=TOOLS))] == ["undeclared_tool"]
        long = call % ("x" * 450)
        assert "".join(text for kind, text in summary(read(long, format, tools=TOOLS)) if kind == "content") in (
            long,
            long.removesuffix("<|call|>"),
        )


# --- quotations


@pytest.mark.parametrize(
    "text",
    [
        f"I write `{CALL}` and wait.",
        'It starts with `<tool_call>{"` and then…',
        "`<tool_call>{` opens a call.",
        "- `<tool_call>` and\n- `</tool_call>`",
    ],
)
def test_a_quoted_opener_is_content(text: str) -> None:
    assert summary(read(text, tools=TOOLS)) == [("content", text)]


@pytest.mark.parametrize(("before", "after"), [("`", "`"), ("Sure:\n`", "`"), ("```", "```"), ("I call ` it: ", "")])
def test_a_call_at_the_start_of_a_line_is_a_call(before: str, after: str) -> None:
    expected = [("content", before), ("call", "get_weather"), ("end", ""), ("content", after)]
    assert summary(read(before + CALL + after, tools=TOOLS)) == [
        event for event in expected if event[1] or event[0] == "end"
    ]


def test_an_open_backtick_quotes_nothing() -> None:
    assert summary(read(f"Now `{CALL}", tools=TOOLS)) == [("content", "Now `"), ("call", "get_weather"), ("end", "")]


# --- reasoning


def test_a_repeated_start_marker_is_ignored() -> None:
    expected = [("reasoning", "Hm."), ("content", "Yes.")]
    assert summary(read("<think>Hm.</think>Yes.", prefix="<think>")) == expected
    assert summary(read("<think><think>\n<think>Hm.</think>Yes.")) == expected
    assert summary(read("<think></think>Yes.", prefix="<think>\n")) == [("content", "Yes.")]


def test_calls_in_reasoning_with_nothing_after_it_are_the_answer() -> None:
    block = f"<think>I look.\n{CALL}\n</think>"
    called = [("reasoning", "I look.\n"), ("call", "get_weather"), ("end", "")]
    assert summary(read(block + "\n\n", tools=TOOLS)) == called
    assert summary(read(block + " It rains.", tools=TOOLS)) == [
        ("reasoning", f"I look.\n{CALL}\n"),
        ("content", " It rains."),
    ]
    assert [kind for kind, _ in summary(read(block + CALL, tools=TOOLS))] == ["reasoning", "call", "end"]


def test_reasoning_may_stay_in_the_content() -> None:
    text = f"<think>Hm.</think>Yes. {CALL}"
    assert summary(read(text, tools=TOOLS, reasoning="text")) == [
        ("content", "<think>Hm.</think>Yes. "),
        ("call", "get_weather"),
        ("end", ""),
    ]
    assert summary(read("Hm.</think>Yes.", prefix="<think>", reasoning="text")) == [("content", "Hm.</think>Yes.")]
    in_reasoning = f"<think>{CALL}</think>No."
    assert summary(read(in_reasoning, tools=TOOLS, reasoning="text")) == [("content", in_reasoning)]
    with pytest.raises(ValueError, match='"events" or "text", not \'none\''):
        Parser("json", reasoning="none")  # type: ignore[arg-type]  # that is the mistake


# --- the end


def test_a_cut_answer_has_no_call_that_only_lacks_its_closer() -> None:
    cut = CALL.removesuffix("\n</tool_call>")
    for text, reasons in ((CALL, []), (cut, ["incomplete_output"]), (cut + "\n</tool_", ["incomplete_output"])):
        parser = Parser("json", tools=TOOLS)
        events = parser.feed(text) + parser.finish(cut=True)
        assert [event.reason for event in events if isinstance(event, ToolCallRejected)] == reasons
    parser = Parser("json", tools=TOOLS)
    events = parser.feed(cut) + parser.finish()
    assert [event.tolerated for event in events if isinstance(event, ToolCallEnd)] == [("missing_closer",)]
    parser = Parser("json", tools=TOOLS)
    assert [type(event) for event in parser.feed("Yes. <tool_call>") + parser.finish(cut=True)] == [
        Content,
        ToolCallRejected,
    ]


def test_a_call_in_truncated_reasoning_stays_reasoning() -> None:
    """If the model stopped by itself without closing the block, the call is its response."""
    text = f"<think>Perhaps {CALL} or not"
    for cut, kinds in ((False, ["reasoning", "call", "end", "content"]), (True, ["reasoning"])):
        parser = Parser("json", tools=TOOLS)
        events = merge(parser.feed(text) + parser.finish(cut=cut))
        assert [kind for kind, _ in summary(events) if kind != "arguments"] == kinds
    parser = Parser("json", tools=TOOLS, reasoning="text")
    assert merge(parser.feed(text) + parser.finish(cut=True)) == [Content(text, 0)]


def test_a_call_in_reasoning_stays_reasoning_if_the_output_is_cut_after_the_block() -> None:
    parser = Parser("json", tools=TOOLS)
    events = merge(parser.feed(f"<think>x {CALL}</think>") + parser.finish(cut=True))
    assert events == [Reasoning(f"x {CALL}", 7)]


def test_a_call_that_the_prompt_started_always_ends() -> None:
    prefix = '<tool_call>\n{"name": "get_weather", "arguments": {"city": '
    for text, reason in (
        ("", "incomplete_output"),
        ("</tool_response>", "malformed_syntax"),
        (CALL, "malformed_syntax"),
    ):
        events = read(text, tools=TOOLS, prefix=prefix)
        assert [type(event) for event in events[:3]] == [ToolCallStart, ToolCallArguments, ToolCallRejected]
        assert isinstance(events[2], ToolCallRejected)
        assert (events[2].reason, events[2].span) == (reason, (0, 0))
    assert [event.index for event in events if isinstance(event, ToolCallEnd)] == [1]
    assert summary(read("Yes.", prefix="<tool_call>broken</tool_call>")) == [("content", "Yes.")]


def test_a_call_of_the_prefix_that_the_output_decides_is_not_emitted() -> None:
    """`auto` waits for what follows the frame, because the value has no end marker."""
    prefix = "<tool_call>get_weather\n<arg_key>city</arg_key>\n<arg_value>Paris\n</tool_call>\n<to"
    text = "ol_call>get_weather\n<arg_key>city</arg_key>\n<arg_value>Oslo</arg_value>\n</tool_call>"
    events = read(text, "auto", tools=TOOLS, prefix=prefix)
    assert [type(event) for event in events] == [ToolCallStart, ToolCallArguments, ToolCallEnd]
    assert isinstance(events[1], ToolCallArguments)
    assert events[1].delta == '{"city": "Oslo"}'
    for place in range(len(text)):
        check_copy("auto", text, place, tools=TOOLS, prefix=prefix)
    prefix = "<tool_call>get_weather\n<arg_key>city</arg_key>\n<arg_value>Oslo</arg_value>\n\n"
    assert [type(event) for event in read("That is all.</tool_call>", "auto", tools=TOOLS, prefix=prefix)] == [Content]


def test_a_call_after_a_prefix_streams() -> None:
    """Whether the prefix has its start marker, another call, or only text."""
    start = '{"name": "get_weather", "arguments": {"city": "Os'
    for prefix, text in (("<tool_call>\n", start), (CALL, f"\n<tool_call>\n{start}"), ("Hm.", f"<tool_call>\n{start}")):
        parser = Parser("json", tools=TOOLS, prefix=prefix)
        started = [event for piece in text for event in parser.feed(piece) if not isinstance(event, Content)]
        assert merge(started) == [ToolCallStart(0, "get_weather"), ToolCallArguments(0, '{"city": "Os')]


def test_headers_of_messages_are_no_text_where_reasoning_is() -> None:
    text = "<|channel|>commentary<|message|>One<|end|><|start|>assistant<|channel|>final<|message|>Two<|return|>"
    assert [part for _, part in summary(read(text, "gpt_oss", reasoning="text"))] == ["One", "Two"]


@pytest.mark.parametrize("format", ["glm4", "json", "pythonic"])
def test_input_that_is_not_a_str_is_rejected_inside_a_string_and_nothing_is_lost(format: str) -> None:
    text = write(format, [("get_weather", {"city": "Oslo and so on"})])
    parser = Parser(format, tools=TOOLS)
    place = text.index("and")
    events = parser.feed(text[:place])
    for wrong in (["word"], b"word", 3):
        with pytest.raises(TypeError, match=rf"^feed\(\) takes a str, not {type(wrong).__name__}$"):
            parser.feed(wrong)  # type: ignore[arg-type]  # must be rejected
    events += parser.feed(text[place:]) + parser.finish()
    assert merge(events) == events_of(format, [text], tools=TOOLS)


def test_input_that_is_not_a_str_is_rejected_and_nothing_is_lost() -> None:
    parser = Parser("json")
    parser.feed("ab<tool")
    for wrong in (b"_call>", None, 3):
        with pytest.raises(TypeError, match=rf"feed\(\) takes a str, not {type(wrong).__name__}"):
            parser.feed(wrong)  # type: ignore[arg-type]  # must be rejected
    assert parser.feed("x") == [Content("<toolx", 2)]
    with pytest.raises(TypeError, match="prefix must be the end of the prompt as a str, not int"):
        Parser("json", prefix=3)  # type: ignore[arg-type]  # what it must refuse


def test_stop_strings_come_in_any_collection() -> None:
    assert summary(read("one abc", stop=["abc", ""])) == [("content", "one ")]
    parser = Parser("json", stop=(one for one in ["abc"]))
    assert merge(parser.feed("one abc") + parser.finish()) == [Content("one ", 0)]
    assert Parser("json", stop=None).feed("a") == [Content("a", 0)]
    for wrong in (None, 151645):
        with pytest.raises(TypeError, match=f"stop must contain strings, not {wrong}"):
            Parser("json", stop=["a", wrong])  # type: ignore[list-item]  # what it must refuse


@pytest.mark.parametrize("format", FORMATS, ids=lambda format: format.name)
def test_a_cut_answer_has_no_call_but_whole_ones(format: ToolCallFormat) -> None:
    """Cut anywhere, an output of one call contains it only if no more than the outermost end marker is missing."""
    text = write(format, [("get_weather", {"city": "Paris"})], TOOLS)
    own = tuple(closer for closer in (*format.engine.inner.closers, *_CLOSERS.get(format.name, ())) if closer)
    for at in range(len(text) + 1):
        parser = Parser(format, tools=TOOLS)
        events = parser.feed(text[:at]) + parser.finish(cut=True)
        ended = any(isinstance(event, ToolCallEnd) for event in events)
        if at == len(text):
            assert ended
        elif ended:
            assert any(closer in text[:at] for closer in own), text[:at]


@pytest.mark.parametrize("name", ["deepseek_v3", "hunyuan_v3", "kimi_k2", "plamo3"])
def test_a_cut_end_marker_of_a_frame_is_not_shown(name: str) -> None:
    text = write(name, [("get_weather", {"city": "Paris"})], TOOLS)
    for at in range(len(text) - 12, len(text)):
        parser = Parser(name, tools=TOOLS)
        events = parser.feed(text[:at]) + parser.finish(cut=True)
        assert not any(isinstance(event, Content) for event in events), text[:at]


@pytest.mark.parametrize("name", ["deepseek_dsml", "glm4", "kimi_k3", "minimax_m2", "qwen3_5", "xml_function"])
def test_a_value_cut_after_an_end_marker_that_it_quotes_is_incomplete(name: str) -> None:
    """More of the output would have shown that it is quoted; if the model has ended it, the call is malformed."""
    (closer,) = (one for one in get(name).closers if write(name, [("get_weather", {"city": "Oslo"})]).endswith(one))
    text = write(name, [("get_weather", {"city": f'print("{closer}", 1)\nx'})], TOOLS)
    for cut, reason in ((True, "incomplete_output"), (False, "malformed_syntax")):
        parser = Parser(name, tools=TOOLS)
        events = parser.feed(text[: text.index(closer) + len(closer) + 4]) + parser.finish(cut=cut)
        assert [event.reason for event in events if isinstance(event, ToolCallRejected)] == [reason]
        assert not any(isinstance(event, ToolCallEnd) for event in events)


M3 = "]<]minimax[>["


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("xml_function", "<tool_call>\n<function=get_weather>\n<parameter=city>\nOslo\n</function>\n</tool_call>"),
        ("gemma4", '<|tool_call>call:get_weather{city:<|"|>Oslo}<tool_call|>'),
        ("minimax_m3", f'{M3}<tool_call>{M3}<invoke name="get_weather">{M3}<city>Oslo{M3}</invoke>{M3}</tool_call>'),
    ],
)
def test_a_value_without_its_end_marker_near_the_cut_is_incomplete(name: str, text: str) -> None:
    """More of the output might have shown that the value continues, until the lookahead is over."""
    for rest, cut, ends in (("", True, 0), (" b", True, 0), (" b" * 201, True, 1), ("", False, 1), (" b", False, 1)):
        for size in (1000, 1):
            parser = Parser(name, tools=TOOLS)
            whole = text + rest
            events = [event for at in range(0, len(whole), size) for event in parser.feed(whole[at : at + size])]
            events += parser.finish(cut=cut)
            assert sum(isinstance(event, ToolCallEnd) for event in events) == ends, (rest, cut)
            rejected = [event for event in events if isinstance(event, ToolCallRejected)]
            assert [(event.reason, event.raw) for event in rejected] == [("incomplete_output", text + rest)] * (
                not ends
            )


_CLOSERS = {"atem": ("</atem:invoke>",), "k2_horizon": ("</ifm|tool_call>",), "step3_vl": ("</tool_call>",)}
"""The end marker of a call inside a frame, if the engine does not expose it."""


@pytest.mark.parametrize("format", FORMATS, ids=lambda format: format.name)
def test_a_word_that_goes_on_is_no_name(format: ToolCallFormat) -> None:
    """After every start marker, and at the beginning of an output, a run of letters is content within the bound."""
    for opener in ("", *format.openers):
        for tools in (None, TOOLS):
            parser = Parser(format, tools=tools)
            parser.feed(opener)
            emitted = [bool(parser.feed("天")) for _ in range(600)]
            assert any(emitted), (opener, tools is None)


def test_a_stop_string_ends_what_calls_are_not_written_with() -> None:
    in_calls = {
        ("gigachat3", "<|message_sep|>"): True, ("kimi_k3", "<|close|>"): True, ("json", "</tool_call>"): True,
        ("llama3", "<|eot_id|>"): False, ("command_a", "<|END_OF_TURN_TOKEN|>"): False, ("gemma4", "<turn|>"): False,
        ("hyperclovax", "<|im_end|>"): False, ("granite", "</tool_call"): True,
    }  # fmt: skip
    assert {key: get(key[0]).in_calls(key[1]) for key in in_calls} == in_calls


def test_the_answer_ends_at_a_stop_string() -> None:
    assert summary(read("Yes.<|im_end|>\n<|im_start|>user", stop=["<|im_end|>"])) == [("content", "Yes.")]
    assert summary(read("Yes.<|im_", stop=["<|im_end|>"])) == [("content", "Yes.<|im_")]
    assert summary(read(CALL + "<|im_end|>" + CALL, stop=["<|im_end|>"]))[-1] == ("end", "")
    message = "<|channel|>commentary to=functions.f <|constrain|>json<|message|>{}<|call|>"
    assert read(message + "more", "gpt_oss", stop=["<|call|>"]) == read(message, "gpt_oss")
    raw = "<tool_call>f\n<arg_key>a</arg_key>\n<arg_value>abc</arg"
    assert summary(read(raw + "STOP", "glm4", stop=["STOP"])) == summary(read(raw, "glm4"))
    parser = Parser("json", stop=["<|im_end|>"])
    assert merge(parser.feed("a<|im_end|>") + parser.feed("b") + parser.finish()) == [Content("a", 0)]
    with pytest.raises(RuntimeError, match="after finish"):
        parser.feed("c")
    parser = Parser("json", stop=["<|im_end|>"])
    parser.feed("a<|im_end|>")
    looked = parser.scanned_characters
    assert [parser.feed("more of it"), parser.feed("<|im_end|>")] == [[], []]
    assert parser.scanned_characters == looked
    with pytest.raises(TypeError, match="not a single string"):
        Parser("json", stop="<|im_end|>")


def test_a_parser_knows_that_the_answer_has_ended() -> None:
    parser = Parser("json", stop=["STOP"])
    ended = []
    for piece in ("Yes.", "ST", "OP", " more"):
        parser.feed(piece)
        ended.append(parser.ended)
    assert ended == [False, False, True, True]
    parser = Parser("json")
    parser.feed(CALL)
    assert not parser.ended
    parser.finish()
    assert parser.ended


def test_stop_strings_cost_nothing_where_none_may_begin() -> None:
    """While a stretch streams, parsing is not resumed for them."""
    plain, stopping = Parser("json"), Parser("json", stop=["<|im_end|>"])
    for piece in ["And so ", "it goes on. "] * 20:
        plain.feed(piece)
        stopping.feed(piece)
    assert stopping.scanned_characters == plain.scanned_characters


# --- copies and what a parser waits for


def test_copies_by_the_standard_library_are_copies() -> None:
    parser = Parser("json", tools=TOOLS)
    parser.feed("Yes. <tool")
    for twin in (copy.copy(parser), copy.deepcopy(parser)):
        assert twin.feed("x") == [Content("<toolx", 5)]
    assert parser.feed("x") == [Content("<toolx", 5)]


def test_a_parser_reports_what_it_waits_for() -> None:
    parser = Parser("json", tools=TOOLS)
    descriptions = [parser.waiting_for]
    for piece in ("<think>H", "m</think>", "Yes. <tool", '_call>{"na', 'me": "get_weather", "arguments": {"city": "P'):
        parser.feed(piece)
        descriptions.append(parser.waiting_for)
    parser.finish()
    assert [*descriptions, parser.waiting_for] == [
        "Content; a call or a reasoning block may start here.",
        "A reasoning block, up to </think>.",
        "Content; a call or a reasoning block may start here.",
        "Content; '<tool' may be the start of a marker.",
        "Call 0, whose name is not known yet.",
        "The arguments of call 0, get_weather.",
        "The output has ended.",
    ]


def test_a_copy_costs_what_the_open_call_is_long() -> None:
    call = '{"name": "get_weather", "arguments": {"city": "' + "x" * 500
    costs = []
    for before in ("[TOOL_CALLS][", "Now. " * 1000 + "[TOOL_CALLS][" + (call + '"}}, ') * 100):
        parser = Parser("mistral_list", tools=TOOLS)
        parser.feed(before + call)
        costs.append(parser.copy().scanned_characters - len(before + call))
    assert costs[1] <= costs[0] + 50


def test_a_copy_is_where_the_parser_is_though_that_has_not_looked_yet() -> None:
    """What a chunk leaves for the next one, because it may end the value, is read before the copy is made."""
    text = "<start_function_call>call:f{a:<escape>x<esape>,b:<escape>y<escape>}<end_function_call>"
    at = text.index("x<esape>")
    parser = Parser("gemma")
    parser.feed(text[:at])
    parser.feed(text[at:])
    twin = parser.copy()
    events = parser.finish()
    assert [type(event) for event in events] == [ToolCallRejected]
    assert twin.finish() == events


def test_what_is_read_for_a_copy_is_emitted_in_order() -> None:
    """The text after the call may stream by then, but is not emitted before the call."""
    text = "<start_function_call>call:f{a:<escape>x<esape>,b:<escape>y<escape>}<end_function_call>Done"
    at = text.index("x<esape>")
    parser = Parser("gemma")
    parser.feed(text[:at])
    parser.feed(text[at:])
    twin = parser.copy()
    for one in (parser, twin):
        events = merge(one.feed(" now.") + one.finish())
        assert [type(event) for event in events] == [ToolCallRejected, Content]
        assert events[1] == Content("Done now.", len(text) - 4)


def test_a_copy_made_before_the_first_piece_continues_the_call_of_the_prompt() -> None:
    prefix = '<tool_call>\n{"name": "get_weather", "arguments": {"city": "Par'
    parser = Parser("json", tools=TOOLS, prefix=prefix)
    twin = parser.copy()
    for one in (parser, twin):
        events = merge(one.feed("is") + one.feed('"}}\n</tool_call>') + one.finish())
        assert [kind for kind, _ in summary(events)] == ["call", "end"]
        assert [event.delta for event in events if isinstance(event, ToolCallArguments)] == ['{"city": "Paris"}']


def test_so_many_calls_of_an_open_block_are_looked_at() -> None:
    broken, sound = CALL.replace('"Paris"', "1 2"), 0
    for count in (15, 16):
        events = read("<think>" + f"{broken}\n" * count + CALL, tools=TOOLS)
        sound += sum(isinstance(event, ToolCallEnd) for event in events)
        assert sound == 1  # after fifteen of them the model's call counts, after sixteen it is not searched for
        assert isinstance(events[0], Reasoning)


def test_a_copy_of_a_call_is_as_strict_as_the_parser_was_with_it() -> None:
    """The call before it, which was rejected, is not read again."""
    call = '<｜tool▁call▁begin｜>{}<｜tool▁sep｜>{{"a": "{}"}}<｜tool▁call▁end｜>'
    parser = Parser("deepseek_v31", strict=True)
    parser.feed(call.format("f", "x") + call.format("g", "one two").partition(" two")[0])
    twin = parser.copy()
    for one in (parser, twin):
        events = one.feed(" two") + one.feed('"}<｜tool▁call▁end｜>') + one.finish()
        assert [event.to_dict().get("delta") for event in merge(events)] == [' two"}', None]


def test_a_copy_after_a_key_that_names_no_call_reads_the_object_from_its_start() -> None:
    """A later object of the list: its second key is a call, which cannot be read without the brace before it."""
    text = '<|tools_prefix|>[{"f": {}}, {"g": 1, "h": {"a": 1}, "i": {}}]<|tools_suffix|>'
    started = [event.name for event in events_of("apertus", text) if isinstance(event, ToolCallStart)]
    assert started == ["f", "h", "i"]
    for place in range(len(text)):
        check_copy("apertus", text, place)


@pytest.mark.parametrize("strict", [False, True])
@pytest.mark.parametrize("format", ["minimax_m2", "minimax_m3", "kimi_k2", "deepseek_dsml", "xml_function", "json"])
def test_a_copy_within_a_long_call_of_an_undeclared_tool_emits_the_same_events(format: str, strict: bool) -> None:
    """The second call of a row without a frame; it is content once it is too long, with the whitespace before it."""
    written = write(format, [("f", {"s": "x"}), ("c", {"s": "z" * 450})])
    opener = max((opener for opener in get(format).openers if written.startswith(opener)), key=len)
    text = written.removeprefix(opener).lstrip("\n")
    for tools in ([{"name": "f"}], []):
        for place in range(1, len(text), 11):
            check_copy(format, text, place, tools=tools, strict=strict)


@pytest.mark.parametrize("format", ["minimax_m2", "deepseek_dsml", "hunyuan_v3", "xml_function"])
def test_a_copy_within_an_undeclared_call_without_its_end_emits_the_same_events(format: str) -> None:
    text = write(format, [("f", {}), ("c", {"w": "x"})])
    opener = max((opener for opener in get(format).openers if text.startswith(opener)), key=len)
    text = text.removeprefix(opener).lstrip("\n")
    for end in range(text.rindex("w"), len(text)):
        check_copy(format, text[:end], end - 5, tools=[{"name": "f"}])


@pytest.mark.parametrize("format", ["pythonic", "lfm2"])
def test_a_copy_that_reads_further_than_the_original_loses_nothing(format: str) -> None:
    """The original has read ahead in chunks and emitted nothing; read at once, the string is malformed."""
    tools = [{"name": "f", "parameters": {"type": "object", "properties": {"v": {"type": "string"}}}}]
    opener = get(format).openers[0] if format == "lfm2" else ""
    parser = Parser(format, tools=tools)
    before = [event for piece in (opener + '[f(v="', "\\", '="l') for event in parser.feed(piece)]
    twin = parser.copy()
    expected = merge(before + parser.feed("x") + parser.finish())
    assert "x" in "".join(str(event) for event in expected)
    assert merge(before + twin.feed("x") + twin.finish()) == expected


def test_a_copy_within_a_frame_emits_its_start_once() -> None:
    """The second call of the frame turns out to be text, which the copy emits as the original does."""
    call = "<｜tool▁call▁begin｜>function%s```json\n%s\n```<｜tool▁call▁end｜>"
    text = "<｜tool▁calls▁begin｜>" + call % ("<｜tool▁sep｜>g\n", '{"a": "b": 1}') + call % ("", "{}") + "tail"
    for place in range(len(text)):
        check_copy("deepseek_v3", text, place)


def test_pickling_a_parser_raises_a_clear_error() -> None:
    with pytest.raises(TypeError, match="state that cannot be pickled"):
        pickle.dumps(Parser("json"))


# --- cost


def test_repeated_openers_of_a_call_cost_what_their_characters_do() -> None:
    looked = []
    for count in (300, 2400):
        parser = Parser("kimi_k2", tools=TOOLS)
        parser.feed("<|tool_call_begin|>" * count)
        parser.finish()
        looked.append(parser.scanned_characters / count)
    assert looked[1] <= 1.2 * looked[0]


@pytest.mark.parametrize("partial", ['<tool_call>{"name": "get_weather", "arguments": {"ci', '{"arguments": {"city'])
def test_a_key_has_an_end(partial: str) -> None:
    parser = Parser("json", tools=TOOLS)
    content = "".join(e.text for e in parser.feed(partial + PROSE) if isinstance(e, Content))
    assert len(content) > len(PROSE) - 450


@pytest.mark.parametrize(
    "text", ["<tool_call>", "<tool_call>x", "<tool_call>{", "`<tool_call>", "<think>", "```json\n"]
)
def test_one_large_piece_costs_what_its_characters_do(text: str) -> None:
    """Characters examined within one feed are counted too."""
    looked = []
    for count in (500, 4000):
        parser = Parser("json", tools=TOOLS)
        parser.feed(text * count)
        parser.finish()
        looked.append(parser.scanned_characters / count)
    assert looked[1] <= 1.2 * looked[0]


def test_a_long_literal_is_looked_for_like_any_other() -> None:
    """Longer than the groups of an expression can be nested."""
    literal = "<" + "x" * 1500 + ">"
    finder = literals(literal, "<" + "x" * 60)
    assert finder.search("a" + literal, 0, False) == (1, literal)
    assert finder.search("a" + literal[:-1], 0, False) == (1, "")
    assert finder.search("a" + literal[:50], 0, False) == (1, "")
    assert finder.search("a" + literal[:61] + "y" * 1500, 0, False) == (1, literal[:61])
    assert finder.search("a" + literal[:50] + "y" * 1500, 0, False) is None
    assert finder.search("a" + literal, 0, True) == (1, literal)


def test_what_is_read_ahead_is_emitted_within_the_bound() -> None:
    """A call without a frame is held back until what follows decides, but only up to the limit."""
    parser = Parser("pythonic", tools=[{"name": "f", "parameters": {"properties": {"x": {"type": "string"}}}}])
    fed = len('[f(x="')
    events = parser.feed('[f(x="')
    while not events and fed < 3 * MAX_LOOKAHEAD:
        fed += 4
        events = parser.feed("word")
    assert isinstance(events[0], ToolCallStart)
    assert MAX_LOOKAHEAD <= fed <= MAX_LOOKAHEAD + 8


def test_calls_that_reach_over_what_may_be_held_are_calls_wherever_the_bound_falls() -> None:
    for length in range(MAX_LOOKAHEAD - 60, MAX_LOOKAHEAD + 20):
        text = f"[f(x='{'a' * length}'), g(y='{'b' * 40}'), h()]"
        events = events_of("pythonic", [text, "\nDone."])
        ended = [event for event in events if isinstance(event, ToolCallEnd)]
        assert (length, len(ended)) == (length, 3)


@pytest.mark.parametrize("size", [1, 4, 50, 10_000])
def test_a_long_call_of_an_undeclared_tool_without_a_frame_is_content(size: int) -> None:
    text = "[undeclared(x='" + '"' * 500 + "')]"
    pieces = [text[at : at + size] for at in range(0, len(text), size)]
    assert events_of("pythonic", pieces, tools=[{"name": "f"}]) == [Content(text, 0)]


@pytest.mark.parametrize("arguments", [{"text": "x y " * 150}, {"a": "b", "text": "x y " * 150}])
def test_a_long_call_of_an_undeclared_tool_is_content_in_every_format(arguments: dict[str, str]) -> None:
    """Wherever the bound is met: before the first value has ended, or in another one, while it streams."""
    for format in FORMATS:
        text = write(format, [("undeclared", arguments)])
        for size in (1, 4, 50, len(text)):
            pieces = [text[at : at + size] for at in range(0, len(text), size)]
            events = events_of(format.name, pieces, tools=TOOLS)
            content = "".join(event.text if isinstance(event, Content) else repr(event) for event in events)
            shown = text
            for marker in format.ignored_markers:
                content, shown = content.replace(marker, ""), shown.replace(marker, "")
            assert (format.name, size, content) == (format.name, size, shown)


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(f"[get_weather({' ' * 500}city='Oslo')]", id="no argument yet"),
        pytest.param(f"[get_weather('{'so and so ' * 50}')]", id="a string that may be a key"),
        pytest.param(f"[{', '.join(f'undeclared(n={n})' for n in range(60))}]", id="undeclared calls, all whole"),
    ],
)
def test_a_list_that_has_shown_no_declared_call_within_the_bound_is_content(text: str) -> None:
    assert len(text) > MAX_LOOKAHEAD
    assert summary(read(text, "pythonic", tools=TOOLS)) == [("content", text)]


@pytest.mark.parametrize("size", [1, 4, 50])
def test_what_the_prompt_began_and_was_held_stays_the_prompts(size: int) -> None:
    """It may have been the beginning of a marker, but is not one within the model's own text."""
    text = "call and so on"
    parser = Parser("json", prefix="Hello <tool_")
    events = [event for at in range(0, len(text), size) for event in parser.feed(text[at : at + size])]
    assert merge(events + parser.finish()) == [Content(text, 0)]
    assert "".join(event.text for event in parser.continued if isinstance(event, Content)) == "Hello <tool_"


def test_a_plain_type_is_read_like_any_other() -> None:
    schema = {"properties": {"a": {"type": "string"}, "b": {"type": "string", "nullable": True}, "c": {"type": "int"}}}
    assert [parameter_types(schema, key) for key in "abcd"] == [{"string"}, {"string", "null"}, {"integer"}, None]


@pytest.mark.parametrize("format", ["json", "pythonic", "xml_function"])
def test_values_may_be_nested_up_to_the_limit_and_no_deeper(format: str) -> None:
    """The arguments' own object is the first level."""

    def nested(levels: int) -> object:
        value: object = 1
        for _ in range(levels):
            value = [value]
        return value

    tools = [{"name": "f", "parameters": {"properties": {"x": {"type": "array"}}}}]
    inside = 1 if format == "json" else 0
    for levels, ends in ((256 - inside, True), (257 - inside, False)):
        text = get(format).writer.write([("f", {"x": nested(levels)})], lambda name, *path: frozenset({"array"}))
        last = [event for event in events_of(format, [text], tools=tools) if not isinstance(event, Content)][-1]
        assert isinstance(last, ToolCallEnd if ends else ToolCallRejected), (format, levels)


def test_the_lookahead_after_an_unescaped_quote_is_bounded() -> None:
    """After it, a string ends only if the next argument or the end of the calls follows soon."""
    parser = Parser("lfm2", tools=[{"name": "f", "parameters": {"properties": {"x": {"type": "string"}}}}])
    parser.feed("<|tool_call_start|>[f(x='he said 'no' and ")
    events = parser.feed("went") + parser.feed("'" + "." * 100)
    assert "." not in "".join(event.delta for event in events if isinstance(event, ToolCallArguments))
    events = parser.feed("." * 40)
    assert "." * 140 in "".join(event.delta for event in events if isinstance(event, ToolCallArguments))


@pytest.mark.parametrize(("length", "is_the_values"), [(1_900, True), (2_100, False)])
def test_an_end_marker_in_a_value_inside_reasoning_is_part_of_it_if_the_call_ends_soon(
    length: int, is_the_values: bool
) -> None:
    call = '<tool_call>{"name": "f", "arguments": {"s": "</think>' + "x" * length + '"}}</tool_call>'
    events = events_of("json", [f"<think>{call} No.</think>Answer"])
    content = "".join(event.text for event in events if isinstance(event, Content))
    assert (content == "Answer", content.startswith("xxx")) == (is_the_values, not is_the_values)


@pytest.mark.parametrize("format", [format.name for format in FORMATS])
def test_a_copy_of_a_parser_that_was_fed_nothing_reads_like_it(format: str) -> None:
    for text in ("\n{n", ">>>", " [f()]", write(format, [("f", {"x": "y"})])):
        check_copy(format, text, 0)


@pytest.mark.parametrize(
    ("format", "stop", "text", "span"),
    [
        ("minicpm5", ["</", "x"], 'Ok\n<function name="get_weather"><param name="k_1">Paris</', (3, 55)),
        ("olmo3", ["</", "x"], '<function_calls>now(w=-3)\nf(zz="ab</', (26, 34)),
    ],
)
@pytest.mark.parametrize("size", [1, 2, 3, 4, 5, 7, 100])
def test_a_stop_string_after_a_value_cuts_nothing_off_it(
    format: str, stop: list[str], text: str, span: tuple[int, int], size: int
) -> None:
    pieces = [text[at : at + size] for at in range(0, len(text), size)]
    last = events_of(format, pieces, stop=stop)[-1]
    assert isinstance(last, ToolCallRejected)
    assert (last.span, last.raw) == (span, text[span[0] : span[1]])


def test_a_copy_counts_the_arguments_of_an_undeclared_call() -> None:
    text = (
        "<|tool_call_begin|>f<|tool_call_argument_begin|>{}<|tool_call_end|>"
        '<|tool_call_begin|>g:2<|tool_call_argument_begin|>{"o": "' + "z" * 450
    )
    for place in (130, 140, 200, 300):
        check_copy("kimi_k2", text, place, tools=[{"name": "f"}], strict=True)


@pytest.mark.parametrize("format", ["json", "lfm2", "seed_oss", "gpt_oss"])
def test_a_copy_made_after_a_stop_string_reads_nothing_more(format: str) -> None:
    for text in ("Prose, and more STOP", write(format, [("f", {"x": "y" * 40})])[:-20] + "STOP"):
        parser = Parser(format, stop=["STOP"])
        parser.feed(text)
        twin = parser.copy()
        assert (twin.feed("behind it"), twin.finish()) == ([], [])


def test_a_copy_within_a_row_of_calls_without_a_frame_goes_on_in_the_row() -> None:
    delimiter = "]<]minimax[>["
    call = f'{delimiter}<invoke name="g">{delimiter}<key>%s{delimiter}</key>{delimiter}</invoke>\n'
    text = "Well.\n" + call % "now" + call % ("z" * 450) + call.replace('"g"', '"f"') % "now"
    for place in range(80, len(text), 60):
        check_copy("minimax_m3", text, place, tools=[{"name": "f"}], strict=True)


TAGGED = "<tool_call>\n<function=get_weather>\n<parameter=city>\nOslo\n</parameter>\n"


@pytest.mark.parametrize("end", ["<", "<parameter", "<parameter=ci", "</function", "</function>\n</tool_call"])
def test_a_call_whose_next_marker_was_cut_is_incomplete(end: str) -> None:
    parser = Parser("xml_function", tools=TOOLS)
    events = parser.feed(TAGGED + end) + parser.finish(cut=True)
    (rejected,) = (event for event in events if isinstance(event, (ToolCallRejected, Content)))
    assert isinstance(rejected, ToolCallRejected)
    assert (rejected.reason, rejected.raw) == ("incomplete_output", TAGGED + end)


@pytest.mark.parametrize("end", ["", ",", ", ", ', "arg'])
def test_a_json_call_that_may_have_more_members_is_incomplete_in_a_cut_output(end: str) -> None:
    text = 'functools[{"name": "get_weather"}' + end
    whole, cut = Parser("phi4", tools=TOOLS), Parser("phi4", tools=TOOLS)
    ended = merge(whole.feed(text) + whole.finish())
    assert any(isinstance(event, ToolCallEnd) for event in ended) == (not end.strip(", "))
    rejected = (cut.feed(text) + cut.finish(cut=True))[-1]
    assert isinstance(rejected, ToolCallRejected)
    assert (rejected.reason, rejected.raw) == ("incomplete_output", text)


def test_a_malformed_call_with_its_end_is_malformed_in_a_cut_output_too() -> None:
    text = "<tool_call>get_weather\n<arg_key>city</arg_key>\n<arg_value></tool_call>"
    parser = Parser("glm4", tools=TOOLS)
    rejected = (parser.feed(text) + parser.finish(cut=True))[-1]
    assert isinstance(rejected, ToolCallRejected) and rejected.reason == "malformed_syntax"


def test_a_certain_error_at_the_end_of_a_cut_output_is_one_however_the_output_is_split() -> None:
    text = "<|tool_call_start|>[write(text='x='a"
    for at in range(len(text)):
        parser = Parser("lfm2")
        events = merge([*parser.feed(text[:at]), *parser.feed(text[at:]), *parser.finish(cut=True)])
        assert [event.reason for event in events if isinstance(event, ToolCallRejected)] == ["malformed_syntax"]


def test_a_start_marker_in_prose_is_content_in_a_cut_output_too() -> None:
    text = "请使用<|tool_calls_section_begin|><|tool_call_begin|>标签来调用工具，然后继续。"
    parser = Parser("kimi_k2", tools=TOOLS)
    assert summary(merge(parser.feed(text) + parser.finish(cut=True))) == [("content", text)]


@pytest.mark.parametrize("format", FORMATS, ids=lambda format: format.name)
def test_the_state_of_a_short_call_stays_in_the_compact_form_of_python(format: ToolCallFormat) -> None:
    parser = Parser(format, tools=TOOLS)
    parser.feed(write(format, [("get_weather", {"city": "Oslo"})], tools=TOOLS))
    parser.finish()
    driver = parser._driver
    assert max(len(vars(driver)), len(vars(driver.calls))) <= 30
