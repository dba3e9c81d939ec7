"""A tiny model that asks for the weather of two cities, and responds to the results: a whole real run.

Needs what `tiny_models` needs.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import tiny_models

import toolfmt

TEMPLATE = """\
{%- if tools %}{{- '<|im_start|>system\\n# Tools\\n' }}{%- for tool in tools %}{{- tool | tojson + '\\n' }}{%- endfor %}
{{- '<|im_end|>\\n' }}{%- endif %}
{%- for message in messages %}
{{- '<|im_start|>' + message.role + '\\n' + (message.content or '') }}
{%- for call in message.tool_calls or [] %}
{{- ('' if loop.first else '\\n') + '<tool_call>\\n{"name": "' + call.function.name + '", "arguments": ' }}
{{- call.function.arguments | tojson + '}\\n</tool_call>' }}
{%- endfor %}
{{- '<|im_end|>\\n' }}
{%- endfor %}
{%- if add_generation_prompt %}{{- '<|im_start|>assistant\\n' }}{%- endif %}
"""
CITIES = ("Oslo", "Rome")
QUESTION: list[dict[str, Any]] = [{"role": "user", "content": "What is the weather in Oslo and in Rome?"}]
ANSWER = "It rains in both, at 7 degrees."


def get_weather(city: str) -> str:
    """Get the weather of a city."""
    return f"Rain in {city}, 7 degrees."


def registry() -> toolfmt.ToolRegistry:
    return toolfmt.ToolRegistry([get_weather])


def conversation() -> list[dict[str, Any]]:
    """The messages of a run: the question, two calls, their results, the response."""
    ids = [f"call_{number}" for number in range(len(CITIES))]
    calls = [toolfmt.ToolCall(id, "get_weather", f'{{"city": "{city}"}}') for id, city in zip(ids, CITIES, strict=True)]
    results = [
        {"role": "tool", "tool_call_id": id, "name": "get_weather", "content": get_weather(city)}
        for id, city in zip(ids, CITIES, strict=True)
    ]
    call_message = {"role": "assistant", "tool_calls": [call.to_dict() for call in calls]}
    return [*QUESTION, call_message, *results, {"role": "assistant", "content": ANSWER}]


def build(directory: Path) -> Path:
    """The model's directory, trained in some seconds."""
    messages = conversation()[:-1]
    for call in (call["function"] for call in messages[1]["tool_calls"]):
        call["arguments"] = json.loads(call["arguments"])  # as toolfmt gives them to this template
    return tiny_models.build(
        directory,
        template=TEMPLATE,
        messages=QUESTION,
        tools=registry().definitions,
        answer=toolfmt.write("json", [("get_weather", {"city": city}) for city in CITIES]),
        later=[(messages, ANSWER)],
        special=["<|im_start|>"],
    )
