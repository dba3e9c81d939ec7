"""Small templates that each lose, repeat, reorder or reject one thing, and messages for them."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

from prompt_cases import template

from toolfmt.model.model import Model
from toolfmt.templates import ModelFiles, TemplateSource

LOOP, HEAD, CONTENT = "{%- for m in messages %}", "'<|' + m.role + '|>' + ", "(m.content or '')"

PLAIN = template()
"""Shows everything unchanged, and each message instead."""


@cache
def model_of(text: str) -> Model:
    """A model that has this template and nothing else."""
    return fresh_model(text)


def fresh_model(text: str) -> Model:
    source = TemplateSource(text, "chat_template.jinja")
    return Model(ModelFiles(Path("small"), None, {}, {}, {}, (source,), {}), trusted=True)


def system(text: str = "sys") -> dict[str, Any]:
    return {"role": "system", "content": text}


def user(text: str = "one") -> dict[str, Any]:
    return {"role": "user", "content": text}


def assistant(text: Any = "said", **more: Any) -> dict[str, Any]:
    return {"role": "assistant", "content": text, **more}


def calls(*ids: str, text: str | None = "", **more: Any) -> dict[str, Any]:
    made = [{"id": id, "type": "function", "function": {"name": "find", "arguments": {"at": f"at {id}"}}} for id in ids]
    return assistant(text, tool_calls=made, **more)


def result(id: str) -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": id, "content": f"result {id}"}


def turns(*lines: str) -> str:
    """The prompt of these turns, each `role: text`."""
    parts = (f"<|{role}|>{text}<|end|>" for role, _, text in (turn.partition(": ") for turn in lines))
    return "".join(parts) + "<|assistant|>"


def raising(condition: str, base: str = PLAIN) -> str:
    """A template that rejects a conversation with a message of which this is true; `before` is the previous message."""
    check = "{%- set before = messages[loop.index0 - 1] if loop.index0 else {} %}"
    return LOOP + check + "{%- if " + condition + " %}{{ raise_exception('not this') }}{%- endif %}{%- endfor %}" + base


def changed(old: str, new: str, base: str = PLAIN) -> str:
    assert old in base
    return base.replace(old, new)
