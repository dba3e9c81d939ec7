"""The conversations whose masks `Model.inspect_training` verifies."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from toolfmt.render.request.messages import Message


@dataclass(frozen=True)
class TrainingConversation:
    """A conversation to render. `name` completes the phrase "a conversation with"."""

    name: str
    messages: tuple[Message, ...]
    tools: tuple[Message, ...] = ()


def _tool(name: str, description: str, key: str, kind: str) -> Message:
    parameters = {"type": "object", "properties": {key: {"type": kind}}, "required": [key]}
    return {"type": "function", "function": {"name": name, "description": description, "parameters": parameters}}


_TOOLS = (
    _tool("get_weather", "Get the current weather of a city.", "city", "string"),
    _tool("set_timer", "Start a timer.", "minutes", "integer"),
)


def _user(text: str) -> Message:
    return {"role": "user", "content": text}


def _says(text: str, *calls: Message, reasoning: str = "") -> Message:
    given: dict[str, Any] = {"tool_calls": list(calls)} if calls else {}
    given |= {"reasoning_content": reasoning} if reasoning else {}
    return {"role": "assistant", "content": text, **given}


def _call(number: int, name: str, arguments: Mapping[str, Any]) -> Message:
    function = {"name": name, "arguments": json.dumps(arguments)}
    return {"id": f"call{number:05}", "type": "function", "function": function}  # Mistral's ids have nine characters


def _result(number: int, name: str, text: str) -> Message:
    return {"role": "tool", "tool_call_id": f"call{number:05}", "name": name, "content": text}


_ASKS = _user("Is it raining in Oslo?")
_ONE = (
    _ASKS,
    _says("", _call(1, "get_weather", {"city": "Oslo"})),
    _result(1, "get_weather", "Light rain, 7 degrees."),
    _says("Yes, light rain."),
)
_TWO = (
    _call(2, "get_weather", {"city": "Bergen"}),
    _call(3, "set_timer", {"minutes": 20}),
)
_RESULTS = (_result(2, "get_weather", "Fog, 4 degrees."), _result(3, "set_timer", "It rings at noon."))

CONVERSATIONS = (
    TrainingConversation(
        "two questions", (_ASKS, _says("It is."), _user("And in Bergen?"), _says("It is foggy there."))
    ),
    TrainingConversation("a system prompt", ({"role": "system", "content": "Be brief."}, _ASKS, _says("Yes."))),
    TrainingConversation("a call", (*_ONE, _user("Thank you."), _says("You are welcome.")), _TOOLS),
    TrainingConversation("text before a call", (_ASKS, {**_ONE[1], "content": "Let me look."}, *_ONE[2:]), _TOOLS),
    TrainingConversation("parallel calls", (_user("Bergen?"), _says("", *_TWO), *_RESULTS, _says("Done.")), _TOOLS),
    TrainingConversation(
        "a call after a result",
        (*_ONE[:3], _says("", _TWO[1]), _RESULTS[1], _says("It rains, and the timer is set.")),
        _TOOLS,
    ),
    TrainingConversation(
        "reasoning",
        (
            _ASKS,
            _says("Yes, it rains.", reasoning="It is autumn in Oslo."),
            _user("And in Bergen?"),
            _says("There too.", reasoning="Bergen is wet."),
        ),
    ),
    TrainingConversation(
        "reasoning before a call",
        (
            _ASKS,
            {**_ONE[1], "reasoning_content": "I need the weather."},
            _ONE[2],
            {**_ONE[3], "reasoning_content": "Rain was reported."},
        ),
        _TOOLS,
    ),
    TrainingConversation(
        "a call at the end",
        (_ASKS, {**_ONE[1], "reasoning_content": "I need the weather."}, _ONE[2], _says("", _TWO[1])),
        _TOOLS,
    ),
)
