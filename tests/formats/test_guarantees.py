"""The guarantees of the design for every format, with hypothesis."""

from __future__ import annotations

import json
import re
from typing import Any

import depth
import pytest
from guarantees import check_arguments, check_copy, check_shape, check_tiling, cut, dropped, events_of
from hypothesis import assume, example, given
from hypothesis import strategies as st
from law_texts import CALLS, NAMES, VALUES, texts

import toolfmt
from toolfmt.errors import CannotWrite
from toolfmt.formats import FORMATS, Parser, ToolCallFormat, get, write
from toolfmt.messages.events import Content, ToolCallArguments, ToolCallEnd, ToolCallStart, merge
from toolfmt.testing.material import markers

TOOLS: list[Any] = [
    {
        "type": "function",
        "function": {
            "name": "f",
            "parameters": {
                "type": "object",
                "properties": {
                    "s": {"type": "string"},
                    "n": {"type": "integer"},
                    "b": {"type": "boolean"},
                    "o": {"type": "object"},
                    "l": {"type": "array"},
                    "u": {"type": ["string", "null"]},
                    "v": {"anyOf": [{"type": "string"}, {"type": "integer"}, {"type": "object"}]},
                },
            },
        },
    },
    {"type": "function", "function": {"name": "now"}},
]
OPTIONS = st.fixed_dictionaries(
    {},
    optional={
        "tools": st.sampled_from([TOOLS, []]),
        "strict": st.booleans(),
        "prefix": st.sampled_from(["<think>\n", "<|im_start|>assistant\n"]),
    },
)


def first_mark(format: ToolCallFormat) -> str:
    """The start marker of a call, if the format has one."""
    return next(iter((*format.openers, *format.unframed_openers)), "f\n{")


@pytest.mark.sample(8)
@pytest.mark.parametrize("format", NAMES)
@given(data=st.data(), options=OPTIONS, places=st.lists(st.integers(0, 400), max_size=8))
def test_invariants_of_any_text(format: str, data: st.DataObject, options: dict[str, Any], places: list[int]) -> None:
    """Guarantees 1 to 5 and 11: chunks do not matter, nothing raises, nothing is lost, calls are well-formed."""
    text = data.draw(texts(format))
    whole = events_of(format, [text], **options)
    assert events_of(format, list(text), **options) == whole
    assert events_of(format, cut(text, places), **options) == whole
    check_shape(whole)
    check_arguments(whole)
    check_tiling(text, whole, dropped(get(format)))
    check_copy(format, text, places[0] % (len(text) + 1) if places else 0, **options)
    message = toolfmt.parse(text, format, **options)
    assert len(message.tool_calls) == sum(isinstance(event, ToolCallEnd) for event in whole)


@pytest.mark.parametrize("format", NAMES)
@given(calls=CALLS, typed=st.booleans(), places=st.lists(st.integers(0, 400), max_size=6))
@example(calls=[("f", {"_": [" </parameter>"]})], typed=False, places=[])
@example(calls=[("f", {"s": "a </parameter> b"})], typed=True, places=[40])
@example(calls=[("f", {"_": "<|tool_arg:end|>a"})], typed=False, places=[])
def test_reading_undoes_writing(format: str, calls: list[Any], typed: bool, places: list[int]) -> None:
    """Guarantee 7, in chunks, strict: a written call is read back, and one that cannot be written is rejected."""
    tools = TOOLS if typed else None
    if typed:
        calls = [("f", arguments) for _, arguments in calls]
    try:
        text = write(format, calls, tools)
    except CannotWrite as refused:
        assert format in str(refused) and "\n" not in str(refused)
        return
    noted = {name for event in events_of(format, [text], tools=tools) for name in getattr(event, "tolerated", ())}
    assert noted <= notes_of(format, calls, typed)
    assert calls_of(events_of(format, cut(text, places), tools=tools, strict=not noted)) == canonical(calls)


def notes_of(format: str, calls: list[Any], typed: bool) -> set[str]:
    """Tolerances allowed for calls that a format has written: a string where the schema expects another type, and a
    value that contains a closing tag of the format.
    """
    other = typed and any(isinstance(given.get(key), str) for _, given in calls for key in ("n", "b", "o", "l"))
    text = json.dumps(calls, ensure_ascii=False)
    closed = any((mark[:2] == "</" or mark.endswith(":end|>")) and mark in text for mark in markers(format))
    return {name for name, may in (("other_type", other), ("text_behind_closer", closed)) if may}


@pytest.mark.parametrize("format", NAMES)
@given(value=VALUES)
@example(value='<parameter name="n">')
def test_plain_values_are_never_rejected(format: str, value: Any) -> None:
    """Guarantee 7: a format rejects only a value that contains one of its own markers, or the rest of a damaged one:
    its end, or the word before the name in it.
    """
    literals = [literal for literal in markers(format) if len(literal) > 3]
    literals += re.findall(r"\w+ name=\"", " ".join(literals))
    text = json.dumps(value, ensure_ascii=False).replace('\\"', '"')
    assume(not any(literal[-12:] in text for literal in literals))
    write(format, [("f", {"k": value})])


@pytest.mark.parametrize("format", NAMES)
@given(calls=CALLS, before=st.text("abc .,!\n", max_size=20), after=st.text("abc .,!\n", max_size=20))
def test_calls_in_prose(format: str, calls: list[Any], before: str, after: str) -> None:
    """Calls between prose are read, and the prose is unchanged; without a frame they have their own lines."""
    assume("    " not in before)  # an indented block is an example
    try:
        text = write(format, calls)
    except CannotWrite:
        return
    if not text.lstrip().startswith(get(format).openers or "\0"):
        only_first = get(format).name_at_start == "usual" or get(format).engine.start_only_openers
        before, after = "" if only_first else before and before + "\n", after and "\n" + after
    events = events_of(format, [before, text, after])
    assert calls_of(events) == canonical(calls)
    content = [event.text.rstrip("\n") for event in events if isinstance(event, Content)]
    assert content == [part.rstrip("\n") for part in (before, after) if part.strip(" \n")]


@pytest.mark.parametrize("format", NAMES)
@given(text=st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=40))
def test_strings_stream(format: str, text: str) -> None:
    """Guarantee 6: a string value is emitted while it is still being written; an expression without a frame, which may
    continue as something else, after some hundred characters.
    """
    text = "a" + text.replace("<", "").replace("\\", "") + "z" * 8
    written = write(format, [("f", {"s": text})], TOOLS)
    if written.startswith("[f("):
        text = "b" * 400 + text
        written = write(format, [("f", {"s": text})], TOOLS)
    parser = Parser(format, tools=TOOLS)
    begin = written.index("zzzzzzzz")
    parser.feed(written[:begin])
    streamed = "".join(e.delta for e in parser.feed("zzzz") if isinstance(e, ToolCallArguments))
    assert streamed.endswith("zzz")


@pytest.mark.parametrize("format", NAMES)
@given(data=st.data())
def test_content_is_prompt(format: str, data: st.DataObject) -> None:
    """Guarantee 6: text waits only while it can still become a marker; a letter after it releases it."""
    begin = "x" if get(format).name_at_start == "never" else "x, "
    text = data.draw(st.text("abc .,", min_size=1).map(lambda prose: begin + prose + "x"))
    parser = Parser(format)
    assert merge(parser.feed(text)) == [Content(text, 0)]


@pytest.mark.parametrize("format", NAMES)
def test_half_a_call_in_reasoning_does_not_hold_back_the_answer(format: str) -> None:
    """Guarantee 6: a call inside reasoning that stops in the block holds back what follows the block only for a limited
    length.
    """
    for opener, closer in get(format).reasoning[:1]:
        written = write(format, [("f", {"s": "x" * 40})], TOOLS)
        parser = Parser(format, tools=TOOLS)
        events = parser.feed(f"{opener}hm {written[: written.index('xxx') + 9]}{closer}" + "The answer is 42. " * 200)
        assert any(isinstance(event, Content) for event in merge(events))


@pytest.mark.sample(2)
@pytest.mark.parametrize("format", NAMES)
def test_cost_is_linear(format: str) -> None:
    """Guarantee 9: the number of characters examined stays a multiple of the characters fed: at most a marker's length
    each.
    """
    most = 4 + max(map(len, markers(format)))
    code = "for i in range(10):\n    print(\"{i}\", [1, 2], '<a>')\n"
    value = write(format, [("f", {"s": code * 100})], TOOLS)
    cases = [value, "some prose. " * 400, first_mark(get(format)) + "x" * 5000, value[: len(value) // 2] + " <" * 2000]
    cases += ["<think>" + first_mark(get(format)) * 500, first_mark(get(format)) * 1000, "{" * 3000, "\n{" * 2000]
    closers = [marker for marker in markers(format) if marker.startswith(("</", "<esc"))]
    cases += [value[:-40] + (closer + " \n x") * 400 for closer in closers]
    cases += [value + " " * 4000, "<think>" + value * 3, '{"name": "' * 500]
    for text in cases if depth.every else cases[:8] + cases[8::3]:
        for size in (1, 4, len(text)) if depth.every else (4, len(text)):
            parser = Parser(format, tools=TOOLS)
            for at in range(0, len(text), size):
                parser.feed(text[at : at + size])
            parser.finish()
            assert parser.scanned_characters <= most * len(text), (text[:60], size)


@pytest.mark.parametrize("format", NAMES)
@pytest.mark.parametrize("opening", ["[", "{", '{"a":', "-", "x", "\n", "<", "\\", '"'])
def test_absurd_lengths_end_in_events(format: str, opening: str) -> None:
    """Guarantee 2: depth, minus signs and endless names end in events."""
    written = write(format, [("f", {"s": "x"})])
    for text in (written.replace("x", opening * 30_000), first_mark(get(format)) + opening * 30_000, opening * 30_000):
        check_shape(events_of(format, [text], tools=TOOLS))


@pytest.mark.parametrize("format", NAMES)
def test_a_schema_without_end_is_no_error(format: str) -> None:
    """Guarantee 2: a schema that is nested too deep does not specify the type."""
    schema: dict[str, Any] = {"type": "string"}
    for _ in range(400):
        schema = {"anyOf": [schema]}
    tools = [{"name": "f", "parameters": {"properties": {"s": schema}}}]
    assert calls_of(events_of(format, [write(format, [("f", {"s": "x"})])], tools=tools)) == [("f", '{"s": "x"}')]


@pytest.mark.parametrize("format", NAMES)
def test_mentioning_a_marker_is_prose(format: str) -> None:
    """Guarantee 10: a marker in prose neither makes a call nor swallows the rest."""
    known = get(format)
    for marker in {*known.openers, *known.closers} - set(known.ignored_markers):
        for text in (
            f"The marker {marker} opens a call.",
            f"Use `{marker}` for it; then go on.",
            f"It is {marker}, right?",
        ):
            assert events_of(format, [text]) == [Content(text, 0)]


@pytest.mark.parametrize("format", NAMES)
def test_a_reference_with_an_index_of_any_length_is_no_error(format: str) -> None:
    """Guarantee 2: a schema reference with more digits than Python parses does not specify the type."""
    for digits in (1, 5_000):
        listed = {"$ref": "#/$defs/list/" + "0" * digits}
        parameters = {"properties": {"s": listed}, "$defs": {"list": [{"type": "string"}]}}
        tools = [{"name": "f", "parameters": parameters}]
        written = write(format, [("f", {"s": "x"})])
        assert calls_of(events_of(format, [written], tools=tools)) == [("f", '{"s": "x"}')]


@pytest.mark.parametrize("format", NAMES)
@pytest.mark.parametrize("length", [255, 257, 600])
def test_a_name_of_any_length_is_the_same_in_pieces(format: str, length: int) -> None:
    """Guarantee 1 for a name longer than allowed: how much of it had arrived makes no difference, in later calls
    either.
    """
    text = write(format, [("f", {"s": "x"}), ("NAME", {"s": "x"})])
    text = text[: text.rindex("NAME")] + "[" * length
    for tools in (None, TOOLS):
        assert events_of(format, text, tools=tools) == events_of(format, [text], tools=tools)


@pytest.mark.parametrize("format", [format.name for format in FORMATS if format.openers])
def test_a_call_after_a_backtick_keeps_its_start_marker(format: str) -> None:
    """Guarantees 1 and 3 if a start marker may have been quoted but was not: the rejection contains all of its text."""
    written = write(format, [("f", {"s": "x"})], TOOLS)
    for end in range(len(written)):
        text = "`" + written[:end]
        whole = events_of(format, [text], tools=TOOLS)
        assert events_of(format, text, tools=TOOLS) == whole
        check_tiling(text, whole, dropped(get(format)))


@pytest.mark.parametrize("format", NAMES)
def test_a_start_marker_of_another_syntax_after_a_frame_terminates(format: str) -> None:
    """Guarantee 2: a frame of one syntax with start markers of another in it, found by generated texts, caused an
    endless loop.
    """
    for text in ("<tools><function=<function=", '<function_calls><invoke <invoke name="', "<tools><invoke <invoke "):
        whole = events_of(format, [text], tools=TOOLS)
        assert events_of(format, text, tools=TOOLS) == whole
        check_shape(whole)
        check_tiling(text, whole, dropped(get(format)))


def test_feed_after_finish_is_misuse() -> None:
    parser = Parser("json")
    assert parser.finish() == [] == parser.finish()
    with pytest.raises(RuntimeError, match="after finish"):
        parser.feed("x")


def calls_of(events: list[Any]) -> list[tuple[str, str]]:
    calls: list[list[str]] = []
    for event in events:
        if isinstance(event, ToolCallStart):
            calls.append([event.name, ""])
        elif isinstance(event, ToolCallArguments):
            calls[-1][1] += event.delta
    return [(name, json.dumps(json.loads(arguments), sort_keys=True)) for name, arguments in calls]


def canonical(calls: list[tuple[str, Any]]) -> list[tuple[str, str]]:
    return [(name, json.dumps(arguments, sort_keys=True)) for name, arguments in calls]
