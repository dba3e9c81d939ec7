"""A real smolagents agent runs on outputs in the formats of models, and executes nothing that was truncated."""

from __future__ import annotations

import json
from typing import Any

import pytest

import toolfmt
from toolfmt.errors import BadTools, UnknownFormat
from toolfmt.formats import FORMATS

smolagents: Any = pytest.importorskip("smolagents", reason="smolagents is large, and CI has no need of it")
from toolfmt.integrations.smolagents import reads  # noqa: E402  it needs smolagents

PROSE = 'One calls it so: {"name": "get_weather", "arguments": {"city": "Rome"}}.'
"""What smolagents itself reads as a call."""


def weather() -> Any:
    """A tool of smolagents that records its arguments."""

    class Weather(smolagents.Tool):  # type: ignore[misc]  # smolagents is not installed on every machine
        name = "get_weather"
        description = "The weather."
        inputs = {"city": {"type": "string", "description": "a city"}}  # noqa: RUF012  smolagents reads it so
        output_type = "string"
        cities: list[str] = []  # noqa: RUF012  a list for each class, and a class for each test

        def forward(self, city: str) -> str:
            self.cities.append(city)
            return f"fine in {city}"

    return Weather()


class Scripted(smolagents.models.Model):  # type: ignore[misc]  # as above
    """Returns one response after the other."""

    def __init__(self, *answers: Any) -> None:
        super().__init__(model_id="scripted")
        self.answers = list(answers)
        self.heard: list[str] = []

    def generate(self, messages: Any, **options: Any) -> Any:
        self.heard.append(str(messages[-1].content))
        return response(self.answers.pop(0))


def response(content: Any, **more: Any) -> Any:
    return smolagents.ChatMessage(role="assistant", content=content, **more)


def made(message: Any) -> list[tuple[str, Any]]:
    return [(call.function.name, call.function.arguments) for call in message.tool_calls]


def written(format: str, *calls: tuple[str, Any]) -> str:
    return toolfmt.write(format, list(calls))


@pytest.mark.parametrize("name", [format.name for format in FORMATS])
def test_an_agent_calls_the_tool_and_gives_its_answer(name: str) -> None:
    tool = weather()
    model = Scripted(
        written(name, ("get_weather", {"city": "Oslo"})),
        written(name, ("final_answer", {"answer": "It's fine."})),
    )
    agent = smolagents.ToolCallingAgent([tool], reads(model, name, [tool]), max_steps=3, verbosity_level=-1)
    assert agent.run("How is it in Oslo?") == "It's fine."
    assert tool.cities == ["Oslo"]
    assert "fine in Oslo" in model.heard[1]


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (
            '<tool_call>{"name": "get_weather", "arguments": {"city": "Os"}',
            r"rejected \(incomplete_output\): <tool_cal",
        ),
        (
            '<tool_call>{"name": "get_weather", "arguments": 3}</tool_call>',
            r"rejected \(invalid_arguments\): <tool_cal",
        ),
        (PROSE, "^the output contains no tool call$"),
        ("", "^the output contains no tool call$"),
        (None, "^the output contains no tool call$"),
        ([{"type": "text", "text": PROSE}], "^the output contains no tool call$"),
    ],
)
def test_nothing_is_executed_that_is_no_whole_call(answer: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        reads(Scripted(), "json", [weather()]).parse_tool_calls(response(answer))


def test_smolagents_itself_takes_prose_for_a_call() -> None:
    assert made(Scripted().parse_tool_calls(response(PROSE))) == [("get_weather", {"city": "Rome"})]


def test_the_model_gets_the_reason_why_its_call_was_rejected() -> None:
    tool = weather()
    cut = '<tool_call>{"name": "get_weather", "arguments": {"city": "Os'
    model = Scripted(cut, written("json", ("final_answer", {"answer": "no"})))
    smolagents.ToolCallingAgent([tool], reads(model, "json", [tool]), max_steps=3, verbosity_level=-1).run("?")
    assert "the output ended before the call was complete" in model.heard[1]
    assert tool.cities == []


def test_several_calls_come_in_order_with_their_text_and_what_was_rejected() -> None:
    calls = [("get_weather", {"city": f"Town {number}"}) for number in range(12)]
    cut = '<tool_call>{"name": "get_weather", "arguments": {"city": "Os'
    text = "Look.\n" + written("json", *calls)
    parts = [{"type": "text", "text": text[:40]}, {"type": "text", "text": text[40:] + "\n" + cut}]
    for content in (text + "\n" + cut, parts):
        message = reads(Scripted(), "json", [weather()]).parse_tool_calls(response(content))
        assert (made(message), message.content) == (calls, "Look.\n" + cut)
        ids = [call.id for call in message.tool_calls]
        assert ids == sorted({*ids})
    again = reads(Scripted(), "json").parse_tool_calls(response(text))
    assert not {call.id for call in again.tool_calls} & {*ids}
    assert reads(Scripted(), "json").parse_tool_calls(response(written("json", *calls))).content is None


def test_calls_that_the_message_has_stay() -> None:
    call = {"id": "own", "type": "function", "function": {"name": "f", "arguments": json.dumps({"a": 1})}}
    message = reads(Scripted(), "json", [weather()]).parse_tool_calls(response("Text.", tool_calls=[call]))
    assert (made(message), message.content) == ([("f", {"a": 1})], "Text.")


def test_tools_and_options_are_those_of_the_parser() -> None:
    tools = [{"name": "f", "parameters": {"type": "object", "properties": {"zip": {"type": "string"}}}}]
    text = "Hm.</think><tool_call>f\n<arg_key>zip</arg_key>\n<arg_value>7</arg_value>\n</tool_call>"
    message = reads(Scripted(), "glm4", tools, prefix="<think>").parse_tool_calls(response(text))
    assert (made(message), message.content) == ([("f", {"zip": "7"})], None)
    with pytest.raises(ValueError, match=r"rejected \(undeclared_tool\): <tool_call>g"):
        reads(Scripted(), "glm4", tools).parse_tool_calls(response(text.replace("f\n", "g\n")))


def test_bad_input_is_reported_when_the_model_is_wrapped() -> None:
    with pytest.raises(UnknownFormat):
        reads(Scripted(), "jsn")
    with pytest.raises(BadTools):
        reads(Scripted(), "json", [{"name": ""}])
