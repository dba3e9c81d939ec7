"""`Parser(tolerate=…)`: the caller chooses which tolerances may be applied. `strict=True` is `tolerate="none"`."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import pytest
from guarantees import cut, events_of
from hypothesis import assume, given
from hypothesis import strategies as st
from law_texts import NAMES, texts

import toolfmt
from toolfmt.formats import TOLERANCES, Parser, ToolCallFormat
from toolfmt.formats.engines.alternatives import Choice
from toolfmt.formats.engines.foreign import Elsewhere
from toolfmt.formats.engines.json_object import JsonObject
from toolfmt.formats.tolerances import Tolerate, kind_of
from toolfmt.messages.events import Event, ToolCallArguments, ToolCallEnd, ToolCallRejected, ToolCallStart
from toolfmt.testing.corpus import Case, cases

TOOLS: list[Any] = [
    {"name": "f", "parameters": {"type": "object", "properties": {"s": {"type": "string"}, "n": {"type": "integer"}}}},
    {"name": "get_weather", "parameters": {"type": "object", "properties": {"city": {"type": "string"}}}},
]
TRAILING_COMMA = '<tool_call>{"name": "f", "arguments": {"s": "x",}}</tool_call>'
RAW_NEWLINE = '<tool_call>{"name": "f", "arguments": {"s": "a\nb"}}</tool_call>'


def outcomes(events: list[Event], allowed: set[str]) -> list[Any]:
    """Return what becomes of each part of an output if only these tolerances may be applied."""
    found: list[Any] = []
    call: list[Any] = []
    for event in events:
        if isinstance(event, (ToolCallStart, ToolCallArguments)):
            call = [event] if isinstance(event, ToolCallStart) else [*call, event]
        elif isinstance(event, ToolCallEnd) and {*map(kind_of, event.tolerated)} <= allowed:
            found += [*call, event]
        elif isinstance(event, (ToolCallEnd, ToolCallRejected)):
            found.append(("rejected", event.index, event.span))
        else:
            found.append(event)
    return found


def check_subset(format: str, text: str, allowed: set[str], places: list[int], **options: Any) -> list[Event]:
    """A call ends exactly if all its tolerances are allowed. Everything else is as if all were.

    A call that repeats an earlier one is not compared: it ends if the earlier one is rejected.
    """
    everything = events_of(format, [text], **options)
    events = events_of(format, [text], tolerate=allowed, **options)
    rejected = [event for event in everything if isinstance(event, ToolCallRejected)]
    repeated = {event.index for event in rejected if event.reason == "duplicate_call"}
    some, every = ([e for e in each if getattr(e, "index", -1) not in repeated] for each in (events, everything))
    assert outcomes(some, set(TOLERANCES)) == outcomes(every, allowed)
    assert events_of(format, cut(text, places), tolerate=allowed, **options) == events
    assert events_of(format, list(text), tolerate=allowed, **options) == events
    if not allowed:
        assert events_of(format, [text], strict=True, **options) == events
        assert events_of(format, [text], tolerate="none", **options) == events
    return everything


@pytest.mark.sample(8)
@pytest.mark.parametrize("format", NAMES)
@given(data=st.data(), allowed=st.sets(st.sampled_from(sorted(TOLERANCES))), declared=st.booleans())
def test_a_call_ends_exactly_if_all_its_tolerances_are_allowed(
    format: str, data: st.DataObject, allowed: set[str], declared: bool
) -> None:
    text = data.draw(texts(format))
    places = data.draw(st.lists(st.integers(0, 400), max_size=8))
    # A call of an undeclared tool with more than 400 characters is content, and so is one whose name is not repaired.
    assume(len(text) < 400 or "repaired_name" in allowed)
    check_subset(format, text, allowed, places, tools=TOOLS if declared else None)


@pytest.mark.sample(200)
@pytest.mark.parametrize("case", cases(), ids=lambda case: case.id)
def test_each_tolerance_of_the_corpus_can_be_allowed_alone_and_left_out_alone(case: Case) -> None:
    options = {"tools": case.tools, "prefix": case.prefix}
    everything = check_subset(case.format, case.text, set(), [7], **options)
    applied = {kind_of(name) for event in everything if isinstance(event, ToolCallEnd) for name in event.tolerated}
    for name in sorted(applied):
        check_subset(case.format, case.text, {name}, [9], **options)
        rest = set(TOLERANCES) - {name}
        check_subset(case.format, case.text, rest, [11], **options)
        ended = {e.index: {*map(kind_of, e.tolerated)} for e in everything if isinstance(e, ToolCallEnd)}
        for event in events_of(case.format, [case.text], tolerate=rest, **options):
            if isinstance(event, ToolCallRejected) and name in ended.get(event.index, ()):
                assert re.search(rf"\({name}(?::\w+)?\)", event.message)


def test_only_the_named_tolerances_are_applied() -> None:
    assert toolfmt.parse(TRAILING_COMMA, "json", tools=TOOLS, tolerate=["trailing_comma"]).tool_calls
    (rejected,) = toolfmt.parse(RAW_NEWLINE, "json", tools=TOOLS, tolerate=["trailing_comma"]).rejected
    assert rejected.message == (
        "Call to f rejected: a string contains an unescaped line break or another control character (raw_newline); "
        "expected an escaped control character (character 46 of the call)."
    )
    many = toolfmt.parse_many([TRAILING_COMMA, RAW_NEWLINE], "json", tools=TOOLS, tolerate=["trailing_comma"])
    assert [len(message.tool_calls) for message in many] == [1, 0]
    assert not toolfmt.parse_many([TRAILING_COMMA], "json", strict=True)[0].tool_calls


@pytest.mark.parametrize(
    ("note", "problem"),
    [
        ("foreign_format:json_object", "the call is in the syntax of another format"),
        ("note_of_an_own_format", "the call needs a tolerance"),
    ],
)
def test_the_part_of_a_name_before_a_colon_decides_and_an_unknown_name_is_not_an_error(note: str, problem: str) -> None:
    own = JsonObject(opener="<a>", closer="</a>")
    format = ToolCallFormat(name="own", engine=Choice(own, Elsewhere(replace(own, opener="<b>", closer="</b>"), note)))
    text = '<b>{"name": "f", "arguments": {}}</b>'
    parser = Parser(format, tools=TOOLS, tolerate=[kind_of(note)] if kind_of(note) in TOLERANCES else "all")
    events = parser.feed(text) + parser.finish()
    assert [event.tolerated for event in events if isinstance(event, ToolCallEnd)] == [(note,)]
    options: list[Tolerate] = ["none", ["trailing_comma"]]
    for allowed in options:
        (rejected,) = toolfmt.parse(text, format, tools=TOOLS, tolerate=allowed).rejected
        assert rejected.message.startswith(f"Call to f rejected: {problem} ({note})")


def test_a_name_that_is_not_repaired_is_undeclared() -> None:
    text = '<tool_call>{"name": "get-weather", "arguments": {"city": "Oslo"}}</tool_call>'
    (rejected,) = toolfmt.parse(text, "json", tools=TOOLS, tolerate=set(TOLERANCES) - {"repaired_name"}).rejected
    assert (rejected.reason, rejected.message) == (
        "undeclared_tool",
        'Tool call rejected: there is no tool named "get-weather" (repaired_name); available tools: f, get_weather.',
    )


def test_the_parser_of_a_prompt_and_of_a_model_allow_the_same() -> None:
    model = toolfmt.load("corpus/models/double-encoded")
    prompt = model.render([{"role": "user", "content": "?"}], tools=TOOLS)
    options: dict[str, Any] = {"tolerate": ["raw_newline"]}
    for parser in (prompt.parser(**options), model.parser(tools=TOOLS, **options)):
        events = parser.feed(RAW_NEWLINE + TRAILING_COMMA) + parser.finish()
        assert [type(event) for event in events if isinstance(event, (ToolCallEnd, ToolCallRejected))] == [
            ToolCallEnd,
            ToolCallRejected,
        ]


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"tolerate": "raw_newline"}, ValueError, r"a collection of names, not 'raw_newline'; pass \['raw_newline'\]$"),
        ({"tolerate": "some"}, ValueError, r'^tolerate must be "all", "none" or a collection of names, not \'some\'$'),
        ({"tolerate": ["raw-newline"]}, ValueError, r"named 'raw-newline'; did you mean 'raw_newline'\?$"),
        (
            {"tolerate": ["q"]},
            ValueError,
            rf"named 'q'; the names are {', '.join(TOLERANCES)}$",
        ),
        ({"tolerate": [3]}, TypeError, r"^tolerate must contain names of tolerances, not 3$"),
        ({"tolerate": True}, TypeError, r"^tolerate must be a collection of names, not bool$"),
        ({"tolerate": ["set"], "strict": True}, ValueError, r"^strict=True allows no tolerance; leave out strict or"),
    ],
)
def test_wrong_options_are_rejected(options: dict[str, Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        Parser("json", **options)
