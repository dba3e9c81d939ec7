"""Prompts as transformers renders them."""

from __future__ import annotations

import datetime as datetime_module
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from toolfmt.model.model import Model
from toolfmt.render.prompt import Prompt
from toolfmt.templates import ModelFiles, TemplateSource

ABSENT = "transformers, whose rendering is the reference, is not installed"


chat_template_utils: Any = pytest.importorskip("transformers.utils.chat_template_utils", reason=ABSENT)

NOW = datetime_module.datetime(2026, 7, 4, 9, 5, 3)

TOKENS = {"bos_token": "<bos>", "eos_token": "<eos>", "pad_token": "<pad>", "unk_token": "<unk>"}

TOOLS: list[dict[str, Any]] = [
    {
        "type": "function",
        "function": {
            "name": "get_weather",
            "description": "Wetter für <city> & \"umland\", 'heute'",
            "parameters": {
                "type": "object",
                "properties": {
                    "city": {"type": "string", "description": "Name, z. B. Osnabrück"},
                    "days": {"type": "integer", "default": 1},
                    "units": {"type": "string", "enum": ["°C", "°F"]},
                    "where": {"type": "object", "properties": {"lat": {"type": "number"}}, "required": ["lat"]},
                    "tags": {"type": ["array", "null"], "items": {"type": "string"}},
                },
                "required": ["city"],
            },
        },
    },
    {"type": "function", "function": {"name": "now", "description": "The time", "parameters": {"type": "object"}}},
]


def call(name: str, arguments: Any, identifier: str) -> dict[str, Any]:
    return {"id": identifier, "type": "function", "function": {"name": name, "arguments": arguments}}


def result(content: Any, name: str, identifier: str) -> dict[str, Any]:
    return {"role": "tool", "name": name, "tool_call_id": identifier, "content": content}


ARGUMENTS = {"city": "Köln <\"x\"> {'y'}\n\ttab", "days": 3, "where": {"lat": 1.5, "on": True, "no": None}, "tags": []}

USER = {"role": "user", "content": "Wie wird's in Köln? <b>&amp;</b>"}

WEATHER, TIME = call("get_weather", ARGUMENTS, "call00001"), call("now", {}, "call00002")


class FrozenDatetime(datetime_module.datetime):
    @classmethod
    def now(cls, tz: datetime_module.tzinfo | None = None) -> FrozenDatetime:
        return cls(*NOW.timetuple()[:6])


def model_of(text: str) -> Model:
    source = TemplateSource(text, "chat_template.jinja")
    return Model(ModelFiles(Path("small"), None, {}, {}, {}, (source,), TOKENS), trusted=True)


def through_transformers(template: str, request: Mapping[str, Any]) -> str:
    """As `apply_chat_template` passes a request to the template: without keys that contain null."""
    fields = dict(request)
    messages = [
        {key: value for key, value in message.items() if value is not None} for message in fields.pop("messages")
    ]
    variables = fields.pop("chat_template_kwargs")
    tools = fields.pop("tools", None)
    fields = {"add_generation_prompt": True, **fields}
    rendered, _ = chat_template_utils.render_jinja_template(
        [messages], tools, chat_template=template, **TOKENS, **fields, **variables
    )
    return str(rendered[0])


def continued(template: str, *messages: dict[str, Any], **options: Any) -> Prompt:
    return model_of(template).render(list(messages), continue_final_message=True, **options)
