"""The guarantees for anyone's parser: one that keeps them passes; a broken one is reported with the output, the actual
and the expected events.
"""

from __future__ import annotations

import inspect
import json
import re
import subprocess
import sys
from collections.abc import Callable
from dataclasses import fields
from pathlib import Path
from typing import Any, get_args

import first_closer
import naive_parsers
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import toolfmt.testing
from toolfmt.errors import CannotWrite
from toolfmt.formats import Parser
from toolfmt.messages.events import Content, Event, ToolCallArguments, ToolCallEnd, ToolCallStart
from toolfmt.testing import InvariantViolation, invariants, strategies
from toolfmt.testing.checks import INVARIANTS, every_cut
from toolfmt.testing.drawing import GeneratedOutput, Kind
from toolfmt.testing.outcome import ParserOutcome, as_data, of_data, outcome_of_events, outcome_of_message, read

CALL = '<tool_call>\n{"name": "f", "arguments": {"s": "x"}}\n</tool_call>'


def ours(tools: Any = None) -> Parser:
    return Parser("json", tools=tools)


class FixedOutput:
    """A parser that emits these events at its end, and nothing before."""

    def __init__(self, *events: Any) -> None:
        self.events = events

    def __call__(self, tools: Any) -> FixedOutput:
        return self

    def feed(self, text: str) -> list[Any]:
        return []

    def finish(self) -> list[Any]:
        return list(self.events)


def broken(check: Callable[..., None], *given: Any, **options: Any) -> InvariantViolation:
    with pytest.raises(InvariantViolation) as raised:
        check(*given, **options)
    assert raised.value.invariant in INVARIANTS
    return raised.value


def test_our_parser_satisfies_every_invariant() -> None:
    toolfmt.testing.check_never_raises(ours, CALL)
    toolfmt.testing.check_shape(ours, CALL)
    toolfmt.testing.check_arguments_json(ours, CALL)
    toolfmt.testing.check_nothing_lost(ours, "Hi <think>hm</think> " + CALL, "json")
    toolfmt.testing.check_chunking(ours, CALL)
    toolfmt.testing.check_round_trip(ours, "json", [("f", {"s": "</tool_call>"})], before="Hi. ", after=" Bye.")
    toolfmt.testing.check_prose(ours, "The marker <tool_call> opens a call.\nThat is all.")
    toolfmt.testing.check_cut(ours, "json", [("f", {"s": "x", "n": 12})])
    toolfmt.testing.check_not_joined(ours, "json")


def test_a_parser_that_reads_whole_answers_is_held_to_what_it_can_show() -> None:
    reader = first_closer.parser
    toolfmt.testing.check_chunking(reader, "<tool_call>" + CALL[11:])
    toolfmt.testing.check_round_trip(reader, "json", [("f", {"s": "x"})], before="Hi. ")
    raised = broken(toolfmt.testing.check_round_trip, reader, "json", [("f", {"s": "</tool_call>"})])
    assert (raised.invariant, raised.kind) == ("never-raises", "JSONDecodeError in first_closer.py:read")
    assert raised.text is not None and raised.text in str(raised).encode().decode("unicode_escape")


@pytest.mark.parametrize(
    ("events", "invariant", "kind"),
    [
        ([ToolCallStart(1, "f")], "shape", "an index is skipped"),
        ([ToolCallStart(0, "f")], "shape", "a call never ends"),
        ([ToolCallStart(0, "f"), ToolCallStart(1, "g")], "shape", "a call begins in another"),
        ([ToolCallArguments(0, "{}")], "shape", "arguments of a call that is not open"),
        ([ToolCallStart(0, "f"), ToolCallArguments(0, "")], "shape", "an empty piece of arguments"),
        ([ToolCallEnd(0, (0, 1))], "shape", "the end of a call that is not open"),
        ([ToolCallStart(0, "f"), Content("x")], "shape", "text within a call"),
        ([Content("")], "shape", "an empty text"),
        ([ToolCallStart(0, "f"), ToolCallEnd(0, (0, 1), ("odd",))], "shape", "an unknown tolerance"),
        (["text"], "shape", "no event"),
        ([{"type": "tool_call_start", "index": 0}], "shape", "a broken tool_call_start"),
        ([{"type": "content", "text": 3}], "shape", "a broken content"),
        ([{"type": "other"}], "shape", "no event"),
    ],
)
def test_an_invalid_shape_is_reported(events: list[Any], invariant: str, kind: str) -> None:
    raised = broken(toolfmt.testing.check_shape, FixedOutput(*events), "the answer")
    assert (raised.invariant, raised.kind, raised.text) == (invariant, kind, "the answer")


@pytest.mark.parametrize(
    ("arguments", "kind"),
    [
        ('{"a": ', "arguments that are not JSON"),
        ('{"a": NaN}', "arguments that are not JSON"),
        ("[1]", "arguments that are a list"),
        ("null", "arguments that are null"),
    ],
)
def test_arguments_that_are_not_a_json_object_are_reported(arguments: str, kind: str) -> None:
    make_parser = FixedOutput(ToolCallStart(0, "f"), ToolCallArguments(0, arguments), ToolCallEnd(0, (0, 1)))
    assert broken(toolfmt.testing.check_arguments_json, make_parser, "x").kind == kind


@pytest.mark.parametrize(
    ("came", "kind"),
    [
        ({"s": "x", "n": 1, "b": True}, None),
        ({"s": "x", "n": 1.0, "b": True}, None),
        ({"b": True, "n": 1, "s": "x"}, None),
        ({"s": "x", "n": 1}, "an argument is lost"),
        ({"s": "x", "n": 1, "b": True, "z": 0}, "an argument that does not exist"),
        ({"s": "x", "n": "1", "b": True}, "a number comes as a string"),
        ({"s": "x", "n": True, "b": True}, "a number comes as a boolean"),
        ({"s": "x", "n": 2, "b": True}, "a number differs"),
        ({"s": "x ", "n": 1, "b": True}, "whitespace at the ends of a string differs"),
        ({"s": "", "n": 1, "b": True}, "a string differs"),
        ({"s": "xy", "n": 1, "b": True}, "a string runs on"),
        ({"s": None, "n": 1, "b": True}, "a string comes as null"),
        ({"s": ["x"], "n": 1, "b": True}, "a string comes as a list"),
    ],
)
def test_how_arguments_differ_has_words(came: Any, kind: str | None) -> None:
    assert invariants.difference({"s": "x", "n": 1, "b": True}, came) == kind


def test_a_large_integer_does_not_equal_a_nearby_float() -> None:
    assert invariants.difference(2**53 + 1, float(2**53 + 1)) == "a number differs"
    assert invariants.difference([1, [2]], [1, [3]]) == "a number differs"
    assert invariants.difference([1], [1, 2]) == "a list has another length"
    assert invariants.difference("a b", "a  b") == "whitespace in a string differs"
    assert invariants.difference("abc", "ab") == "a string is cut short"


@pytest.mark.parametrize(
    ("message", "invariant", "kind"),
    [
        ({"content": None, "tool_calls": []}, "round-trip", "every call is lost"),
        ({"content": None, "tool_calls": [{"name": "f", "arguments": "{}"}]}, "round-trip", "an argument is lost"),
        ({"tool_calls": [{"name": "g", "arguments": {"s": "x"}}]}, "round-trip", "a name differs"),
        ({"tool_calls": [{"name": "f", "arguments": {"s": "x"}}] * 2}, "round-trip", "a call that does not exist"),
        ({"tool_calls": [{"name": "f", "arguments": "{"}]}, "arguments-json", "arguments that are not JSON"),
        (
            {"content": "Hi. ]", "tool_calls": [{"name": "f", "arguments": {"s": "x"}}]},
            "nothing-lost",
            "a part of the calls is left in the content",
        ),
        (
            {"content": "", "tool_calls": [{"name": "f", "arguments": {"s": "x"}}]},
            "nothing-lost",
            "text before the calls is lost",
        ),
        ("no message", "shape", "no message"),
        ({"content": 3}, "shape", "content is not a string"),
    ],
)
def test_an_error_in_a_message_is_reported(message: Any, invariant: str, kind: str) -> None:
    def make_parser(tools: Any) -> Any:
        return lambda text: message

    raised = broken(toolfmt.testing.check_round_trip, make_parser, "json", [("f", {"s": "x"})], before="Hi. ")
    assert (raised.invariant, raised.kind) == (invariant, kind)


def test_a_parser_that_returns_only_calls_is_checked_for_them() -> None:
    def make_parser(tools: Any) -> Any:
        return lambda text: {"tool_calls": [{"name": "f", "arguments": {"s": "x"}}]}

    toolfmt.testing.check_round_trip(make_parser, "json", [("f", {"s": "x"})], before="Hi. ")
    assert broken(toolfmt.testing.check_prose, make_parser, "Nothing.").kind == "a call that does not exist"


def test_reasoning_may_stay_in_the_content_with_its_markers_but_not_be_lost() -> None:
    expected = invariants.Expected((("f", {}),), before="Hi.", reasoning="hm", frames=(("<think>", "</think>"),))
    call: list[Event] = [ToolCallStart(0, "f"), ToolCallArguments(0, "{}"), ToolCallEnd(0, (0, 0))]
    invariants.written(ParserOutcome((Content("<think>hm</think>\nHi."), *call), placed=False), expected)
    with pytest.raises(InvariantViolation, match="the reasoning is lost"):
        invariants.written(ParserOutcome((Content("Hi."), *call), placed=False), expected)


def test_lost_text_is_found_by_offsets() -> None:
    check = toolfmt.testing.check_nothing_lost
    assert (
        broken(check, FixedOutput(Content("ab", 0), Content("d", 3)), "abcd", "json").kind
        == "text that no event contains"
    )
    assert broken(check, FixedOutput(Content("x", 0)), "abcd", "json").kind == "text that is not at its offset"
    raised = broken(check, FixedOutput(Content("ab", 2)), "  ab", "json")
    assert (raised.kind, raised.message) == ("whitespace that belongs to no call", "no event contains '  '")
    check(FixedOutput(Content("ab", 7)), "<think>ab", "json")
    # "</tools>\n</tool_call>" is a marker too, which leaves half of the first one.
    check(FixedOutput(Content("ab", 28)), "<tools></tools>\n</tool_call>ab", "qwen3_5")


def test_lost_text_is_found_without_offsets_if_there_is_no_call() -> None:
    check = toolfmt.testing.check_nothing_lost
    check(FixedOutput({"type": "content", "text": "ab"}), "<think>a b</think>", "json")
    raised = broken(check, FixedOutput({"type": "content", "text": "a"}), "a b", "json")
    assert raised.kind == "a part of an output without a call is lost"
    assert broken(check, FixedOutput(), "a b", "json").kind == "all of an output without a call is lost"
    call = [{"type": "tool_call_start", "index": 0, "name": "f"}, {"type": "tool_call_end", "index": 0}]
    check(FixedOutput(*call), "a b", "json")


def test_a_chunking_violation_shows_the_pieces_and_both_results() -> None:
    raised = broken(toolfmt.testing.check_chunking, naive_parsers.forgets, "a<b", pieces=[["a", "<b"], ["a<", "b"]])
    assert (raised.kind, raised.pieces) == ("the content differs", ["a<", "b"])
    assert (raised.actual, raised.expected) == (['content "ab"'], ['content "a<b"'])
    assert str(raised).splitlines() == [
        "chunking: in pieces the content differs, whole not",
        "  output   'a<b'",
        "  pieces   ['a<', 'b']",
        '  actual   content "ab"',
        '  expected content "a<b"',
    ]


def test_every_cut_is_tried_and_of_a_long_answer_some() -> None:
    assert list(every_cut("abc")) == [["a", "b", "c"], ["a", "bc"], ["ab", "c"]]
    assert len(list(every_cut("a" * 5000, 400))) <= 401


def test_swallowed_prose_is_reported() -> None:
    raised = broken(
        toolfmt.testing.check_prose, FixedOutput({"type": "content", "text": "a"}), "a <tool_call>\nThe rest."
    )
    assert (raised.invariant, raised.kind) == ("prose", "the rest of the output is lost")


def test_a_call_that_was_cut_off_is_reported() -> None:
    def make_parser(tools: Any) -> Any:
        def read(text: str) -> Any:
            calls = [{"name": "f", "arguments": {"n": 1}}] if '"n": 1' in text else []
            return {"content": None, "tool_calls": calls}

        return read

    raised = broken(toolfmt.testing.check_cut, make_parser, "json", [("f", {"n": 12})])
    assert (raised.invariant, raised.expected) == ("cut", ["call 0 f", 'args 0 {"n": 12}'])
    assert raised.text is not None and raised.text.endswith('"n": 1')


def test_joined_values_are_reported() -> None:
    def make_parser(tools: Any) -> Any:
        return lambda text: {"tool_calls": [{"name": "f", "arguments": {"city": 'AAA1"BBB2'}}]}

    assert broken(toolfmt.testing.check_not_joined, make_parser, "json").invariant == "joined"


def test_the_writer_rejects_what_a_format_cannot_represent() -> None:
    with pytest.raises(CannotWrite):
        toolfmt.testing.check_round_trip(ours, "glm4", [("f", {"</arg_key>": "x"})])


# --- what was reported


def test_offsets_count_where_they_are_there_and_never_go_back() -> None:
    call = [ToolCallStart(0, "f"), ToolCallEnd(0, (2, 5))]
    assert outcome_of_events([Content("ab", 0), *call, Content("c", 5)]).placed
    assert not outcome_of_events([Content("ab", 0), *call, Content("c", 0)]).placed
    assert not outcome_of_events([ToolCallStart(0, "f"), ToolCallEnd(0, (0, 0))]).placed
    assert not outcome_of_events([{"type": "content", "text": "a"}]).placed
    assert outcome_of_events([{"type": "content", "text": "a", "start": 0, "more": 1}]).placed
    assert outcome_of_events([{"type": "content", "text": "a"}, {"type": "content", "text": "b"}]).events == (
        Content("ab", 0),
    )


def test_readings_with_and_without_offsets_are_compared_by_what_a_client_ends_up_with() -> None:
    whole = outcome_of_events([Content("ab")])
    pieces = outcome_of_events([Content("a"), Content("b")])
    assert (whole.placed, pieces.placed) == (True, False)
    invariants.same(whole, pieces)
    with pytest.raises(InvariantViolation, match="the content differs"):
        invariants.same(whole, outcome_of_events([Content("a"), Content("c")]))


def test_an_outcome_survives_a_round_trip_to_another_process() -> None:
    outcome = read(ours, ["<think>a</think>b" + CALL, '<tool_call>{"name": "g", '])
    assert of_data(json.loads(json.dumps(as_data(outcome)))) == outcome
    assert len(outcome.rejected) == 1
    message = outcome_of_message({"content": "a", "reasoning_content": "b", "tool_calls": [{"name": "f"}]})
    assert of_data(as_data(message)) == message
    assert (message.content, message.reasoning, message.calls) == ("a", "b", [("f", "{}")])


# --- the strategies


@given(answer=strategies.outputs("glm4"), data=st.data())
def test_generated_outputs_satisfy_the_invariants_with_our_parser(answer: GeneratedOutput, data: st.DataObject) -> None:
    def make_parser(tools: Any) -> Parser:
        return Parser("glm4", tools=tools)

    pieces = data.draw(strategies.pieces(answer.text, "glm4"))
    toolfmt.testing.check_chunking(make_parser, answer.text, tools=answer.tools, pieces=[pieces])
    toolfmt.testing.check_shape(make_parser, answer.text, tools=answer.tools)
    damaged = data.draw(strategies.damaged(answer.text, "glm4"))
    toolfmt.testing.check_nothing_lost(make_parser, damaged, "glm4", tools=answer.tools)


@given(data=st.data())
def test_drawn_calls_fit_their_tools(data: st.DataObject) -> None:
    tools = data.draw(strategies.tools())
    jsonschema = pytest.importorskip("jsonschema", reason="judges the values")
    schemas = {tool["function"]["name"]: tool["function"]["parameters"] for tool in tools}
    for name, arguments in data.draw(strategies.calls(tools, "json")):
        jsonschema.validate(arguments, schemas[name])


@given(answer=strategies.written("lfm2") | strategies.prose("lfm2"))
@settings(max_examples=20)
def test_generated_outputs_contain_their_expected_result(answer: GeneratedOutput) -> None:
    outcome = read(lambda tools: Parser("lfm2", tools=tools), [answer.text], answer.tools)
    if answer.expected is None:
        invariants.prose(outcome, answer.last)
    else:
        invariants.written(outcome, answer.expected)


def test_the_strategies_alone_need_hypothesis_and_name_the_extra() -> None:
    code = (
        "import sys; sys.modules['hypothesis'] = None\n"
        "import toolfmt.testing\n"
        "toolfmt.testing.check_shape, toolfmt.testing.cases, toolfmt.testing.Fuzz\n"
        "try:\n toolfmt.testing.outputs\nexcept ImportError as error: print(error)\n"
        "print('strategies' in dir(toolfmt.testing), sorted(toolfmt.testing.__all__) == dir(toolfmt.testing))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=300)
    assert done.stderr == ""
    first, second = done.stdout.splitlines()
    assert first.startswith("toolfmt.testing.strategies needs hypothesis: pip install hypothesis (")
    assert second == "False True"


def test_every_public_name_is_there() -> None:
    assert [name for name in toolfmt.testing.__all__ if not hasattr(toolfmt.testing, name)] == []
    with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
        getattr(toolfmt.testing, "nothing")  # noqa: B009  the name does not exist, as mypy sees too


def test_the_fuzzing_page_lists_every_invariant_and_every_public_name() -> None:
    page = (Path(__file__).parents[2] / "docs" / "fuzzing.md").read_text(encoding="utf-8")
    assert [invariant for invariant in INVARIANTS if f"\n| `{invariant}` | " not in page] == []
    checks = [name for name in toolfmt.testing.__all__ if name.startswith("check_") or name in strategies.__all__]
    assert [name for name in checks if not re.search(rf"\b{name}\b", page)] == []


def test_results_with_spans_are_also_compared_by_their_spans() -> None:
    def outcome(end: int) -> ParserOutcome:
        return ParserOutcome((ToolCallStart(0, "f"), ToolCallArguments(0, "{}"), ToolCallEnd(0, (0, end))))

    invariants.same(outcome(3), outcome(3))
    with pytest.raises(InvariantViolation, match="offsets or tolerances differ"):
        invariants.same(outcome(3), outcome(4))


def test_the_page_shows_how_to_call_each_check_and_strategy() -> None:
    page = (Path(__file__).parents[2] / "docs" / "fuzzing.md").read_text(encoding="utf-8")
    documented = dict(re.findall(r"^\| `(\w+)(\(.*?\))` \|", page, re.MULTILINE))
    documented |= dict(re.findall(r"^`(read)(\(.*?\))` returns", page, re.MULTILINE))
    documented |= dict(re.findall(r"`(cases)(\(.*?\))` are", page))
    checks = [name for name in toolfmt.testing.__all__ if name.startswith("check_")]
    assert documented == {name: _as_called(name) for name in (*checks, *strategies.__all__, "read", "cases")}


def _as_called(name: str) -> str:
    """A function's parameters with their defaults, without the types."""
    signature = inspect.signature(getattr(toolfmt.testing, name))
    bare = [one.replace(annotation=inspect.Parameter.empty) for one in signature.parameters.values()]
    return str(signature.replace(parameters=bare, return_annotation=inspect.Signature.empty))


def test_the_page_lists_the_fields_of_an_output() -> None:
    page = (Path(__file__).parents[2] / "docs" / "fuzzing.md").read_text(encoding="utf-8")
    table = page[page.index("| of a `GeneratedOutput` |") :].split("\n\n")[0]
    assert re.findall(r"^\| `(\w+)` \|", table, re.MULTILINE) == [field.name for field in fields(GeneratedOutput)]
    kinds = re.findall(r"`(\w+)`", table.split("`kind` |")[1].split("\n")[0])
    assert kinds == list(get_args(Kind))


class _FixedResult:
    def __init__(self, *returned: Any) -> None:
        self._returned = returned

    def feed(self, text: str) -> Any:
        return self._returned

    def finish(self) -> Any:
        return []


@pytest.mark.parametrize(
    ("returned", "why"),
    [
        ({"type": "tool_call_end", "index": 0, "tolerated": [{}]}, "tolerated is [{}], not a list of strings"),
        ({"type": "tool_call_end", "index": 0, "tolerated": 3}, "tolerated is 3, not a list of strings"),
        ({"type": "tool_call_end", "index": 0, "span": ["a", "b"]}, "span is 'a', not a whole number"),
        ({"type": "tool_call_end", "index": 0, "span": "ab"}, "span is 'ab', not two offsets"),
        ({"type": "tool_call_end", "index": float("inf")}, "index is inf, not a whole number"),
        ({"type": "tool_call_end", "index": 10**5000}, "index is an object of int, not a whole number"),
        ({"type": "tool_call_end"}, "it has no 'index'"),
        ({"type": "content", "text": "a", "start": float("nan")}, "start is nan, not a whole number"),
        ({"type": "tool_call_start", "index": 0, "name": "f", "id": {1}}, "id is {1}, not a string"),
        ({"type": "tool_call_rejected", "index": 0, "reason": ["x"]}, "reason is ['x'], not a string"),
        (ToolCallEnd(0, (0, 1), ({},)), "tolerated is ({},), not a list of strings"),  # type: ignore[arg-type]  # wrong
        (ToolCallEnd(0, None), None),  # type: ignore[arg-type]  # as one without a place may make it
    ],
)
def test_wrong_types_in_events_are_reported_with_a_reason(returned: Any, why: str | None) -> None:
    def make_parser(tools: Any) -> Any:
        return _FixedResult(returned)

    if why is None:
        assert not read(make_parser, ["a"]).placed
        return
    with pytest.raises(InvariantViolation) as raised:
        read(make_parser, ["a"])
    assert raised.value.invariant == "shape"
    assert raised.value.message.endswith(why)


@pytest.mark.parametrize(
    ("message", "kind"),
    [
        ({"tool_calls": 5}, "tool_calls is not a list"),
        ({"tool_calls": "ab"}, "tool_calls is not a list"),
        ({"tool_calls": [{"name": "f", "arguments": {1, 2}}]}, "arguments that JSON cannot represent"),
    ],
)
def test_wrong_types_in_messages_are_reported_with_a_reason(message: Any, kind: str) -> None:
    with pytest.raises(InvariantViolation) as raised:
        read(lambda tools: lambda text: message, ["a"])
    assert (raised.value.invariant, raised.value.kind) == ("shape", kind)


@pytest.mark.parametrize("error", [SystemExit, GeneratorExit])
def test_a_parser_that_ends_the_process_has_raised(error: type[BaseException]) -> None:
    def make_parser(tools: Any) -> Any:
        raise error

    with pytest.raises(InvariantViolation, match=rf"never-raises: the factory raised {error.__name__}"):
        read(make_parser, ["a"])


@pytest.mark.parametrize("check", [invariants.written, invariants.cut_short])
def test_numbers_that_are_returned_as_values_are_compared_as_doubles(check: Callable[..., None]) -> None:
    """9007199254740993 is 9007199254740992 to JSON.parse; as text it can be sent unchanged."""
    expected = invariants.Expected((("f", {"n": [2**53 + 1]}),))
    near, other = ({"n": [number]} for number in (2**53, 2**53 + 2**2))
    check(outcome_of_message({"tool_calls": [{"name": "f", "arguments": near}]}), expected)
    for arguments in (other, json.dumps(near), {"n": [10**400]}):
        with pytest.raises(InvariantViolation):
            check(outcome_of_message({"tool_calls": [{"name": "f", "arguments": arguments}]}), expected)


def test_another_process_knows_that_arguments_were_returned_as_values() -> None:
    outcome = outcome_of_message({"tool_calls": [{"name": "f", "arguments": {}}]})
    assert outcome.doubles and of_data(json.loads(json.dumps(as_data(outcome)))) == outcome


def test_our_own_file_is_not_where_a_parser_raised() -> None:
    with pytest.raises(InvariantViolation) as raised:
        read(lambda tools: lambda text: sys.exit(text), ["a"])
    assert raised.value.kind == "SystemExit in the parser"
