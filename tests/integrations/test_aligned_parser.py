"""A runtime's text, aligned with the ids that say which markers are tokens."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from token_outputs import ids_of, ordinary_ids, parsed, summary, text_of, tokenizer_with

from toolfmt.formats import Parser, TokenParser
from toolfmt.integrations.aligned_parser import AlignedParser
from toolfmt.messages.events import Event, merge

QWEN = ("<|im_end|>", "<tool_call>", "</tool_call>", "<think>", "</think>", "<|dropped|>")
CALL = '«<tool_call>»{"name": "get_weather", "arguments": {"city": "Oslo 日本"}}«</tool_call>»'
ECHO = '<tool_call>{"name": "delete_all", "arguments": {}}</tool_call>'
OUTPUT = f"It says {ECHO} – 🦜.\n{CALL}Done."
TOKENIZER = tokenizer_with(*QWEN)
IDS = ids_of(TOKENIZER, OUTPUT)
PLAIN = "a <b> ab\n<a> b <tool_ca> </b> a < b\n" * 3
EXPECTED = parsed(TokenParser(Parser("json"), TOKENIZER), [IDS])
Steps = Iterable[tuple[str, list[int]]]


def read(steps: Steps, tokenizer: Any = TOKENIZER, **options: Any) -> list[tuple[str, str]]:
    parser = AlignedParser(Parser("json", **options), tokenizer)
    events = [event for text, ids in steps for event in parser.feed(text, ids)]
    return summary(merge([*events, *parser.finish()]))


def steps_of(ids: list[int], text: str, ends: Iterable[int], lag: int) -> Steps:
    """The ids in steps that end at these positions; the text comes up to `lag` characters later."""
    decoded, begin, sent = TokenParser(Parser("json"), TOKENIZER, "text"), 0, 0
    length = 0
    for end in sorted({*(min(end, len(ids)) for end in ends), len(ids)}):
        length = max(sum(len(text) for text, _ in decoded._detokenizer.copy().feed(ids[:end])) - lag, sent)
        length = len(text) if end == len(ids) else length
        yield text[sent:length], ids[begin:end]
        begin, sent = end, length


@given(ends=st.lists(st.integers(0, len(IDS)), max_size=30), lag=st.integers(0, 15))
def test_the_text_may_come_later_than_its_ids(ends: list[int], lag: int) -> None:
    assert read(steps_of(IDS, text_of(OUTPUT), ends, lag)) == summary(EXPECTED)


@given(others=st.lists(st.text("ab<> \n", max_size=8), max_size=20), lengths=st.lists(st.integers(0, 9), max_size=20))
def test_whatever_the_ids_are_the_text_is_parsed_whole_and_in_order(others: list[str], lengths: list[int]) -> None:
    steps, text = [], PLAIN
    for other, length in zip(others, lengths, strict=False):
        steps.append((text[:length], ordinary_ids(other)))
        text = text[length:]
    assert read([*steps, (text, [])]) == [("content", PLAIN)]


def test_the_end_token_has_no_text() -> None:
    end = ids_of(TOKENIZER, "«<|im_end|>»")[0]
    assert read([(text_of(OUTPUT), [*IDS, end])]) == summary(EXPECTED)
    assert read([(text_of(OUTPUT), IDS), ("", [end])]) == summary(EXPECTED)


def test_a_special_token_without_text_is_left_out() -> None:
    dropped = ids_of(TOKENIZER, "«<|dropped|>»")[0]
    ids = [dropped, *IDS[:5], dropped, *IDS[5:]]
    assert read([(text_of(OUTPUT), ids)]) == summary(EXPECTED)
    assert read([(text_of(OUTPUT)[:3], ids[:8]), (text_of(OUTPUT)[3:], ids[8:])]) == summary(EXPECTED)


def test_ids_of_reasoning_before_the_text_are_skipped() -> None:
    before = ids_of(TOKENIZER, "«<think>»Hm, It says.«</think>»")
    assert read([(text_of(OUTPUT), [*before, *IDS])]) == summary(EXPECTED)


def test_leading_text_without_ids_is_matched_as_text() -> None:
    """A server gave the ids of the first text with the reasoning."""
    text = text_of(OUTPUT)
    for lost in (1, 4, 12):
        steps = [(text[:10], IDS[lost:20]), (text[10:], IDS[20:])]
        assert read(steps)[-2:] == summary(EXPECTED)[-2:]
    assert read([(text, [])]) == summary(parsed(Parser("json"), [text]))


def test_text_before_the_beginning_of_a_marker_is_kept() -> None:
    """The text has a space that the ids do not have, and its end may become the marker that they have next."""
    start = ids_of(TOKENIZER, "«<tool_call>»")
    assert read([("", start), ("a <", []), (" b", [])]) == [("content", "a < b")]
    assert read([("", start), ("<tool_call>a<", [])])[-1] == ("content", "<tool_call>a<")


@pytest.mark.parametrize("noncharacter", ["\ufdd0", "\ufdef"])
def test_noncharacters_do_not_prevent_the_alignment(noncharacter: str) -> None:
    text = f"It says {ECHO}{noncharacter}."
    expected = [("content", text.replace(noncharacter, "\ufffd"))]
    assert read([(text, ordinary_ids(text))]) == expected


def test_a_marker_whose_text_comes_in_parts_is_a_marker() -> None:
    ids = ids_of(TOKENIZER, CALL)
    text = text_of(CALL)
    steps = [(text[:5], ids), *((character, []) for character in text[5:])]
    assert read(steps) == [("call", 'get_weather {"city": "Oslo 日本"}')]
    assert read([(text[:5], ids)]) == [("content", text[:5])]


def test_the_space_before_the_first_word_may_be_missing() -> None:
    ids = ids_of(TOKENIZER, f" Yes: {ECHO}")
    assert read([(f"Yes: {ECHO}", ids)]) == [("content", f"Yes: {ECHO}")]


def test_without_a_known_tokenizer_markers_are_matched_as_text() -> None:
    text = text_of(OUTPUT)
    for tokenizer in (None, object()):
        assert read([(text, IDS)], tokenizer) == summary(parsed(Parser("json"), [text]))


def test_the_ids_are_not_used_if_markers_are_matched_as_text() -> None:
    parser = AlignedParser(Parser("json"), TOKENIZER, "text")
    events = [*parser.feed(text_of(OUTPUT), IDS), *parser.finish()]
    assert merge(events) == parsed(Parser("json"), [text_of(OUTPUT)])


def test_a_stop_string_ends_the_response() -> None:
    parser = AlignedParser(Parser("json", stop=["<|im_end|>"]), TOKENIZER)
    output = "Say <|im_end|> to stop.«<|im_end|>»More."
    events: list[Event] = parser.feed(text_of(output), ids_of(TOKENIZER, output))
    assert parser.ended and parser.format.name == "json"
    assert summary([*events, *parser.finish()]) == [("content", "Say <|im_end|> to stop.")]


def test_an_open_call_of_a_cut_response_is_incomplete() -> None:
    parser = AlignedParser(Parser("json"), TOKENIZER)
    output = CALL.removesuffix("«</tool_call>»")
    events = [*parser.feed(text_of(output), ids_of(TOKENIZER, output)), *parser.finish(cut=True)]
    assert summary(events) == [("rejected", "incomplete_output")]


@pytest.mark.parametrize("lost", range(8))
def test_steps_after_lost_ids_are_aligned_again(lost: int) -> None:
    text = text_of(OUTPUT)
    known = len(ordinary_ids(text[:lost]))
    assert read([(text[:lost], []), (text[lost:], IDS)]) == summary(EXPECTED)
    assert read([(text, IDS[known:])]) == summary(EXPECTED)


def test_a_quoted_call_before_a_part_of_a_marker_is_text() -> None:
    text = text_of(OUTPUT)
    end = text.rindex("<tool_call>") + 5
    assert read([(text[:end], IDS), (text[end:], [])]) == summary(EXPECTED)


def test_tokens_whose_text_never_comes_are_forgotten() -> None:
    parser = AlignedParser(Parser("json"), TOKENIZER)
    for _ in range(40):
        parser.feed("", ordinary_ids("some reasoning, " * 100))
        parser.feed("y", [])
    assert len(parser._expected) <= 20_000
    events = [*parser.feed(text_of(OUTPUT), IDS), *parser.finish()]
    assert summary(merge(events))[1:] == summary(EXPECTED)[1:]
