"""Measuring: the scenarios are as described, outputs are judged as defined, rates have the textbook intervals."""

from __future__ import annotations

import json
import threading
from collections import Counter
from collections.abc import Callable, Collection, Iterator
from dataclasses import asdict
from typing import Any

import pytest

from toolfmt.agent.validation import invalid_schema
from toolfmt.cli.measure import (
    Judgement,
    Measurement,
    MeasurementPlan,
    NotAnswered,
    NotReached,
    Question,
    QuestionOutcome,
    Rate,
    SubjectResponse,
    judge,
    named,
    outcomes,
    scenarios,
    tools,
    wilson,
)
from toolfmt.cli.measure.plan import GRAMMARS, TOOL_CHOICES, Cell, GrammarChoice, ToolChoice
from toolfmt.cli.measure.prompts import messages_in_words
from toolfmt.cli.measure.scenarios import Scenario
from toolfmt.cli.measure.scoring import invented, is_valid, occurs
from toolfmt.errors import ToolfmtError
from toolfmt.formats import FORMATS, get
from toolfmt.messages.message import Message, Rejected, ToolCall

NAMES = {tool["function"]["name"] for tool in tools()}
WITH_TOOLS = [scenario for scenario in scenarios() if scenario.calls]


def call(name: str, /, **arguments: Any) -> ToolCall:
    return ToolCall("", name, json.dumps(arguments))


def question(name: str = "forecast", wording: Any = "neutral", *, returned: bool = False, run: int = 0) -> Question:
    return Question(Cell("template", "left out", wording), named((name,))[0], run, returned)


# rates


@pytest.mark.parametrize(
    ("count", "level", "low", "high"),
    [
        (3, 0.95, 0.1077913, 0.6032219),
        (3, 0.99, 0.07956632, 0.6799753),
        (0, 0.95, 0.0, 0.2775328),
        (10, 0.95, 0.7224672, 1.0),
    ],
)
def test_the_interval_is_wilsons(count: int, level: float, low: float, high: float) -> None:
    """R's prop.test without correction, as SciPy's tests of `binomtest` quote it (R 3.6.2), each of ten."""
    assert wilson(count, 10, level) == pytest.approx((low, high), rel=1e-6)


def test_the_interval_of_none_begins_at_nothing_and_that_of_all_ends_at_all() -> None:
    assert {0.0} == {wilson(0, of)[0] for of in range(1, 300)}
    assert {1.0} == {wilson(of, of)[1] for of in range(1, 300)}


def test_a_rate_counts_what_could_have_happened() -> None:
    rate = Rate()
    assert (rate.share, rate.interval) == (None, None)
    for happened in (True, None, False, None, False, False):
        rate.add(happened)
    assert (rate.count, rate.of, rate.share) == (1, 4, 0.25)
    assert {"count": 1, "of": 4, "share": 0.25, "interval": list(wilson(1, 4))} == rate.to_dict()


# scenarios


def test_the_tools_have_schemas_that_reject_unknown_parameters() -> None:
    for tool in tools():
        parameters = tool["function"]["parameters"]
        assert invalid_schema(parameters) == ""
        assert parameters["additionalProperties"] is False


def test_every_tool_is_used_by_a_scenario_and_names_are_unique() -> None:
    assert set().union(*(scenario.tools for scenario in scenarios())) == NAMES
    assert max(Counter(scenario.name for scenario in scenarios()).values()) == 1
    kinds = {value["type"] for tool in tools() for value in tool["function"]["parameters"]["properties"].values()}
    assert {"string", "integer", "number", "boolean", "array", "object"} == kinds


@pytest.mark.parametrize("scenario", WITH_TOOLS, ids=lambda scenario: scenario.name)
def test_a_scenario_has_both_wordings_and_valid_calls_that_are_not_invented(scenario: Scenario) -> None:
    assert {"direct", "neutral"} == scenario.questions.keys()
    assert scenario.tools == {name for name in NAMES if name in scenario.questions["direct"]}
    assert not [name for name in NAMES if name in scenario.questions["neutral"]]
    calls = [call(one["name"], **one["arguments"]) for one in scenario.calls]
    for wording in scenario.questions:
        test_question = question(scenario.name, wording)
        expected = Judgement(True, True, True, False, False)
        assert expected == judge(test_question, SubjectResponse(Message(None, None, calls)))


@pytest.mark.parametrize("scenario", WITH_TOOLS, ids=lambda scenario: scenario.name)
def test_facts_appear_in_the_results_and_nowhere_else(scenario: Scenario) -> None:
    results = json.dumps(scenario.results, ensure_ascii=False)
    assert scenario.facts
    for fact in scenario.facts:
        assert occurs(fact, results)
        for elsewhere in (*scenario.questions.values(), json.dumps(tools()), json.dumps(scenario.calls)):
            assert not occurs(fact, elsewhere)


def test_a_question_without_a_tool_names_none() -> None:
    none = [scenario for scenario in scenarios() if not scenario.calls]
    assert {frozenset({"no-tool"})} == {frozenset(scenario.questions) for scenario in none}
    assert not [one for one in none for name in NAMES if name in one.questions["no-tool"]]


def test_the_conversation_with_results_is_what_chat_endpoints_take() -> None:
    user_message, answer, *results = question("two-forecasts", returned=True).messages
    assert user_message["role"] == "user"
    assert [one["function"]["name"] for one in answer["tool_calls"]] == ["get_forecast"] * 2
    assert [json.loads(one["function"]["arguments"])["place"] for one in answer["tool_calls"]] == ["Alta", "Narvik"]
    assert [one["id"] for one in answer["tool_calls"]] == [result["tool_call_id"] for result in results]
    assert [json.loads(result["content"]) for result in results] == [{"degrees_celsius": 13}, {"degrees_celsius": 19}]


@pytest.mark.parametrize("format", FORMATS, ids=lambda format: format.name)
def test_every_format_can_describe_every_scenario_in_the_prompt(format: Any) -> None:
    for scenario in WITH_TOOLS:
        messages = messages_in_words(format, question(scenario.name, returned=True))
        assert [message["role"] for message in messages] == ["system", "user", "assistant", "user"]
        assert all(occurs(fact, messages[-1]["content"]) for fact in scenario.facts)


def test_in_words_before_a_call_there_are_instructions_and_the_question() -> None:
    system, user_message = messages_in_words(get("glm4"), question())
    assert "<tool_call>" in system["content"]
    assert user_message == question().messages[0]


def test_an_unknown_scenario_is_reported_with_the_known_ones() -> None:
    with pytest.raises(ToolfmtError, match=r"no scenario is called 'weather'; scenarios: forecast, order, .*sum$"):
        named(("weather",))


# judging


RIGHT = call("get_forecast", place="Tromsø", days=4)


TWICE = Judgement(True, True, False, False, False)
"""A name that appears twice in the arguments is rejected when the call is executed."""


@pytest.mark.parametrize(
    ("calls", "expected"),
    [
        ([], Judgement(False, None, None, None, False)),
        ([RIGHT], Judgement(True, True, True, False, False)),
        ([RIGHT, RIGHT], Judgement(True, True, True, False, False)),
        ([RIGHT, call("list_alarms")], Judgement(True, False, True, False, False)),
        ([call("list_alarms")], Judgement(True, False, True, False, False)),
        ([call("no_such_tool", place="Tromsø")], Judgement(True, False, False, False, False)),
        ([RIGHT, call("get_forecast", place="Tromsø")], Judgement(True, True, False, False, False)),
        ([call("get_forecast", place="Tromsø")], Judgement(True, True, False, False, False)),
        ([call("get_forecast", place="Tromsø", days="4")], Judgement(True, True, False, False, False)),
        ([call("get_forecast", place="Tromsø", days=4, unit="m/s")], Judgement(True, True, False, True, False)),
        ([call("get_forecast", place="Paris", days=4)], Judgement(True, True, True, True, False)),
        ([RIGHT, call("get_forecast", place="Tromsø", days=5)], Judgement(True, True, True, True, False)),
        ([ToolCall("", "get_forecast", '{"place": "Tromsø"')], Judgement(True, True, False, True, False)),
        ([ToolCall("", "get_forecast", '{"place": "Tromsø", "days": 4, "days": 4}')], TWICE),
        ([ToolCall("", "list_alarms", "null")], Judgement(True, False, False, False, False)),
        ([ToolCall("", "get_forecast", "null")], Judgement(True, True, False, False, False)),
    ],
)
def test_an_answer_to_a_question_is_judged(calls: list[ToolCall], expected: Judgement) -> None:
    assert expected == judge(question(), SubjectResponse(Message("Well.", None, calls)))


def test_both_tools_of_a_scenario_have_to_be_called() -> None:
    two = Scenario("two", {"neutral": "?"}, ({"name": "a", "arguments": {}}, {"name": "b", "arguments": {}}))
    test_question = Question(Cell("template", "auto", "neutral"), two, 0)
    judgements = [
        judge(test_question, SubjectResponse(Message(None, None, [call(name) for name in names])))
        for names in ("a", "ab", "abc")
    ]
    assert [one.right_tool for one in judgements] == [False, True, False]


def test_where_no_tool_helps_only_the_call_counts() -> None:
    test_question = question("poem", "no-tool")
    assert Judgement(True, rejected=False) == judge(test_question, SubjectResponse(Message(None, None, [RIGHT])))


def test_a_rejection_counts_next_to_a_call_and_only_if_it_would_be_visible() -> None:
    broken = Message("", None, [RIGHT], [Rejected(1, "malformed_syntax", (0, 1), "x")])
    assert Judgement(True, True, True, False, True) == judge(question(), SubjectResponse(broken))
    assert Judgement(True, True, True, False, None) == judge(
        question(), SubjectResponse(broken, rejections_known=False)
    )


@pytest.mark.parametrize(("left", "expected"), [(None, None), (0, False), (2, True)])
def test_a_call_left_in_the_text_counts_where_somebody_looked(left: int | None, expected: bool | None) -> None:
    assert Judgement(False, rejected=False, left_in_text=expected) == judge(
        question(), SubjectResponse(Message("x"), left)
    )


@pytest.mark.parametrize(
    ("content", "misread"),
    [
        ("Up to 17.3 m/s.", False),
        ("Opp til 17,3 m/s.", False),
        ("Up to **17.3**!", False),
        ("Up to 17 m/s.", True),
        ("Up to 117.3 m/s.", True),
        ("", True),
        (None, True),
    ],
)
def test_a_result_is_misread_where_its_fact_is_not_in_the_answer(content: str | None, misread: bool) -> None:
    test_question = question(returned=True)
    assert Judgement(misread_result=misread) == judge(test_question, SubjectResponse(Message(content, "17.3", [RIGHT])))


def test_every_fact_has_to_be_mentioned() -> None:
    test_question = question("two-forecasts", returned=True)
    answers = {"13 and 19 degrees": False, "13 degrees in both": True, "19 degrees": True}
    assert answers == {text: judge(test_question, SubjectResponse(Message(text))).misread_result for text in answers}


@pytest.mark.parametrize(
    ("value", "text", "there"),
    [
        ("Storgata 14", "of storgata 14, Hamar", True),
        ("Storgata 14", "of Storgata 141", False),
        ("storgata  14", "Storgata-14", True),
        ("Oslo", "Oslo's harbour", True),
        ("Oslo", "Osloveien", False),
        ("Straße", "die STRASSE", True),
        ("Tromsø", "Tromso", False),
        ("Malm\u00f6", "Malmo\u0308", True),
        ("Tromsø, Norway", "to Tromsø", False),
        ("2026-12-03", "on 2026-12-03", True),
        (75, "75 EUR", True),
        (75.0, "75 EUR", True),
        ("75", "75.0 EUR", True),
        (7, "75 EUR", False),
        (1837, "1,837 trains", True),
        (-3, "minus 3 or -3", True),
        (0.5, "0.50", True),
        (10**400, "1", False),
        (4, "four", False),
        ("€", "20 €.", True),
        (" + ", "1+1", True),
        ("\u2026", "well...", True),
        ("\U0001f642", "a smile \U0001f642", True),
        ("\U0001f642", "a smile", False),
        ("€", "20 $", False),
        ("€ 20", "20 €", True),
    ],
)
def test_a_value_occurs_in_a_text_as_whole_words_or_as_a_number(value: Any, text: str, there: bool) -> None:
    assert occurs(value, text) is there


def test_invented_values_are_found_at_any_depth_and_listed_in_order() -> None:
    made = call(
        "save_contact",
        name="Ingrid",
        address={"street": "Elm 1", "town": "Hamar"},
        tags=["choir", ["work", {"x": 7}]],
        phone="",
        none=None,
        flag=True,
    )
    assert invented(made, "Ingrid of Hamar, choir") == ["Elm 1", "work", "7"]


def test_values_from_the_schema_are_given_and_those_from_a_description_are_not() -> None:
    converted = call("convert_currency", amount=75, **{"from": "USD", "to": "SEK"})
    assert invented(converted, "75") == []
    assert invented(call("find_train", date="YYYY-MM-DD"), "tomorrow") == ["YYYY-MM-DD"]


def test_an_unknown_tool_takes_no_arguments() -> None:
    assert not is_valid(call("no_such_tool"))
    assert is_valid(call("list_alarms"))
    assert not is_valid(ToolCall("", "list_alarms", ""))


# the plan


def test_the_cells_are_those_that_can_be_measured() -> None:
    cells = MeasurementPlan(scenarios(), 1).cells()
    direct, neutral, none = "direct", "neutral", "no-tool"
    template = [("left out", direct), ("left out", neutral), ("left out", none)]
    template += [("auto", direct), ("auto", neutral), ("auto", none), ("required", direct), ("required", neutral)]
    prose = [("left out", direct), ("left out", neutral), ("left out", none)]
    expected = [("template", *one) for one in template] + [("prompt", *one) for one in prose]
    assert expected == [(cell.strategy, cell.tool_choice, cell.wording) for cell in cells]


def test_a_cell_that_no_scenario_fills_is_none() -> None:
    assert MeasurementPlan(named(("poem",)), 1, ["direct"]).cells() == []
    assert MeasurementPlan(named(("order",)), 1, strategies=["prompt"], tool_choices=["auto"]).cells() == []
    assert [cell.wording for cell in MeasurementPlan(named(("order",)), 1, ["neutral"], ["prompt"]).cells()] == [
        "neutral"
    ]


def test_a_grammar_that_forces_a_call_is_tested_where_a_tool_helps() -> None:
    plan = MeasurementPlan(
        scenarios(),
        1,
        strategies=["prompt"],
        grammars=["none", "auto", "required", "named"],
        wordings=["no-tool", "direct"],
    )
    assert [(cell.grammar, cell.wording) for cell in plan.cells()] == [
        ("none", "direct"),
        ("none", "no-tool"),
        ("auto", "direct"),
        ("auto", "no-tool"),
        ("required", "direct"),
        ("named", "direct"),
    ]
    questions = [one for one in plan.questions() if one.cell.grammar in ("required", "named")]
    assert not any(one.returned for one in questions)
    assert {one.scenario.name for one in questions} == {one.name for one in scenarios() if one.calls}


def test_a_named_tool_is_tested_with_questions_that_one_tool_answers() -> None:
    one = Scenario("one", {"direct": "?"}, ({"name": "a", "arguments": {}}, {"name": "a", "arguments": {}}))
    two = Scenario("two", {"direct": "?"}, ({"name": "a", "arguments": {}}, {"name": "b", "arguments": {}}))
    plan = MeasurementPlan((one, two), 1, strategies=["prompt"], grammars=["required", "named"])
    asked = [(question.scenario.name, question.cell.grammar) for question in plan.questions()]
    assert asked == [("one", "required"), ("one", "named"), ("two", "required")]


def test_questions_come_run_by_run_and_results_where_the_model_may_answer() -> None:
    plan = MeasurementPlan(named(("order", "poem")), 2, tool_choices=["left out", "required"], strategies=["template"])
    actual = [
        (one.run, one.scenario.name, one.cell.tool_choice, one.cell.wording, one.returned) for one in plan.questions()
    ]
    of_a_run = [
        ("order", "left out", "direct", False),
        ("order", "left out", "direct", True),
        ("order", "left out", "neutral", False),
        ("order", "left out", "neutral", True),
        ("order", "required", "direct", False),
        ("order", "required", "neutral", False),
        ("poem", "left out", "no-tool", False),
    ]
    assert [(run, *one) for run in (0, 1) for one in of_a_run] == actual


# asking


class Scripted:
    """A subject that returns what a function computes, and records its requests."""

    name = "scripted"
    tool_choices: Collection[ToolChoice] = TOOL_CHOICES
    grammars: Collection[GrammarChoice] = GRAMMARS

    def __init__(self, respond: Callable[[Question], SubjectResponse]) -> None:
        self._respond = respond
        self.received: list[tuple[Question, int]] = []

    def ask(self, question: Question, seed: int) -> SubjectResponse:
        self.received.append((question, seed))
        return self._respond(question)


def right(question: Question) -> SubjectResponse:
    if question.returned:
        return SubjectResponse(Message(" ".join(question.scenario.facts)))
    calls = [call(one["name"], **one["arguments"]) for one in question.scenario.calls]
    return SubjectResponse(Message(None, None, calls), cut=question.run == 1)


def fails(question: Question) -> SubjectResponse:
    raise NotAnswered(f"no {question.cell.wording}")


def counted(subject: Scripted, plan: MeasurementPlan, **options: Any) -> Measurement:
    measurement = Measurement("it", plan)
    for outcome in outcomes(subject, measurement.questions, **options):
        measurement.add(outcome)
    return measurement


@pytest.mark.parametrize("parallel", [1, 3])
def test_questions_are_counted_the_same_however_many_run_in_parallel(parallel: int) -> None:
    subject = Scripted(right)
    plan = MeasurementPlan(named(("order", "sum")), 4, strategies=["prompt"])
    measurement = counted(subject, plan, seed=7, parallel=parallel)
    result = measurement.to_dict()
    assert result["questions"] == {"all": 20, "completed": 20}
    assert measurement.whole
    assert Counter({7: 5, 8: 5, 9: 5, 10: 5}) == Counter(seed for _, seed in subject.received)
    assert all(seed == 7 + question.run for question, seed in subject.received)
    counts = {
        cell["wording"]: {name: (rate["count"], rate["of"]) for name, rate in cell["rates"].items()}
        for cell in result["cells"]
    }
    expected = dict.fromkeys(("called", "right_tool", "valid_arguments"), (4, 4))
    errors = dict.fromkeys(("invented_arguments", "rejected", "misread_result"), (0, 4))
    whole = {**expected, **errors, "left_in_text": (0, 0)}
    none = dict.fromkeys(whole, (0, 0)) | {"called": (0, 4), "rejected": (0, 4)}
    assert {"direct": whole, "neutral": whole, "no-tool": none} == counts
    assert [(cell["responses"], cell["cut"]) for cell in result["cells"]] == [(8, 1), (8, 1), (4, 1)]


def test_a_cell_that_never_answers_is_given_up_and_the_others_go_on() -> None:
    subject = Scripted(lambda one: fails(one) if one.cell.wording == "direct" else right(one))
    measurement = counted(subject, MeasurementPlan(named(("order",)), 5, ["direct", "neutral"], ["prompt"]))
    direct, neutral = measurement.tallies.values()
    assert (Counter({"no direct": 3}), 7, 0) == (direct.failures, direct.skipped, direct.responses)
    assert (Counter(), 0, 10) == (neutral.failures, neutral.skipped, neutral.responses)
    assert measurement.whole
    assert measurement.failed
    assert Counter({"no direct": 3}) == measurement.failures
    assert len(subject.received) == 13


def test_a_cell_that_has_answered_is_never_given_up() -> None:
    subject = Scripted(lambda one: right(one) if one.run == 0 and not one.returned else fails(one))
    measurement = counted(subject, MeasurementPlan(named(("order",)), 5, ["direct"], ["prompt"]))
    (tally,) = measurement.tallies.values()
    assert (Counter({"no direct": 9}), 0, 1) == (tally.failures, tally.skipped, tally.responses)


def unreachable(question: Question) -> SubjectResponse:
    raise NotReached("gone")


@pytest.mark.parametrize("parallel", [1, 2])
def test_if_the_endpoint_is_unreachable_nothing_more_is_sent(parallel: int) -> None:
    subject = Scripted(unreachable)
    with pytest.raises(NotReached, match="gone"):
        counted(subject, MeasurementPlan(named(()), 5), parallel=parallel)
    assert len(subject.received) <= parallel


def test_whoever_goes_away_later_is_a_failure_like_any_other() -> None:
    subject = Scripted(lambda one: right(one) if one.run == 0 else unreachable(one))
    measurement = counted(subject, MeasurementPlan(named(("poem",)), 3, strategies=["prompt"]))
    assert Counter({"gone": 2}) == measurement.failures


def test_after_an_interrupt_the_measured_results_are_kept_and_nothing_more_is_sent() -> None:
    released = threading.Event()

    def slow(question: Question) -> SubjectResponse:
        if question.run > 0:
            assert released.wait(10)
        return right(question)

    before = set(threading.enumerate())
    subject = Scripted(slow)
    measurement = Measurement("it", MeasurementPlan(named(("poem",)), 50, strategies=["prompt"]))
    iterator: Iterator[QuestionOutcome] = outcomes(subject, measurement.questions, parallel=2)
    measurement.add(next(iterator))
    iterator.close()  # type: ignore[attr-defined]  # it is a generator
    released.set()
    for thread in set(threading.enumerate()) - before:
        thread.join(10)
    assert not measurement.whole
    assert measurement.answers == 1
    assert len(subject.received) <= 3


def test_a_mistake_of_this_program_is_raised_from_any_thread() -> None:
    def broken(question: Question) -> SubjectResponse:
        raise AssertionError("a mistake")

    with pytest.raises(AssertionError, match="a mistake"):
        counted(Scripted(broken), MeasurementPlan(named(("poem",)), 5), parallel=2)


def test_the_judgement_names_every_rate_of_the_data() -> None:
    measurement = counted(Scripted(right), MeasurementPlan(named(("poem",)), 1, strategies=["prompt"]))
    (cell,) = measurement.to_dict()["cells"]
    assert list(asdict(Judgement())) == list(cell["rates"])
