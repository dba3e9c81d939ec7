"""Turns between a model and its tools: scripted, over HTTP with OpenAI's client, in this process, and of any text."""

from __future__ import annotations

import asyncio
import contextvars
import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import openai
import pytest
from guarantees import events_of
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator
from law_texts import NAMES, texts
from scripted_endpoint import Endpoint, call, completion, endpoint

import toolfmt
from toolfmt import BadMessages, Message, ToolCall, ToolfmtError, ToolRegistry, run
from toolfmt.agent import AskModel, ModelResponse, from_completions, from_openai, from_stream, from_text
from toolfmt.messages.events import Content, Event, ToolCallArguments, ToolCallEnd, ToolCallStart, merge
from toolfmt.messages.message import Rejected
from toolfmt.render.prompt import Prompt

MODELS = Path(__file__).parents[2] / "corpus" / "models"
USER = {"role": "user", "content": "Weather?"}
CITY = '{"city": "Oslo"}'
AGAIN = "The tools are: get_weather. Write the complete call again, or answer without it."


class Weather:
    """A registry of one tool that records its arguments."""

    def __init__(self) -> None:
        self.cities: list[str] = []
        self.registry = ToolRegistry([self.get_weather])

    def get_weather(self, city: str) -> str:
        """Get the weather of a city."""
        self.cities.append(city)
        return f"Rain in {city}."


@pytest.fixture
def weather() -> Weather:
    return Weather()


def scripted(*answers: Message) -> AskModel:
    script = iter(answers)
    return lambda messages, tools: next(script)


def calls(*cities: str) -> Message:
    return Message(tool_calls=[ToolCall(f"id_{city}", "get_weather", json.dumps({"city": city})) for city in cities])


def result(id: str, content: str, name: str = "get_weather") -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": id, "name": name, "content": content}


def user(content: str) -> dict[str, Any]:
    return {"role": "user", "content": content}


@cache
def loaded(name: str = "double-encoded") -> toolfmt.Model:
    return toolfmt.load(MODELS / name)


# --- the loop


def test_a_call_its_result_and_the_answer(weather: Weather) -> None:
    seen: list[tuple[list[Any], list[Any]]] = []
    reported: list[dict[str, Any]] = []
    script = scripted(calls("Oslo"), Message("It rains."))

    def model(messages: list[Any], tools: list[Any]) -> Message:
        seen.append((messages, tools))
        return script(messages, tools)

    outcome = run(model, [USER], weather.registry, on_message=reported.append)
    call_message = {"role": "assistant", "tool_calls": [ToolCall("id_Oslo", "get_weather", CITY).to_dict()]}
    first = [USER, call_message, result("id_Oslo", "Rain in Oslo.")]
    assert outcome.messages == [*first, {"role": "assistant", "content": "It rains."}]
    assert (outcome.ended, outcome.text, outcome.turns, outcome.answer) == (
        "answered",
        "It rains.",
        2,
        Message("It rains."),
    )
    assert [execution.outcome for execution in outcome.executions] == ["result"]
    assert seen == [([USER], weather.registry.definitions), (first, weather.registry.definitions)]
    assert reported == outcome.messages[1:]


def test_parallel_calls_are_all_executed_in_order(weather: Weather) -> None:
    outcome = run(scripted(calls("Oslo", "Rome", "Lima"), Message("So.")), [USER], weather.registry)
    assert weather.cities == ["Oslo", "Rome", "Lima"]
    assert outcome.messages[2:5] == [result(f"id_{city}", f"Rain in {city}.") for city in weather.cities]
    assert outcome.messages[5:] == [{"role": "assistant", "content": "So."}]


def test_what_goes_wrong_with_one_call_leaves_the_others(weather: Weather) -> None:
    answer = calls("Oslo", "Rome")
    answer.tool_calls[0].arguments = "{}"
    answer.tool_calls.append(ToolCall("x", "f", "{}"))
    outcome = run(scripted(answer, Message("So.")), [USER], weather.registry)
    assert weather.cities == ["Rome"]
    assert [execution.outcome for execution in outcome.executions] == ["invalid_arguments", "result", "unknown_tool"]
    assert [message["tool_call_id"] for message in outcome.messages[2:5]] == ["id_Oslo", "id_Rome", "x"]


@pytest.mark.parametrize("turns", [1, 3])
def test_the_limit_of_turns_leaves_a_conversation_that_can_be_gone_on_with(weather: Weather, turns: int) -> None:
    outcome = run(lambda messages, tools: calls("Oslo"), [USER], weather.registry, turns=turns)
    assert (outcome.ended, outcome.turns, outcome.text, len(weather.cities)) == ("turns", turns, "", turns)
    assert outcome.messages[-1] == result("id_Oslo", "Rain in Oslo.")
    further = run(scripted(Message("It rains.")), outcome.messages, weather.registry)
    assert (further.ended, len(further.messages)) == ("answered", 2 * turns + 2)


def test_a_rejection_is_reported_and_the_call_can_be_repeated(weather: Weather) -> None:
    raw = '<tool_call>{"name": "get_weather"'
    wrong = Message("Let me see. ", rejected=[Rejected(0, "incomplete_output", (12, 40), raw, "get_weather", "")])
    outcome = run(scripted(wrong, calls("Oslo"), Message("It rains.")), [USER], weather.registry)
    assert outcome.messages[1:3] == [
        {"role": "assistant", "content": "Let me see. " + raw},
        user(f"Call to get_weather rejected: the output ended before the call was complete. {AGAIN}"),
    ]
    assert (outcome.ended, weather.cities) == ("answered", ["Oslo"])
    assert [execution.outcome for execution in outcome.executions] == ["rejected", "result"]


def test_a_call_that_repeats_another_one_is_not_reported(weather: Weather) -> None:
    """The model would be asked to write a call again that was executed."""
    answer = calls("Oslo")
    answer.rejected = [Rejected(1, "duplicate_call", (0, 1), "get_weather('Oslo')", "get_weather")]
    outcome = run(scripted(answer, Message("So.")), [USER], weather.registry)
    assert [message["role"] for message in outcome.messages] == ["user", "assistant", "tool", "assistant"]
    assert (outcome.ended, weather.cities) == ("answered", ["Oslo"])


def test_several_rejections_are_reported_in_one_message_after_the_results(weather: Weather) -> None:
    answer = calls("Oslo")
    answer.rejected = [Rejected(at, "malformed_syntax", (0, 1), "<x>", "get_weather") for at in (1, 2)]
    answer.rejected.append(Rejected(3, "undeclared_tool", (0, 1), "<y>", None))
    outcome = run(scripted(answer, Message("So.")), [USER], weather.registry)
    assert outcome.messages[1]["content"] == "<x><x><y>"
    assert [message["role"] for message in outcome.messages] == ["user", "assistant", "tool", "user", "assistant"]
    assert outcome.messages[3]["content"].splitlines() == [
        f"Call to get_weather rejected: it is malformed. {AGAIN}",
        f"Tool call rejected: the tool is not declared. {AGAIN}",
    ]
    assert len(outcome.executions) == 4


@pytest.mark.parametrize(("valid", "ended"), [(0, "rejected"), (1, "turns")])
def test_the_limit_after_a_rejection(weather: Weather, valid: int, ended: str) -> None:
    answer = calls(*["Oslo"] * valid)
    answer.rejected = [Rejected(valid, "malformed_syntax", (0, 1), "<x>")]
    outcome = run(scripted(answer), [USER], weather.registry, turns=1)
    assert (ended, valid) == (outcome.ended, len(weather.cities))
    assert outcome.messages[-1]["role"] == "user"


def test_a_truncated_answer_is_reported_as_cut(weather: Weather) -> None:
    outcome = run(scripted(ModelResponse("It rai", cut=True)), [USER], weather.registry)
    assert (outcome.ended, outcome.text) == ("cut", "It rai")
    calling = calls("Oslo")
    going_on = ModelResponse(None, None, calling.tool_calls, cut=True)
    assert run(scripted(going_on, Message("So.")), [USER], weather.registry).ended == "answered"


def test_nothing_given_is_changed(weather: Weather) -> None:
    given = [USER]
    run(scripted(Message("Hi.")), given, weather.registry)
    assert given == [USER]

    def spoils(messages: list[Any], tools: list[Any]) -> Message:
        messages.clear()
        return Message("Hi.")

    assert run(spoils, (USER,), weather.registry).messages == [USER, {"role": "assistant", "content": "Hi."}]


@pytest.mark.parametrize("messages", ["Weather?", b"x", USER, None, 5])
def test_what_is_no_list_of_messages_is_misuse(weather: Weather, messages: Any) -> None:
    with pytest.raises(BadMessages, match="messages must be a list of objects, not "):
        run(scripted(), messages, weather.registry)


def test_a_run_without_turns_is_misuse(weather: Weather) -> None:
    with pytest.raises(ValueError, match="at least 1, not 0"):
        run(scripted(), [USER], weather.registry, turns=0)


@pytest.mark.parametrize("answer", ["Hi.", {"role": "assistant"}, None])
def test_an_answer_that_is_no_message_is_misuse(weather: Weather, answer: Any) -> None:
    with pytest.raises(TypeError, match=r"a model returns a toolfmt\.Message, not "):
        run(lambda messages, tools: answer, [USER], weather.registry)


def test_a_list_of_tools_is_a_registry(weather: Weather) -> None:
    tools = [({"name": "get_weather"}, lambda: "Rain.")]
    outcome = run(
        scripted(Message(tool_calls=[ToolCall("1", "get_weather", "{}")]), Message("It rains.")), [USER], tools
    )
    assert outcome.messages[2]["content"] == "Rain."


@pytest.mark.parametrize("registry", [None, print, "get_weather", {"get_weather": print}])
def test_what_is_no_registry_is_misuse(registry: Any) -> None:
    with pytest.raises(TypeError, match=r"registry is a toolfmt\.ToolRegistry or a list of its tools, not "):
        run(scripted(), [USER], registry)


@pytest.mark.parametrize("model", [None, "name", openai.OpenAI(api_key="-"), toolfmt.load(MODELS / "double-encoded")])
def test_an_object_that_is_not_a_model_is_misuse(weather: Weather, model: Any) -> None:
    with pytest.raises(TypeError, match=r"a model is a function .*from_openai\(client, name\).*from_text\("):
        run(model, [USER], weather.registry)


NONE: Any = "path"


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: from_text(NONE, lambda prompt: ""), "from_text takes what toolfmt.load(path) returns, not a string"),
        (lambda: from_stream(NONE, lambda prompt: []), "from_stream takes what toolfmt.load(path) returns"),
        (lambda: from_text(loaded(), NONE), "generate is a function, not a string"),
        (lambda: from_stream(loaded(), NONE), "stream is a function, not a string"),
        (lambda: from_openai(NONE, "m"), "from_openai takes an openai.OpenAI or what has its methods, not a string"),
        (lambda: from_completions(NONE), "create is a function, not a string"),
    ],
)
def test_what_makes_no_model_is_misuse(make: Callable[[], AskModel], message: str) -> None:
    with pytest.raises(TypeError) as raised:
        make()
    assert str(raised.value).startswith(message)


async def _text_later(*given: Any) -> Any:
    return "Hi."


async def _pieces_later(*given: Any) -> Any:
    yield "Hi."


text_later: Any = _text_later
pieces_later: Any = _pieces_later


@pytest.mark.parametrize(
    ("make", "what"),
    [
        (lambda: text_later, "the model"),
        (lambda: from_text(loaded(), text_later), "generate"),
        (lambda: from_text(loaded(), pieces_later), "generate"),
        (lambda: from_stream(loaded(), pieces_later), "stream"),
        (lambda: from_openai(openai.AsyncOpenAI(api_key="-", base_url="http://127.0.0.1:9"), "m"), "the client"),
    ],
)
@pytest.mark.filterwarnings("error")
def test_async_functions_are_rejected_with_a_pointer_to_threads(
    weather: Weather, make: Callable[[], Any], what: str
) -> None:
    with pytest.raises(TypeError, match=rf"^{what} is async; give one that is not, .*asyncio\.to_thread"):
        run(make(), [USER], weather.registry)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (b"Hi.", "generate must return a string or an iterable of strings, not a bytes"),
        (None, "generate must return a string or an iterable of strings, not null"),
        ({"text": "Hi."}, "generate must return a string or an iterable of strings, not an object"),
        ([b"Hi."], 'each item of generate must be a string or a pair such as ("", "length"), not a bytes'),
        ([("Hi.",)], "each item of generate must be a string or a pair"),
        ([(b"Hi.", None)], "each item of generate must be a string or a pair"),
    ],
)
def test_what_is_no_text_is_misuse(weather: Weather, given: Any, message: str) -> None:
    with pytest.raises(TypeError) as raised:
        run(from_text(loaded(), lambda prompt: given), [USER], weather.registry)
    assert str(raised.value).startswith(message)


def test_what_a_model_raises_passes(weather: Weather) -> None:
    def fails(messages: list[Any], tools: list[Any]) -> Message:
        raise ConnectionError("gone")

    with pytest.raises(ConnectionError, match="gone"):
        run(fails, [USER], weather.registry)


def test_async_tools_share_one_loop_in_a_run() -> None:
    loops: list[asyncio.AbstractEventLoop] = []

    async def wait(n: int) -> int:
        """Wait."""
        loops.append(asyncio.get_running_loop())
        await asyncio.sleep(0)
        return n

    def model() -> AskModel:
        two = [ToolCall(str(n), "wait", f'{{"n": {n}}}') for n in (1, 2)]
        return scripted(Message(tool_calls=two), Message(tool_calls=two[:1]), Message("Done."))

    assert run(model(), [USER], ToolRegistry([wait])).ended == "answered"
    assert len(loops) == 3 and len(set(map(id, loops))) == 1 and loops[0].is_closed()

    async def notebook() -> str:
        return run(model(), [USER], ToolRegistry([wait])).ended

    assert asyncio.run(notebook()) == "answered"
    assert len(set(map(id, loops[3:]))) == 1 and loops[3] is not loops[0]


TURN: contextvars.ContextVar[int] = contextvars.ContextVar("TURN", default=0)


@pytest.mark.parametrize("within_a_loop", [False, True])
def test_async_tools_see_the_context_that_they_are_called_in(within_a_loop: bool) -> None:
    seen: list[int] = []

    async def look() -> None:
        seen.append(TURN.get())

    def model(messages: list[Any], tools: list[Any]) -> Message:
        TURN.set(len(messages))
        return Message(tool_calls=[ToolCall(str(len(messages)), "look", "{}")])

    async def notebook() -> None:
        run(model, [USER], ToolRegistry([look]), turns=2)

    asyncio.run(notebook()) if within_a_loop else run(model, [USER], ToolRegistry([look]), turns=2)
    assert seen == [1, 3]


# --- a chat endpoint, by OpenAI's client


@pytest.fixture
def serve() -> Iterator[Callable[..., tuple[AskModel, Endpoint]]]:
    from contextlib import ExitStack

    with ExitStack() as stack:

        def serve(*completions: Any, **options: Any) -> tuple[AskModel, Endpoint]:
            serving = stack.enter_context(endpoint(completions))
            client = stack.enter_context(openai.OpenAI(base_url=serving.url, api_key="none", max_retries=0))
            return from_openai(client, "m", **options), serving

        yield serve


Serve = Callable[..., tuple[AskModel, Endpoint]]


def test_a_run_over_http(weather: Weather, serve: Serve) -> None:
    two = {"tool_calls": [call("get_weather", CITY), call("get_weather", '{"city": "Rome"}', "call_b")]}
    model, serving = serve(completion(two, "tool_calls"), completion({"content": "It rains."}), temperature=0.5)
    outcome = run(model, [USER], weather.registry)
    assert (outcome.ended, outcome.text, weather.cities) == ("answered", "It rains.", ["Oslo", "Rome"])
    first = {"messages": [USER], "model": "m", "temperature": 0.5, "tools": weather.registry.definitions}
    results = [result("call_a", "Rain in Oslo."), result("call_b", "Rain in Rome.")]
    assert serving.requests == [first, {**first, "messages": [USER, {"role": "assistant", **two}, *results]}]
    assert outcome.messages == [*serving.requests[1]["messages"], {"role": "assistant", "content": "It rains."}]


def test_without_tools_none_are_sent(serve: Serve) -> None:
    model, serving = serve(completion({"content": "Hi."}))
    assert run(model, [USER], ToolRegistry()).text == "Hi."
    assert serving.requests == [{"messages": [USER], "model": "m"}]


@pytest.mark.parametrize("key", ["reasoning", "reasoning_content"])
def test_reasoning_goes_back_under_the_key_it_came_under(weather: Weather, serve: Serve, key: str) -> None:
    response = {key: "Hm.", "tool_calls": [call("get_weather", CITY)]}
    model, serving = serve(completion(response, "tool_calls"), completion({"content": "So.", key: "Aha."}))
    outcome = run(model, [USER], weather.registry)
    assert serving.requests[1]["messages"][1] == {"role": "assistant", **response}
    assert (outcome.answer.reasoning, outcome.messages[-1]) == (
        "Aha.",
        {"role": "assistant", "content": "So.", key: "Aha."},
    )


@pytest.mark.parametrize(
    ("arguments", "finish_reason", "why"),
    [
        ('{"city": "Os', "length", "the output ended before the call was complete"),
        (CITY, "length", "the output ended before the call was complete"),
        (
            '{"city": "Os',
            "tool_calls",
            "the arguments are invalid: they are not JSON (Unterminated string starting at: line 1 column 10 (char 9))",
        ),
        ("[1]", "tool_calls", "the arguments are invalid: they are not a JSON object"),
        ("", "tool_calls", "the arguments are invalid: they are not JSON (Expecting value: line 1 column 1 (char 0))"),
    ],
)
def test_an_invalid_call_from_a_server_is_not_executed(
    weather: Weather, serve: Serve, arguments: str, finish_reason: str, why: str
) -> None:
    response = {"content": "Let me see. ", "tool_calls": [call("get_weather", arguments)]}
    model, serving = serve(completion(response, finish_reason), completion({"content": "So."}))
    outcome = run(model, [USER], weather.registry)
    assert weather.cities == []
    assert serving.requests[1]["messages"][1:] == [
        {"role": "assistant", "content": "Let me see. " + arguments},
        user(f"Call to get_weather rejected: {why}. {AGAIN}"),
    ]
    assert outcome.ended == "answered"


def test_only_the_last_call_of_a_cut_answer_is_in_doubt(weather: Weather, serve: Serve) -> None:
    two = {"tool_calls": [call("get_weather", CITY), call("get_weather", '{"city": "Rome"}', "call_b")]}
    model, _ = serve(completion(two, "length"), completion({"content": "So."}, "length"))
    outcome = run(model, [USER], weather.registry)
    assert (weather.cities, outcome.ended) == (["Oslo"], "cut")
    assert [execution.outcome for execution in outcome.executions] == ["result", "rejected"]


@pytest.mark.parametrize(
    "reason",
    ["length", "model_length", "max_tokens", "MAX_TOKENS", "content_filter", "abort", "error", "incomplete", 5],
)
def test_only_an_end_of_the_models_own_leaves_the_last_call_whole(weather: Weather, reason: Any) -> None:
    def answer(reason: Any) -> list[str]:
        script = iter([completion({"tool_calls": [call("get_weather", CITY)]}, reason), completion({"content": "So."})])
        outcome = run(from_completions(lambda **given: next(script)), [USER], weather.registry)
        return [execution.outcome for execution in outcome.executions]

    assert answer(reason) == ["rejected"] and weather.cities == []
    for ended in ("stop", "STOP", "tool_calls", "function_call", "end_turn", None):
        assert answer(ended) == ["result"]


@pytest.mark.parametrize("arguments", [[], 0, False, "null", "[]"])
def test_arguments_that_are_no_object_are_not_none_at_all(arguments: Any) -> None:
    called: list[str] = []
    registry = ToolRegistry([({"name": "now"}, lambda: called.append("now"))])
    response = completion({"tool_calls": [{"id": "a", "function": {"name": "now", "arguments": arguments}}]})
    outcome = run(from_completions(lambda **given: response), [USER], registry, turns=1)
    assert (outcome.ended, called) == ("rejected", [])


def test_the_older_call_of_a_function_is_one(weather: Weather) -> None:
    response = completion({"function_call": {"name": "get_weather", "arguments": CITY}}, "function_call")
    outcome = run(from_completions(lambda **given: response), [USER], weather.registry, turns=1)
    assert (weather.cities, outcome.answer.tool_calls) == (["Oslo"], [ToolCall("call_0", "get_weather", CITY)])


def test_a_content_may_be_a_list_of_parts(weather: Weather) -> None:
    parts = [
        {"type": "thinking", "thinking": [{"type": "text", "text": "Hm."}]},
        {"type": "text", "text": "It "},
        "rains",
        {"type": "image", "n": 1},
    ]
    outcome = run(from_completions(lambda **given: completion({"content": parts})), [USER], weather.registry)
    assert (outcome.answer.reasoning, outcome.text) == ("Hm.", 'It rains{"type": "image", "n": 1}')


def test_half_of_a_character_is_sent_to_no_server(weather: Weather, serve: Serve) -> None:
    half = "\ud800"
    requested_calls = [
        call("get_weather", CITY, half),
        call("f" + half, "{}"),
        call("get_weather", f'{{"city": "{half}"}}'),
    ]
    response = {"content": half, "reasoning_content": half, "tool_calls": requested_calls}
    model, serving = serve(completion(response, "tool_calls"), completion({"content": "So."}))
    outcome = run(model, [USER], weather.registry)
    assert (outcome.ended, weather.cities) == ("answered", ["Oslo"])
    assert [execution.outcome for execution in outcome.executions] == ["result", "unknown_tool", "rejected"]
    assert serving.requests[1]["messages"][1]["content"] == '?{"city": "?"}'


def test_no_arguments_at_all_are_those_of_a_tool_that_takes_none(serve: Serve) -> None:
    called: list[str] = []
    registry = ToolRegistry([({"name": "now"}, lambda: called.append("now"))])
    model, serving = serve(completion({"tool_calls": [call("now", "")]}, "tool_calls"), completion({"content": "So."}))
    assert run(model, [USER], registry).ended == "answered"
    assert called == ["now"]
    assert serving.requests[1]["messages"][1]["tool_calls"][0]["function"]["arguments"] == "{}"


def test_a_tool_that_a_server_makes_up_is_answered_by_its_id(weather: Weather, serve: Serve) -> None:
    model, serving = serve(completion({"tool_calls": [call("f", "{}")]}, "tool_calls"), completion({"content": "So."}))
    run(model, [USER], weather.registry)
    assert serving.requests[1]["messages"][2] == result(
        "call_a", "No tool is called 'f'. The tools are: get_weather.", "f"
    )


def test_ids_that_are_missing_or_taken_are_made(weather: Weather, serve: Serve) -> None:
    again = completion({"tool_calls": [call("get_weather", CITY), call("get_weather", CITY, "")]}, "tool_calls")
    model, serving = serve(again, again, completion({"content": "So."}))
    run(model, [USER], weather.registry)
    messages = serving.requests[2]["messages"]
    ids = [tool_call["id"] for message in messages for tool_call in message.get("tool_calls", ())]
    assert ids == ["call_a", "call_0", "call_2", "call_3"]
    assert [message["tool_call_id"] for message in messages if message["role"] == "tool"] == ids


def test_a_tool_call_that_is_not_a_function_call_is_rejected(weather: Weather, serve: Serve) -> None:
    custom = {"id": "x", "type": "custom", "custom": {"name": "get_weather", "input": "Oslo"}}
    model, _ = serve(
        completion({"tool_calls": [custom]}, "tool_calls"), completion({"content": None, "refusal": "No."})
    )
    outcome = run(model, [USER], weather.registry)
    assert (weather.cities, outcome.text, outcome.ended) == ([], "No.", "answered")
    assert [execution.outcome for execution in outcome.executions] == ["rejected"]


def test_an_endpoint_that_fails_raises_what_its_client_raises(weather: Weather, serve: Serve) -> None:
    model, _ = serve()
    with pytest.raises(openai.BadRequestError, match="the script is over"):
        run(model, [USER], weather.registry)


NO_MESSAGES: tuple[Any, ...] = (None, "hi", [], 5)
NO_COMPLETIONS: list[Any] = [{}, {"choices": []}, {"choices": None}, {"choices": [{}]}, None, "x" * 1000]


@pytest.mark.parametrize("response", NO_COMPLETIONS + [{"choices": [{"message": none}]} for none in NO_MESSAGES])
def test_a_response_that_is_not_a_completion_is_reported_in_one_line(weather: Weather, response: Any) -> None:
    with pytest.raises(ToolfmtError, match="no chat completion with a choice") as raised:
        run(from_completions(lambda **given: response), [USER], weather.registry)
    assert len(str(raised.value)) < 300


@pytest.mark.parametrize(
    "message",
    [{"tool_calls": 5}, {"tool_calls": "x" * 1000}, {"tool_calls": {}}, {"content": 5}, {"function_call": "f"}],
)
def test_a_malformed_message_is_reported_in_one_line(weather: Weather, message: dict[str, Any]) -> None:
    key = next(iter(message))
    with pytest.raises(ToolfmtError, match=f"the message that was returned has the {key} ") as raised:
        run(from_completions(lambda **given: {"choices": [{"message": message}]}), [USER], weather.registry)
    assert len(str(raised.value)) < 300


def test_a_function_may_answer_with_mappings(weather: Weather) -> None:
    with_object = call("get_weather", "")
    with_object["function"]["arguments"] = {"city": "Oslo"}
    script = iter([completion({"tool_calls": [with_object]}), completion({"content": "So."})])
    assert run(from_completions(lambda **given: next(script)), [USER], weather.registry).text == "So."
    assert weather.cities == ["Oslo"]


def test_streams_are_not_requested() -> None:
    with pytest.raises(ValueError, match="leave stream out"):
        from_completions(print, stream=True)


# --- models in this process

JSON_CALL = '<tool_call>{"name":"get_weather",  "arguments":{"city":"Oslo"}}</tool_call>'


class Engine:
    """Writes a scripted output in pieces of three characters and records the prompts."""

    def __init__(self, *answers: str, end: str = "<|im_end|>", reason: str | None = None) -> None:
        self._answers, self._end, self._reason = iter(answers), end, reason
        self.prompts: list[Prompt] = []

    def pieces(self, prompt: Prompt) -> Iterator[Any]:
        self.prompts.append(prompt)
        text = next(self._answers) + self._end
        yield from (text[at : at + 3] for at in range(0, len(text), 3))
        if self._reason:
            yield "", self._reason

    def whole(self, prompt: Prompt) -> str:
        return "".join(piece for piece in self.pieces(prompt) if isinstance(piece, str))

    def events(self, prompt: Prompt) -> Iterator[Event]:
        parser = prompt.parser()
        for piece in self.pieces(prompt):
            yield from parser.feed(piece if isinstance(piece, str) else piece[0])
        yield from parser.finish()


@pytest.mark.parametrize("how", ["pieces", "whole"])
def test_prompts_go_on_from_what_the_model_wrote(weather: Weather, how: str) -> None:
    engine = Engine("Let me see. " + JSON_CALL, JSON_CALL, "It rains.")
    events: list[Event] = []
    model = from_text(loaded(), getattr(engine, how), on_event=events.append)
    outcome = run(model, [USER], weather.registry)
    assert (outcome.text, weather.cities) == ("It rains.", ["Oslo", "Oslo"])
    first, second, third = (prompt.text for prompt in engine.prompts)
    assert second.startswith(f"{first}Let me see. {JSON_CALL}<|im_end|>\n")
    assert third.startswith(second + JSON_CALL)
    assert [event.text for event in merge(events) if isinstance(event, Content)] == ["Let me see. ", "It rains."]
    ids = [tool_call["id"] for message in outcome.messages for tool_call in message.get("tool_calls", ())]
    assert ids == ["call_0", "call_1"]


def test_a_prompt_may_be_rendered_anew(weather: Weather) -> None:
    engine = Engine(JSON_CALL, "It rains.")
    run(from_text(loaded(), engine.whole, raw=False), [USER], weather.registry)
    assert JSON_CALL not in engine.prompts[1].text
    assert '{"name": "get_weather", "arguments": {"city": "Oslo"}}' in engine.prompts[1].text


def test_another_conversation_starts_anew(weather: Weather) -> None:
    engine = Engine(JSON_CALL, "It rains.", "Hi.", "Ho.", "Ha.")
    model = from_text(loaded(), engine.whole)
    outcome = run(model, [USER], weather.registry)
    run(model, [user("Hello?")], weather.registry)
    assert "Oslo" not in engine.prompts[2].text
    further = run(model, [*outcome.messages, user("Thanks.")], weather.registry)
    roles = ["user", "assistant", "tool", "assistant", "user", "assistant"]
    assert roles == [message["role"] for message in further.messages]
    assert "It rains." in engine.prompts[3].text
    run(model, further.messages, ToolRegistry())
    assert "get_weather" not in engine.prompts[4].text.partition("<|im_start|>user")[0]


def test_a_text_ends_at_a_stop_string(weather: Weather) -> None:
    generated: list[str] = []

    def endless(prompt: Prompt) -> Iterator[str]:
        for piece in ["It ", "rains.<|im", "_end|>", "never"] * 2:
            generated.append(piece)
            yield piece

    assert run(from_text(loaded(), endless), [USER], weather.registry).text == "It rains."
    assert generated == ["It ", "rains.<|im", "_end|>"]


# Complete except for the end marker: a model that ran out of tokens may continue.
OPEN_CALL = '<tool_call>{"name": "get_weather", "arguments": {"city": "Oslo"}}'


@pytest.mark.parametrize(
    ("text", "end", "reason", "ended", "executed"),
    [
        ("It rai", "", "length", "cut", 0),
        ("It rains.", "", "stop", "answered", 0),
        ("It rains.", "<|im_end|>", "length", "answered", 0),
        (OPEN_CALL, "", "length", "rejected", 0),
        (OPEN_CALL, "", "stop", "turns", 1),
        (OPEN_CALL, "", "eos", "turns", 1),
        (OPEN_CALL, "", "abort", "rejected", 0),
        (OPEN_CALL, "", "content_filter", "rejected", 0),
        ("It rai", "", "error", "cut", 0),
    ],
)
def test_an_engine_reports_that_an_answer_was_cut(
    weather: Weather, text: str, end: str, reason: str, ended: str, executed: int
) -> None:
    model = from_text(loaded(), Engine(text, end=end, reason=reason).pieces)
    outcome = run(model, [USER], weather.registry, turns=1)
    assert (ended, executed) == (outcome.ended, len(weather.cities))


def test_an_answer_that_ended_with_its_last_token_was_not_cut(weather: Weather) -> None:
    model = from_text(loaded(), lambda prompt: [("It rains.<|im_end|>", "length")])
    assert run(model, [USER], weather.registry).ended == "answered"


def test_what_was_rejected_stays_where_it_was_written(weather: Weather) -> None:
    engine = Engine("One " + OPEN_CALL[:-3] + "\n\ntwo", "It rains.")
    outcome = run(from_text(loaded(), engine.whole), [USER], weather.registry)
    assert weather.cities == [] and outcome.ended == "answered"
    assert outcome.messages[1]["content"].startswith("One " + OPEN_CALL[:-3])
    assert engine.prompts[1].text.startswith(engine.prompts[0].text + "One " + OPEN_CALL[:-3])


UNREADABLE = [
    ('{"city": 1e999}', "1e999 is too large for a 64-bit float"),
    ('{"city": "\\ud800"}', "they contain half of a character"),
]
TWICE = ('{"city": "Oslo", "city": "Rome"}', "they are not JSON ('city' appears twice)")
"""A parser of toolfmt rejects this call itself."""


@pytest.mark.parametrize("raw", [True, False, None])
@pytest.mark.parametrize(("arguments", "why"), UNREADABLE)
def test_a_call_that_no_conversation_can_hold_is_reported_and_the_run_continues(
    weather: Weather, arguments: str, why: str, raw: bool | None
) -> None:
    written = f'<tool_call>{{"name": "get_weather", "arguments": {arguments}}}</tool_call>'
    engine = Engine("Well. " + written, JSON_CALL, "It rains.")
    model = from_stream(loaded(), engine.events) if raw is None else from_text(loaded(), engine.whole, raw=raw)
    outcome = run(model, [USER], weather.registry)
    assert (outcome.ended, weather.cities) == ("answered", ["Oslo"])
    assert [execution.outcome for execution in outcome.executions] == ["rejected", "result"]
    assert outcome.messages[1:3] == [
        {"role": "assistant", "content": "Well. " + (arguments if raw is None else written)},
        user(f"Call to get_weather rejected: the arguments are invalid: {why}. {AGAIN}"),
    ]


def test_a_key_that_glm_writes_twice_is_reported_and_the_run_continues(weather: Weather) -> None:
    city = "<arg_key>city</arg_key>\n<arg_value>Oslo</arg_value>\n"
    written = "<tool_call>get_weather\n{}</tool_call>"
    engine = Engine(
        written.format(city + city.replace("Oslo", "Rome")), written.format(city), "It rains.", end="<|user|>"
    )
    outcome = run(from_text(loaded("glm4-key-value"), engine.whole), [USER], weather.registry)
    assert (outcome.ended, weather.cities) == ("answered", ["Oslo"])
    assert 'the key "city" has two different values' in outcome.messages[2]["content"]


@pytest.mark.parametrize(("arguments", "why"), [*UNREADABLE, TWICE])
def test_of_any_model_such_a_call_is_rejected(weather: Weather, arguments: str, why: str) -> None:
    answer = calls("Rome")
    answer.content = "Well. "
    answer.tool_calls.append(ToolCall("id_x", "get_weather", arguments))
    whole = ModelResponse.of(answer, False, answer.to_openai())
    for scripted_answer in (answer, whole):
        outcome = run(scripted(scripted_answer, Message("So.")), [USER], weather.registry)
        expected = {
            "role": "assistant",
            "content": "Well. " + arguments,
            "tool_calls": [answer.tool_calls[0].to_dict()],
        }
        assert outcome.messages[1] == expected
        assert [message["role"] for message in outcome.messages[2:]] == ["tool", "user", "assistant"]
        assert why in outcome.messages[3]["content"]
    assert weather.cities == ["Rome", "Rome"]


def test_a_stream_of_events(weather: Weather) -> None:
    engine = Engine("Let me see. " + JSON_CALL, "It rains.")
    events: list[Event] = []
    model = from_stream(loaded(), engine.events, on_event=events.append)
    outcome = run(model, [USER], weather.registry)
    assert (outcome.ended, outcome.text, weather.cities) == ("answered", "It rains.", ["Oslo"])
    assert outcome.messages[1] == {
        "role": "assistant",
        "content": "Let me see. ",
        "tool_calls": [ToolCall("call_0", "get_weather", '{"city":"Oslo"}').to_dict()],
    }
    assert [event.text for event in merge(events) if isinstance(event, Content)] == ["Let me see. ", "It rains."]


def test_a_stream_may_report_that_it_was_cut(weather: Weather) -> None:
    class Stream(list[Event]):
        finish_reason = "length"

    assert run(from_stream(loaded(), lambda prompt: Stream([Content("It rai")])), [USER], weather.registry).ended == (
        "cut"
    )


class Kimi:
    """A model whose calls have ids of its family's own form."""

    def render(self, *given: Any, **options: Any) -> Prompt:
        return replace(loaded().render(*given, **options), format="kimi_k2")


def test_ids_have_the_form_of_the_models_family(weather: Weather) -> None:
    events = [event for index in (0, 1) for event in called(index)]
    model: Any = Kimi()
    outcome = run(from_stream(model, lambda prompt: events), [USER], weather.registry, turns=2)
    ids = [tool_call["id"] for message in outcome.messages for tool_call in message.get("tool_calls", ())]
    assert ids == [f"functions.get_weather:{number}" for number in range(4)]


def called(index: int) -> list[Event]:
    return [ToolCallStart(index, "get_weather"), ToolCallArguments(index, CITY), ToolCallEnd(index, (0, 1))]


def test_variables_of_the_template_are_handed_on(weather: Weather) -> None:
    for maker, how in ((from_text, "whole"), (from_stream, "events")):
        engine = Engine("Hi.")
        run(maker(loaded(), getattr(engine, how), strategy="prompt"), [USER], weather.registry)
        assert engine.prompts[0].strategy == "prompt"


# --- anything a model writes

SCHEMA = {
    "type": "object",
    "properties": {"s": {"type": "string"}, "n": {"type": "integer"}, "u": {"type": ["string", "null"]}},
    "required": ["s"],
    "additionalProperties": False,
}
DEFINITIONS = [{"name": "f", "parameters": SCHEMA}, {"name": "now", "parameters": {"additionalProperties": False}}]


def ended_calls(events: list[Event]) -> list[tuple[str, Any]]:
    """Names and arguments of the ended calls, from the events; no arguments if a name appears twice or a value cannot
    be stored in a conversation.
    """
    ended = {event.index for event in events if isinstance(event, ToolCallEnd)}
    deltas: dict[int, str] = dict.fromkeys(ended, "")
    for event in events:
        if isinstance(event, ToolCallArguments) and event.index in ended:
            deltas[event.index] += event.delta
    names = {event.index: event.name for event in events if isinstance(event, ToolCallStart)}
    rejected: list[bool] = []

    def read(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        rejected.append(len(dict(pairs)) < len(pairs))
        return dict(pairs)

    def number(digits: str) -> float:
        rejected.append(float(digits) in (float("inf"), -float("inf")))
        return float(digits)

    calls = []
    for index in sorted(ended):
        rejected.clear()
        arguments = json.loads(deltas[index], object_pairs_hook=read, parse_float=number)
        again = json.dumps(arguments, ensure_ascii=False)
        held = not any(rejected) and again.encode(errors="replace").decode() == again
        calls.append((names[index], arguments if held else None))
    return calls


@pytest.mark.parametrize("format", NAMES)
@given(data=st.data(), declared=st.booleans())
def test_only_an_ended_call_with_valid_arguments_is_executed(format: str, data: st.DataObject, declared: bool) -> None:
    text = data.draw(texts(format))
    check_executed(format, text, declared)


@pytest.mark.parametrize("format", NAMES)
def test_a_written_call_is_executed_and_no_partial_call_is(format: str) -> None:
    text = toolfmt.write(format, [("f", {"s": "</tool_call>}", "n": 1}), ("now", {})])
    assert check_executed(format, text, True) == [("f", {"s": "</tool_call>}", "n": 1}), ("now", {})]
    for end in range(0, len(text), 3):
        check_executed(format, text[:end], True)


def check_executed(format: str, text: str, declared: bool) -> list[tuple[str, Any]]:
    """Run one response with this text: calls are executed as the events and schemas specify, and each gets a result."""
    executed: list[tuple[str, Any]] = []
    registry = ToolRegistry(
        [
            (DEFINITIONS[0], lambda **named: executed.append(("f", named))),
            (DEFINITIONS[1], lambda **named: executed.append(("now", named))),
        ]
    )
    tools = DEFINITIONS if declared else None
    outcome = run(lambda *given: toolfmt.parse(text, format, tools=tools), [USER], registry, turns=1)
    schemas = {tool["name"]: tool["parameters"] for tool in DEFINITIONS}
    ended = ended_calls(events_of(format, [text], tools=tools))
    expected = [(name, arguments) for name, arguments in ended if arguments is not None]
    assert executed == [
        (name, arguments)
        for name, arguments in expected
        if name in schemas and Draft202012Validator(schemas[name]).is_valid(arguments)
    ]
    outcomes = [execution.outcome for execution in outcome.executions]
    assert outcomes.count("result") == len(executed)
    assert len([name for name in outcomes if name != "rejected"]) == len(expected)
    answers = [message["tool_call_id"] for message in outcome.messages if message["role"] == "tool"]
    assert answers == [call.id for call in outcome.answer.tool_calls]
    return executed
