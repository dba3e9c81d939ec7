"""What runtimes pass to a chat template, compared with what their own code passes for a request with each form.

The template prints what it receives as JSON, so each form is read from a real prompt.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any, get_args

import pytest

from benchmarks.runtime_requests import RENDERERS, absence
from toolfmt.inspect.runtimes.request_handling import REQUEST_HANDLING, RequestForm, TemplateProperty
from toolfmt.inspect.runtimes.template_choice import MLX_LM, RUNTIMES, SGLANG, TRANSFORMERS, VLLM

RECEIVED = "{{ {'messages': messages, 'tools': tools, 'extra': extra | default('')} | tojson }}"
PROPERTIES: Mapping[TemplateProperty, str] = {
    "loops-over-content": "{% for message in messages %}{% for part in message.content %}{% endfor %}{% endfor %}",
    "names-developer": "{% if 'developer' == '' %}{% endif %}",
}
TEXT = [{"type": "text", "text": "first"}, {"type": "text", "text": "second"}]
CALL = {"id": "call_Abc", "type": "function", "function": {"name": "get_weather", "arguments": '{"city": "Oslo"}'}}
TURN = {"role": "assistant", "content": None, "reasoning_content": "because", "tool_calls": [CALL]}
TOOL = {"type": "function", "function": {"name": "get_weather", "strict": True}}
USER = {"role": "user", "content": "question"}
RESULT = {"role": "tool", "tool_call_id": "call_Abc", "content": "result"}


class Received:
    """What the template received for a request."""

    def __init__(self, runtime: str, properties: str, **request: Any) -> None:
        prompt = RENDERERS[runtime](properties + RECEIVED, request, {"bos_token": "<s>", "eos_token": "</s>"})
        self.values: dict[str, Any] = json.loads(prompt)
        self.messages: list[dict[str, Any]] = self.values["messages"]
        self.tools = self.values["tools"]

    def of(self, role: str) -> list[dict[str, Any]]:
        return [message for message in self.messages if message["role"] == role]


Passed = Callable[[str, str], bool]
"""Whether a runtime passes a form to a template with these additions."""


def _turn(check: Callable[[dict[str, Any]], bool], **changes: Any) -> Passed:
    """Whether the turn with a call, changed, reaches the template so that the check holds."""

    def passed(runtime: str, properties: str) -> bool:
        messages = [USER, TURN | changes, RESULT]
        return check(Received(runtime, properties, messages=messages, tools=[TOOL]).of("assistant")[0])

    return passed


def _message(role: str, content: Any, check: Callable[[list[dict[str, Any]]], bool]) -> Passed:
    """Whether a message of a role reaches the template so that the check holds."""

    def passed(runtime: str, properties: str) -> bool:
        messages: list[dict[str, Any]]
        message = {"role": role, "content": content}
        messages = (
            [USER, TURN, RESULT | message] if role == "tool" else [message, USER] if role != "user" else [message]
        )
        return check(Received(runtime, properties, messages=messages, tools=[TOOL]).of(role))

    return passed


def _tool(check: Callable[[dict[str, Any]], bool]) -> Passed:
    return lambda runtime, properties: check(Received(runtime, properties, messages=[USER], tools=[TOOL]).tools[0])


def _content(value: Any) -> Callable[[list[dict[str, Any]]], bool]:
    return lambda messages: [message["content"] for message in messages] == [value]


def _empty_tools(runtime: str, properties: str) -> bool:
    if runtime == VLLM:
        with pytest.raises(Exception, match="must not be an empty array"):
            Received(runtime, properties, messages=[USER], tools=[])
        return False
    return bool(Received(runtime, properties, messages=[USER], tools=[]).tools == [])


def _arguments(call: dict[str, Any]) -> Any:
    return call["tool_calls"][0]["function"]["arguments"]


PASSED: Mapping[RequestForm, Passed] = {
    "string-arguments": _turn(lambda turn: _arguments(turn) == '{"city": "Oslo"}'),
    "object-arguments": _turn(lambda turn: _arguments(turn) == {"city": "Oslo"}),
    "null-content": _turn(lambda turn: turn.get("content", "") is None),
    "absent-content": _turn(lambda turn: "content" not in turn),
    "empty-content": _turn(lambda turn: turn.get("content") == ""),
    "empty-parts": _turn(lambda turn: turn.get("content") == []),
    "content-parts": _message("user", TEXT, _content(TEXT)),
    "result-parts": _message("tool", TEXT, _content(TEXT)),
    "text-as-parts": _message("user", "question", _content([{"type": "text", "text": "question"}])),
    "system-role": _message("system", "instructions", bool),
    "developer-role": _message("developer", "instructions", bool),
    "empty-tool-calls": _turn(lambda turn: turn.get("tool_calls") == [], content="text", tool_calls=[]),
    "empty-tools": _empty_tools,
    "reasoning_content": _turn(lambda turn: turn.get("reasoning_content") == "because"),
    "reasoning": _turn(lambda turn: turn.get("reasoning") == "because"),
    "thinking": _turn(lambda turn: turn.get("thinking") == "because"),
    "client-ids": _turn(lambda turn: turn["tool_calls"][0]["id"] == "call_Abc"),
    "unnamed-results": _message("tool", "result", lambda messages: "name" not in messages[0]),
    "absent-definition-keys": _tool(lambda tool: "description" not in tool["function"]),
    "null-definition-keys": _tool(lambda tool: tool["function"].get("description", "") is None),
    "strict": _tool(lambda tool: tool.get("function", tool).get("strict") is True),
    "bare-tools": _tool(lambda tool: tool.get("name") == "get_weather"),
}
IMPORTED = (TRANSFORMERS, MLX_LM, VLLM, SGLANG)


def needs(runtime: str) -> None:
    if why := absence(runtime):
        pytest.skip(why)


def test_every_runtime_and_every_form_have_an_entry() -> None:
    assert tuple(REQUEST_HANDLING) == RUNTIMES
    assert {entry.runtime for entry in REQUEST_HANDLING.values()} == set(RUNTIMES)
    assert set(PASSED) == set(get_args(RequestForm))
    assert {name for entry in REQUEST_HANDLING.values() for name in entry.depends.values()} <= set(
        get_args(TemplateProperty)
    )


@pytest.mark.parametrize("runtime", RUNTIMES)
def test_a_form_is_passed_always_or_depending_on_the_template(runtime: str) -> None:
    handling = REQUEST_HANDLING[runtime]
    assert not handling.passes & set(handling.depends)
    content = {"empty-content", "absent-content", "null-content"} & handling.passes
    assert len(content) == 1
    arguments = {"string-arguments", "object-arguments"} & (handling.passes | set(handling.depends))
    assert arguments


@pytest.mark.parametrize("form", get_args(RequestForm))
@pytest.mark.parametrize("runtime", IMPORTED)
def test_the_runtimes_own_code_passes_what_is_listed(runtime: str, form: RequestForm) -> None:
    needs(runtime)
    assert PASSED[form](runtime, "") is (form in REQUEST_HANDLING[runtime].passes)


@pytest.mark.parametrize("form", get_args(RequestForm))
@pytest.mark.parametrize("property", PROPERTIES)
@pytest.mark.parametrize("runtime", IMPORTED)
def test_a_property_of_the_template_changes_what_is_listed(
    runtime: str, property: TemplateProperty, form: RequestForm
) -> None:
    needs(runtime)
    handling = REQUEST_HANDLING[runtime]
    depends = handling.depends.get(form) == property
    replaced = form == "empty-content" and handling.depends.get("empty-parts") == property
    passed = PASSED[form](runtime, PROPERTIES[property])
    assert passed is (depends or (form in handling.passes and not replaced))


@pytest.mark.parametrize("runtime", IMPORTED)
def test_tools_are_rendered_again_if_the_template_fails_with_them(runtime: str) -> None:
    needs(runtime)
    fails = "{% if tools and tools[0].function %}{{ raise_exception('no such tools') }}{% endif %}"
    if REQUEST_HANDLING[runtime].depends.get("bare-tools") == "fails-with-tools":
        assert PASSED["bare-tools"](runtime, fails)
    else:
        with pytest.raises(Exception, match="no such tools"):
            PASSED["bare-tools"](runtime, fails)


def test_template_variables_reach_the_template() -> None:
    for runtime in IMPORTED:
        if REQUEST_HANDLING[runtime].kwargs and not absence(runtime):
            received = Received(runtime, "", messages=[USER], chat_template_kwargs={"extra": "value"})
            assert received.values["extra"] == "value"
