"""Calls in code fences, indented blocks, quotes and inline code: examples if other text follows."""

from collections.abc import Callable

import pytest

from toolfmt.formats import FORMATS, Parser, write
from toolfmt.messages.events import Content, Event, ToolCallEnd, ToolCallStart, merge

TOOLS = [
    {"name": "water_plant", "parameters": {"type": "object", "properties": {"plant": {"type": "string"}}}},
]
CALL = [("water_plant", {"plant": "fern"})]


def _events(format: str, text: str, size: int) -> list[Event]:
    parser = Parser(format, tools=TOOLS)
    events = [event for at in range(0, len(text), size) for event in parser.feed(text[at : at + size])]
    return merge(events + parser.finish())


def _indented(written: str) -> str:
    return "".join("    " + line for line in written.splitlines(keepends=True))


BLOCKS: dict[str, Callable[[str], str]] = {
    "fence": lambda written: f"```xml\n{written}\n```",
    "fence of tildes": lambda written: f"~~~\n{written}\n~~~",
    "longer fence": lambda written: f"````text\n{written}\n````",
    "later in a fence": lambda written: f"```text\nYou write:\n{written}\n```",
    "indented": _indented,
    "inline code": lambda written: f"`the text {written}` is a call",
}


@pytest.mark.sample(12)
@pytest.mark.parametrize("block", BLOCKS)
@pytest.mark.parametrize("format", [format.name for format in FORMATS])
def test_a_call_in_a_block_with_text_after_it_is_content(format: str, block: str) -> None:
    written = write(format, CALL, tools=TOOLS)
    text = f"A call is written like this:\n\n{BLOCKS[block](written)}\n\nNothing was watered."
    for size in (len(text), 3, 1):
        events = _events(format, text, size)
        assert not any(isinstance(event, (ToolCallStart, ToolCallEnd)) for event in events), events


@pytest.mark.parametrize("block", ["fence", "fence of tildes", "longer fence"])
@pytest.mark.parametrize("format", ["json", "xml_function", "glm4", "lfm2", "gemma4", "minimax_m2", "kimi_k2"])
def test_a_call_in_a_fence_that_ends_the_output_is_a_call(format: str, block: str) -> None:
    written = write(format, CALL, tools=TOOLS)
    text = f"I will water it.\n\n{BLOCKS[block](written)}\n"
    for size in (len(text), 3, 1):
        ended = [event for event in _events(format, text, size) if isinstance(event, ToolCallEnd)]
        whole = BLOCKS[block](written) if block == "fence" else written  # the span contains a fence that is dropped
        assert [text[slice(*event.span)] for event in ended] == [whole], (size, ended)


@pytest.mark.parametrize("start", ["```\n", "> ", "`", "    "])
def test_a_call_in_a_block_of_a_cut_output_is_content(start: str) -> None:
    """What would have followed it is not known."""
    parser = Parser("json", tools=TOOLS)
    text = f"For example:\n{start}" + write("json", CALL, tools=TOOLS).replace("\n", "")
    events = merge(parser.feed(text) + parser.finish(cut=True))
    assert events == [Content(text, 0)]


def test_a_fence_line_with_words_is_emitted_at_once() -> None:
    parser = Parser("json", tools=TOOLS)
    events = [event for piece in "```I will water it" for event in parser.feed(piece)]
    assert merge(events) == [Content("```I will water it", 0)]


def test_the_next_line_is_not_in_the_block_of_the_line_before() -> None:
    text = '    indented\nNow:\n<tool_call>\n{"name": "water_plant", "arguments": {"plant": "fern"}}\n</tool_call> done'
    events = _events("json", text, len(text))
    assert [type(event) for event in events][:2] == [Content, ToolCallStart]
    assert isinstance(events[-1], Content)


def test_a_call_in_a_block_is_held_back_for_a_bounded_length() -> None:
    """A call after which nothing is known within 2,000 characters is content, so a fence never holds back more."""
    parser = Parser("json", tools=TOOLS)
    parser.feed("Example:\n```\n")
    text = '<tool_call>\n{"name": "water_plant", "arguments": {"plant": "' + "x" * 3000
    shown = 0
    held = []
    for at in range(0, len(text), 10):
        events = parser.feed(text[at : at + 10])
        assert all(isinstance(event, Content) for event in events)
        shown += sum(len(event.text) for event in events if isinstance(event, Content))
        held.append(min(at + 10, len(text)) - shown)
    assert 1900 < max(held) < 2100
    assert held[-1] < 100


@pytest.mark.parametrize(
    ("before", "block"),
    [
        ("> ", True),
        ("   > like this: ", True),
        ("\tx = ", True),
        ("Use `f ", True),
        ("Use `f` ", False),
        ("   ", False),
        ("1 > 0: ", False),
        ("x" * 200 + "`", False),
    ],
)
def test_the_beginning_of_a_line_shows_the_block(before: str, block: bool) -> None:
    call = '<tool_call>{"name": "water_plant", "arguments": {"plant": "fern"}}</tool_call>'
    text = f"Text.\n{before}{call} and more text"
    for size in (len(text), 5, 1):
        calls = [event for event in _events("json", text, size) if isinstance(event, ToolCallEnd)]
        assert bool(calls) != block, (size, calls)
